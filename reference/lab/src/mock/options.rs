//! The options of a mock.

use clap::Args;

use crate::mock::animals::Animals;
use crate::mock::control::ControlAddress;
use crate::mock::cors::Origin;
use crate::mock::delay::DelayRange;

/// The options of a mock. Without them the server behaves as if this module did not exist.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MockArgs {
    /// Start with this number of generated animals, or with the animals of a JSON file: an array of bodies of creations. A catalogue
    /// that has animals already is left unchanged
    #[arg(long, value_name = "COUNT|FILE", help_heading = "Mock")]
    pub(crate) animals: Option<Animals>,

    /// Delay before each API response in milliseconds, for example 250, or 100..800 for a time drawn from the seed of --lawful
    /// (0 without it)
    #[arg(long, value_name = "MS[..MS]", help_heading = "Mock")]
    pub(crate) delay: Option<DelayRange>,

    /// Let pages of this origin read the responses, for example http://localhost:3000, or `*` for all; repeatable. Preflight
    /// requests need no key then
    #[arg(long, value_name = "ORIGIN", help_heading = "Mock")]
    pub(crate) cors: Vec<Origin>,

    /// Let tests control the server over HTTP on this port of this machine, or on this address: reset it, keep and restore its
    /// state, set its clock, prepare responses, and read the recorded requests
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = "Mock")]
    pub(crate) control: Option<ControlAddress>,
}
