//! What one request may cost the server.

use std::time::Duration;

/// What one request may cost.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The longest body that is read, in bytes.
    pub max_body: usize,
    /// How long a body may take to arrive.
    pub request_timeout: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { max_body: 64 * 1024, request_timeout: Duration::from_secs(10) }
    }
}
