//! What `reference serve` does for a mock: known keys and animals, a clock that can be set, and the control interface.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::outcome::Failure;
use crate::clock::Clock;
use crate::config::MockArgs;
use crate::keys::given::{self, GivenKey};
use crate::mock::Mock;
use crate::mock::clock::TestClock;
use crate::mock::control::{Control, ControlAddress, router};
use crate::mock::cors::Cors;
use crate::mock::delay::Delay;
use crate::store::{Catalogue, KeyStore, Store, StoreError};
use crate::wire::NewPet;

/// Puts the first animals into a catalogue that has none; says what it did.
pub(super) async fn stock(store: &Store, animals: Vec<NewPet>) -> Result<String, StoreError> {
    let mut has_some = false;
    store.newest(None, 1, |_| has_some = true)?;
    if has_some {
        return Ok("the database has animals already, so --animals adds none\n".to_owned());
    }
    let notice = format!("animals: {}\n", animals.len());
    store.replace(Catalogue::new(animals)).await?;
    Ok(notice)
}

/// Puts the given keys in force; returns their numbers.
pub(super) fn adopt_keys(store: &Store, given: &[GivenKey], clock: &Clock) -> Result<Vec<i64>, Failure> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let key_store = KeyStore::open_for(store).map_err(Failure::cannot_start)?;
    let adopt = |given| given::adopt(&key_store, given, clock.now());
    given.iter().map(adopt).collect::<Result<_, _>>().map_err(Failure::cannot_start)
}

/// The clock of the server: one that a test can set, where the server is controlled.
pub(super) fn clock(args: &MockArgs, start: Option<Timestamp>) -> (Clock, Option<TestClock>) {
    match args.control {
        None => (Clock::from_start(start), None),
        Some(_) => {
            let clock = TestClock::starting_at(start.unwrap_or_else(Timestamp::now));
            (Clock::controlled(clock.clone()), Some(clock))
        }
    }
}

/// What stands around the server, without its control.
pub(super) fn around(args: &MockArgs, seed: Option<u64>) -> Mock {
    Mock {
        delay: args.delay.map(|range| Arc::new(Delay::new(range, seed.unwrap_or_default()))),
        cors: (!args.cors.is_empty()).then(|| Cors::new(&args.cors)),
        control: None,
    }
}

/// The address of the control, if others than this machine can reach it.
pub(super) fn exposed(args: &MockArgs) -> Option<SocketAddr> {
    args.control.map(|ControlAddress(address)| address).filter(|address| !address.ip().is_loopback())
}

/// Takes the address of the control, if there is to be one.
pub(super) async fn listen(args: &MockArgs) -> Result<Option<TcpListener>, Failure> {
    let Some(ControlAddress(address)) = args.control else { return Ok(None) };
    let listener = TcpListener::bind(address).await;
    let refused = |error| Failure::CannotStart(format!("cannot listen on {address} for --control: {error}"));
    listener.map(Some).map_err(refused)
}

/// A control that is listening. It ends when it is dropped.
pub(super) struct Controlled {
    /// Where it listens, with the port that was really taken.
    pub(super) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Controlled {
    pub(super) fn start(listener: TcpListener, control: Arc<Control>) -> Result<Self, Failure> {
        let address = listener.local_addr().map_err(Failure::cannot_start)?;
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router(control, address)).await {
                tracing::error!(%error, "the control has ended");
            }
        });
        Ok(Self { address, task })
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        self.task.abort();
    }
}
