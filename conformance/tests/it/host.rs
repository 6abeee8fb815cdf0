//! A variation of the reference that is judged, on the clock that the judge goes by.

use animal_store_conformance::http::clock::Clock;
use animal_store_reference::lab::Variation;
use animal_store_reference::rate_limit::BanPolicy;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};

use crate::laboratory::beside;

/// Late in a minute, so that a run sees one end early.
pub(crate) const START_AT: &str = "2026-06-01T12:00:45Z";

/// A running server. It stops when it is dropped.
pub(crate) struct Host {
    /// Its base address.
    pub(crate) base_url: String,
    /// A valid key.
    pub(crate) key: String,
    /// Another one, of the same plan.
    pub(crate) quota_key: String,
    /// The clock that it goes by; the judge goes by it as well.
    pub(crate) clock: Clock,
    _server: Embedded,
}

impl Host {
    /// Serves a variation on a free loopback port.
    pub(crate) async fn start(plan: Plan, mut variation: Variation) -> Host {
        let clock = Clock::stepping();
        // A fault may make the judge ask on, and when that brings a ban is a matter of chance.
        variation.setting.ban.get_or_insert(BanPolicy { after: 0, seconds: 0 });
        let clock_of_server = beside(&clock, variation.setting.start_at.unwrap_or(START_AT));
        let options = EmbeddedOptions { plan, clock: clock_of_server };
        let server = Embedded::start_as(options, variation).await.expect("a server");
        Host {
            base_url: server.base_url().to_owned(),
            key: server.api_key().to_owned(),
            quota_key: server.second_api_key().to_owned(),
            clock,
            _server: server,
        }
    }
}
