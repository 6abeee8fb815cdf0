//! Rules about servers, one file for each section of the specification.

pub(crate) mod authentication;
pub(crate) mod create;
pub(crate) mod errors;
pub(crate) mod exceeding;
pub(crate) mod get;
pub(crate) mod headers;
pub(crate) mod list;
pub(crate) mod orders;
pub(crate) mod refusals;
pub(crate) mod resources;
pub(crate) mod sampled;
pub(crate) mod service;
pub(crate) mod side_effects;
pub(crate) mod versioning;
