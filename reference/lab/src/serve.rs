//! `animal-lab serve`: the reference server with a variation and a mock around it.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use animal_store_reference::app::{App, AppOptions};
use animal_store_reference::cli::{Failure, serve};
use animal_store_reference::extension::{Extended, Extension, ExtensionError, Started};
use animal_store_reference::store::{Catalogue, StoreError};
use animal_store_reference::{clock::Clock, wire::NewPet};
use jiff::Timestamp;

use crate::mock::control::{Control, ControlAddress, Snapshot, TestState, listen};
use crate::vector::{Vector, Wish};
use crate::{Lab, around::LabLayer, config::ServeArgs, mock::Mock, mock::animals::Animals, mock::clock::TestClock};
use crate::{mock::cors::Cors, mock::delay::Delay, mock::record::Recording};

pub(crate) fn run(program: &'static str, args: ServeArgs) -> Result<(), Failure> {
    let vector = Vector::new(&args.lab).map_err(Failure::Usage)?;
    let control = args.mock.control.map(bind).transpose()?;
    let animals = args.mock.animals.as_ref().map(Animals::read).transpose().map_err(Failure::cannot_start)?;
    let ServeArgs { server, mock, lab: wish } = args;
    let mock = Mock {
        delay: Arc::new(Delay::new(mock.delay, wish.lawful.unwrap_or_default())),
        cors: (!mock.cors.is_empty()).then(|| Cors::new(&mock.cors)),
        ..Mock::default()
    };
    serve(program, &server, Served { wish, vector, animals, mock, control, now: server.now, clock: None })
}

/// Binds the address of the control.
fn bind(ControlAddress(address): ControlAddress) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| Failure::CannotStart(format!("cannot listen on {address} for --control: {error}")))
}

/// The parts that the program adds to the reference server.
struct Served {
    wish: Wish,
    vector: Vector,
    animals: Option<Vec<NewPet>>,
    mock: Mock,
    /// The listener of the control, if there is one.
    control: Option<TcpListener>,
    /// The time at which the clock was asked to start.
    now: Option<Timestamp>,
    /// The clock that the control can set, once it is set up.
    clock: Option<TestClock>,
}

impl Extension for Served {
    fn set_up(&mut self, options: &mut AppOptions) {
        let setting = self.vector.variation().setting;
        setting.set_up(options);
        // A requested time overrides the one of the setting.
        let start = self.now.or_else(|| setting.start_at.and_then(|time| time.parse().ok()));
        options.clock = if self.control.is_some() {
            let clock = TestClock::starting_at(start.unwrap_or_else(Timestamp::now));
            self.clock = Some(clock.clone());
            Clock::controlled(clock)
        } else {
            start.map_or_else(Clock::system, Clock::starting_at)
        };
    }

    async fn start(mut self, server: Started) -> Result<Extended, ExtensionError> {
        let Started { app, keys, base_url } = server;
        let keys: Vec<_> = keys.into_iter().map(|(_, key)| key).collect();
        let mut notice = match self.animals {
            Some(animals) => stock(&app, animals).await?,
            None => String::new(),
        };
        // The laboratory adds its own animals again after a reset.
        let catalogue = if self.control.is_some() { app.store.catalogue()? } else { Catalogue::new() };
        let lab = Arc::new(Lab::start(Arc::clone(&app), self.vector.variation()).await?);
        lab.introduce(&keys);
        notice += &self.vector.to_string();
        if let (Some(listener), Some(clock)) = (self.control, self.clock) {
            let address = listener.local_addr()?;
            notice += &format!("control on http://{address}\n");
            if !address.ip().is_loopback() {
                tracing::warn!(
                    "with --control on {address}, everyone who reaches it reads requests and replaces animals without a key: let \
                     only tests reach it"
                );
            }
            let control = Arc::new(Control {
                app: Arc::clone(&app),
                lab: Arc::clone(&lab),
                wish: self.wish,
                vector: Mutex::new(self.vector),
                clock,
                delay: Arc::clone(&self.mock.delay),
                start: Snapshot { catalogue, ..Snapshot::default() },
                base_url,
                recording: Arc::new(Recording::new(Arc::clone(&app), &keys)),
                state: TestState::default(),
            });
            self.mock.listening = listen(listener, &control)?;
            self.mock.control = Some(control);
        }
        Ok(LabLayer::extended(app, lab, self.mock, notice))
    }
}

/// Puts the first animals into an empty catalogue. Returns a notice for the log.
async fn stock(app: &App, animals: Vec<NewPet>) -> Result<String, StoreError> {
    let mut has_some = false;
    app.store.newest(None, 1, |_| has_some = true)?;
    if has_some {
        return Ok("the database has animals already, so --animals adds none\n".to_owned());
    }
    let notice = format!("animals: {}\n", animals.len());
    app.replace((1..).zip(animals).collect()).await?;
    Ok(notice)
}
