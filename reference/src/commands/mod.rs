//! The commands of the program, a file each.

pub(crate) mod challenge;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod lab;
mod mock;
pub(crate) mod outcome;
pub(crate) mod serve;
