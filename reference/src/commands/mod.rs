//! The commands of the program, a file each.

pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod outcome;
pub(crate) mod serve;
