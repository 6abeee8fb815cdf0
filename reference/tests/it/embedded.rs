//! The server inside another program.

use animal_store_reference::Address;
use animal_store_reference::clock::Clock;
use animal_store_reference::{Embedded, EmbeddedOptions, Limits, Plan};

use crate::support::{Stream, ask};

#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_server_has_its_own_key_clock_and_database() {
    let clock = Clock::starting_at("2030-12-05T00:00:00Z".parse().expect("a time"));
    let plan = Plan::Custom(Limits { per_minute: 5, per_day: 50 });
    let server = Embedded::start(EmbeddedOptions::new(plan, clock)).await.expect("a server");
    let other = EmbeddedOptions::new(Plan::Free, Clock::system());
    let other = Embedded::start(other).await.expect("a second one");
    assert_ne!(server.base_url(), other.base_url());
    let address = server.base_url().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/v1"));
    let address: Address = address.expect("a base URL").parse().expect("an address");
    let key = server.api_key().to_owned();
    let (list, gone, foreign) = tokio::task::spawn_blocking({
        let (address, foreign) = (address.clone(), other.api_key().to_owned());
        move || {
            let get = |path: &str, key: &str| ask(&address, "GET", path, key, None);
            (get("/v1/pets", &key), get("/v1/pets/1", &key), get("/v1/pets", &foreign))
        }
    })
    .await
    .expect("answers");
    assert_eq!((list.status, list.number("x-ratelimit-limit")), (200, 5));
    gone.assert_error(410);
    foreign.assert_error(401);
    server.shutdown().await;
    other.shutdown().await;
    assert!(Stream::connect(&address).is_err(), "nobody listens any more");
}
