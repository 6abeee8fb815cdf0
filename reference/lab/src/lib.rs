//! The laboratory of the Animal Store: other lawful servers, and broken ones, made of the reference by layers around it.
//!
//! The plain reference is one lawful server. A [`choices`] entry makes it another lawful one, a [`faults`] entry breaks one
//! requirement in a way in which real servers do. Either becomes a [`Variation`]: a [`Setting`] of the reference and [`Layer`]s
//! around it, which see requests before the reference does and responses after it. `Lab` is a variation at work, inside a
//! server that is otherwise the plain one: `Embedded::start_with(options, variation)` starts one inside another program.
//!
//! The program `animal-lab` serves such servers ([`cli`]), makes them a mock that tests control (`mock`), and tries test suites
//! against all of them.

mod around;
mod build;
mod challenge;
pub mod choices;
pub mod cli;
mod config;
pub mod faults;
mod layer;
mod limiter;
mod lists;
mod members;
mod mock;
mod rate;
mod request;
mod response;
mod running;
mod serve;
mod state;
mod vector;
mod view;

pub use layer::Layer;
pub use rate::Rate;
pub use request::{ConnectionNumber, Request};
pub use response::{Delivery, Response};
use running::Lab;
pub use state::ServerState;

use animal_store_reference::{app::AppOptions, rate_limit::BanPolicy};

/// The length of a window of requests per minute, in seconds.
const MINUTE: u32 = 60;

/// The settings in which a variation differs from the plain reference.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The path below which the API lives.
    pub base_path: Option<&'static str>,
    /// The time at which the clock of the server starts.
    pub start_at: Option<&'static str>,
    /// The minimum number of animals that exist from the start.
    pub stock: usize,
    /// The policy by which the server bans keys.
    pub ban: Option<BanPolicy>,
    /// Whether a layer counts requests, so that the reference does not.
    pub counts_in_layer: bool,
    /// The length of a window of requests per minute in seconds, if not 60, which violates the specification.
    pub window: Option<u32>,
}

impl Setting {
    /// Adds the settings of another part of the server, which override those before.
    fn add(&mut self, other: &Setting) {
        self.base_path = other.base_path.or(self.base_path);
        self.start_at = other.start_at.or(self.start_at);
        self.stock = other.stock.max(self.stock);
        self.ban = other.ban.or(self.ban);
        self.counts_in_layer |= other.counts_in_layer;
        self.window = other.window.or(self.window);
    }

    /// Applies the setting to the options of the reference, except for its clock.
    pub(crate) fn set_up(&self, options: &mut AppOptions) {
        if let Some(base_path) = self.base_path {
            options.base_path = base_path.to_owned();
        }
        options.ban = self.ban.unwrap_or(options.ban);
    }
}

/// A variation of the reference: its settings, and the layers around it.
#[derive(Clone, Debug, Default)]
pub struct Variation {
    /// The settings of the reference itself.
    pub setting: Setting,
    /// The layers around the reference, the outermost first.
    pub layers: Vec<Layer>,
}
