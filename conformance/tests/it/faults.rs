//! Ways in which the candidate that shares no code with the reference can be broken.

/// A way to be broken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    ReusesIds,
    FailsOnList,
    Defaults50,
    RefusesSold,
    GetsAnotherAnimal,
    NoOrders,
    TakesSuffixes,
    RemovedEarly,
    /// Of one replica among others.
    NoReset,
    /// Shown by generated requests only.
    RoundsLargeFractions,
}
