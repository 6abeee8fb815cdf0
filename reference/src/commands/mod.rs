//! What the program can be told to do, a file each.

pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod serve;
