//! A variation of the reference that is judged, on the clock that the judge goes by.

use animal_store_conformance::http::Clock;
use animal_store_lab::Variation;
use animal_store_reference::Address;
use animal_store_reference::rate_limit::BanPolicy;
use animal_store_reference::{Embedded, EmbeddedOptions, Plan};

use crate::laboratory::beside;
use crate::sockets::Socket;

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
    _socket: Socket,
}

impl Host {
    /// Serves a variation that never bans unless it says so: a fault may make the judge ask on, and when that brings a ban is a
    /// matter of chance.
    pub(crate) async fn start(plan: Plan, variation: Variation) -> Host {
        Host::start_with(plan, variation, Clock::stepping()).await
    }

    /// The same, beside a judge that goes by this clock.
    pub(crate) async fn start_with(plan: Plan, mut variation: Variation, clock: Clock) -> Host {
        variation.setting.ban.get_or_insert(BanPolicy { after: 0, seconds: 0 });
        let start_at = variation.setting.start_at.unwrap_or(START_AT);
        Host::start_at(plan, variation, clock, start_at).await
    }

    /// Serves a variation on a Unix socket. Its clock starts at a time and passes as the judge's does.
    pub(crate) async fn start_at(plan: Plan, variation: Variation, clock: Clock, start_at: &str) -> Host {
        let socket = Socket::new();
        let options = EmbeddedOptions {
            listen: Address::Unix(socket.path()),
            ..EmbeddedOptions::new(plan, beside(&clock, start_at))
        };
        let server = Embedded::start_with(options, variation).await.expect("a server");
        Host {
            base_url: server.base_url().replace("localhost", socket.host()),
            key: server.api_key().to_owned(),
            quota_key: server.second_api_key().to_owned(),
            clock,
            _server: server,
            _socket: socket,
        }
    }
}
