//! The domain of the service, without HTTP and without storage: animals, plans, the limiter, the time.

pub mod clock;
mod int64;
pub(crate) mod plan;
pub mod rate_limit;
pub mod wire;
