//! The figures of the specification other than those of the plans.

use jiff::Timestamp;

/// The greatest number of animals in a list without `limit`.
pub const DEFAULT_LIMIT: usize = 20;

/// The greatest lawful value of `limit`.
pub const MAX_LIMIT: usize = 100;

/// The first moment of the day on which `GET /pets/{petId}` is removed: 2030-12-05T00:00:00Z.
pub const REMOVAL: Timestamp = Timestamp::constant(1_922_659_200, 0);
