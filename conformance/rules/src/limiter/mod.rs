//! Facts about the rate limit of each key, derived from the history once.

pub(crate) mod bans;
pub mod plan_limits;
pub(crate) mod sliding_log;
