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

use crate::history::Entry;

/// The calls of an operation with a valid key that were answered, and not with 429.
fn admitted<'d, 't: 'd, P>(
    calls: impl Iterator<Item = (&'d Entry<'t>, P)>,
) -> impl Iterator<Item = (&'d Entry<'t>, P)> {
    calls.filter(|(entry, _)| entry.is_admitted())
}
