//! The cost of a probe.

/// The usual cost of a probe.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// The number of requests with a key.
    pub keyed: usize,
    /// The number of requests without a valid key.
    pub keyless: usize,
    /// The number of new animals, if the profile creates any.
    pub animals: usize,
}
