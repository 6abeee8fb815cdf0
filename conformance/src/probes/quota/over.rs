//! What is sent while a window is exhausted: up to four requests over its limit, and some without a valid key.

use super::bearing;
use crate::probes::plan::{KEYLESS_OVER, Turn};
use crate::probes::session::{Session, Stop};
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;

/// The requests that are sent over the limit. In the first turn they are two, the first only where nothing shows which request is the
/// last of the window. In the second turn the other operations follow: nothing is sent with the key after them, so that they may cause a
/// ban.
pub(super) fn requests(session: &mut Session<'_>, turn: Turn, key: &ApiKey) -> Vec<Request> {
    let over = match turn {
        Turn::First => vec![list(turn), creation(session)],
        Turn::Second => {
            // This id does not exist, which shows whether the limit is checked last.
            let fetch = Request::new("GET", format!("/pets/{}", session.random.i64(1 << 61..1 << 62)));
            let orders = Request::new("GET", "/store/orders");
            // This body is not JSON, which shows whether bodies are read before the limit is checked. Orders come last: their lawful
            // responses are open until then.
            let malformed = Request::new("POST", "/pets").json(format!(r#"{{"name":"{}""#, session.fresh_name()));
            vec![list(turn), fetch, malformed, orders]
        }
    };
    over.into_iter().map(|request| bearing(request, key)).collect()
}

/// The list that is asked for over the limit.
fn list(turn: Turn) -> Request {
    let query = match turn {
        Turn::First => "limit=1",
        // The near misses have asked for the same list, which a cache before the limiter would answer. One without a status shows
        // less, because a service may have two handlers.
        Turn::Second => "status=sold",
    };
    Request::new("GET", "/pets").query(query)
}

/// A request over the limit, to be sent now. A creation that was sent before, and was admitted, is not sent again but another one: which of
/// the two had stored an animal would show nowhere.
pub(super) fn next(session: &mut Session<'_>, request: &Request, key: &ApiKey) -> Request {
    let was_sent = session.trace.exchanges.iter().rev().any(|exchange| exchange.request == *request);
    if request.method == "POST" && was_sent { bearing(creation(session), key) } else { request.clone() }
}

/// A creation that is valid.
fn creation(session: &mut Session<'_>) -> Request {
    let (name, category) = (session.fresh_name(), session.trace.context.category_id);
    Request::new("POST", "/pets").json(format!(r#"{{"name":"{name}","categoryId":{category}}}"#))
}

/// Sends requests without a key: a client without a key gets 401 also while a key is exhausted. A cache may have kept the refusal of the
/// list.
pub(super) async fn without_a_key(session: &mut Session<'_>, turn: Turn) -> Result<(), Stop> {
    let unknown = format!("Bearer conform-unknown-{:016x}", session.random.u64(..));
    let requests: [Request; KEYLESS_OVER] = [
        list(turn),
        Request::new("GET", "/pets/1").authorization(unknown.clone()),
        Request::new("GET", "/store/orders").authorization(unknown),
    ];
    for request in requests {
        session.send(request).await?;
    }
    Ok(())
}
