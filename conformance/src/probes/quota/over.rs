//! What is sent while a window is exhausted: two requests over its limit, and some without a valid key.

use super::bearing;
use crate::probes::plan::Turn;
use crate::probes::session::{Session, Stop};
use animal_store_rules::trace::exchange::{Exchange, Request};
use animal_store_rules::trace::keys::ApiKey;

/// The two requests that are sent over the limit, the first only where nothing shows which request is the last of the window.
pub(super) fn requests(session: &mut Session<'_>, turn: Turn, key: &ApiKey) -> [Request; 2] {
    let list = Request::new("GET", "/pets").query("limit=1");
    let pair = match turn {
        Turn::First => {
            let (name, category) = (session.fresh_name(), session.trace.context.category_id);
            let body = format!(r#"{{"name":"{name}","categoryId":{category}}}"#);
            [list, Request::new("POST", "/pets").json(body)]
        }
        Turn::Second => {
            // This id does not exist, which shows whether the limit is checked last.
            let fetch = Request::new("GET", format!("/pets/{}", session.random.i64(-(1 << 62)..-(1 << 61))));
            // A list may have been refused in the first turn. Orders come last: their lawful responses are open until then.
            if is_list_refused(session) { [fetch, Request::new("GET", "/store/orders")] } else { [list, fetch] }
        }
    };
    pair.map(|request| bearing(request, key))
}

fn is_list_refused(session: &Session<'_>) -> bool {
    let is_list = |exchange: &&Exchange| exchange.request.method == "GET" && exchange.request.path == "/pets";
    session.trace.exchanges.iter().filter(is_list).any(|exchange| exchange.status() == Some(429))
}

/// Whoever has no key has to get 401 first, also while a key is exhausted.
pub(super) async fn without_a_key(session: &mut Session<'_>) -> Result<(), Stop> {
    let unknown = format!("Bearer conform-unknown-{:016x}", session.random.u64(..));
    let requests = [
        Request::new("GET", "/pets").query("limit=1"),
        Request::new("GET", "/pets/1").authorization(unknown.clone()),
        Request::new("GET", "/store/orders").authorization(unknown),
    ];
    for request in requests {
        session.send(request).await?;
    }
    Ok(())
}
