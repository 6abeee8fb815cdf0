//! The answerer of the request of an entry. Only the responses of the service are judged.
//!
//! An entry that leaves room for doubt is left out.

use animal_store_rules::trace::answerer::is_of_intermediary;
use animal_store_rules::trace::rate_limit::FIELDS;
use serde_json::Value;

use super::LeftOut;
use super::entry::Entry;
use super::lenient::is_set;
use super::message;

/// The reason why an entry is not one response of the service, if it shows a sign of that.
pub(super) fn other_than_service(entry: &Entry) -> Option<LeftOut> {
    let cached = |state| entry.cache.as_ref()?.get(state).filter(|record| !record.is_null());
    let fields = entry.response.iter().flat_map(|response| &response.headers);
    let mut fields = fields.flat_map(|field| field.value.split('\n').map(|value| (&field.name, value)));
    let has_limits = FIELDS.into_iter().any(|name| values(entry, name).next().is_some());
    Some(
        if is_set(entry.from_cache.as_ref())
        || entry.fetch_type.as_deref().is_some_and(|kind| kind != "Network Load")
        || cached("beforeRequest").or(cached("afterRequest")).is_some()
        || fields.any(is_cache_hit)
        // The service only confirmed the response of a cache.
        || status(entry) == Some(304)
        {
            LeftOut::Cached
        } else if is_by_recorder(entry) {
            LeftOut::Recorder
        } else if is_untransferred(entry) {
            LeftOut::Untransferred
        } else if values(entry, "non-authoritative-reason").next().is_some() {
            LeftOut::Redirected
        } else if status(entry).is_some_and(|status| is_of_intermediary(status, has_limits)) {
            LeftOut::Intermediary
        } else if message::values(&entry.request.headers, "host").count() > 1 || values(entry, "date").count() > 1 {
            // Converters of packet captures put all messages of a connection into one entry.
            LeftOut::Merged
        } else {
            return None;
        },
    )
}

fn status(entry: &Entry) -> Option<u16> {
    entry.response.as_ref()?.status.map(|status| status as u16)
}

/// The values of a header field of the response, given in lower case.
fn values<'e>(entry: &'e Entry, name: &'static str) -> impl Iterator<Item = &'e str> {
    let fields = entry.response.iter().flat_map(move |response| message::values(&response.headers, name));
    fields.flat_map(|value| value.split('\n'))
}

/// Whether a header field states a cache hit, by its standard name (RFC 9111, RFC 9211) or by that of a cache. `Age: 0` states none: the
/// cache has just received the response.
fn is_cache_hit((name, value): (&String, &str)) -> bool {
    const HITS: [&str; 4] = ["hit", "revalidated", "stale", "updating"];
    match name.to_ascii_lowercase().as_str() {
        "cache-control" => false,
        "age" => value.trim() != "0",
        // Varnish names the request, and the one whose response it repeats.
        "x-varnish" => value.split_whitespace().count() > 1,
        "x-cache-hits" => value.split(',').any(|hits| hits.trim().parse().is_ok_and(|hits: u32| hits > 0)),
        name if name.contains("cache") || name == "server-timing" => {
            value.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphabetic()).any(|word| HITS.contains(&word))
        }
        _ => false,
    }
}

/// Whether a service worker of the page, or a mock in the recorded test, answered the request.
fn is_by_recorder(entry: &Entry) -> bool {
    let worker_took = entry.timings.as_ref().and_then(|timings| timings.get("_workerRespondWithSettled")?.as_f64());
    is_set(entry.via_service_worker.as_ref())
        || is_set(entry.response.as_ref().and_then(|response| response.via_service_worker.as_ref()))
        // Playwright writes it only where it is true.
        || entry.was_fulfilled.as_ref().is_some_and(|value| *value != Value::Bool(false))
        || worker_took.is_some_and(|milliseconds| milliseconds >= 0.0)
}

/// Whether no byte was transferred for the response: a browser had it, blocked it, or got it from the page. Chromium states a transfer
/// size of 0; Firefox states no address, and 0 for two of the size of the header, the size of the body and the time.
fn is_untransferred(entry: &Entry) -> bool {
    let Some(response) = &entry.response else { return false };
    let nothing = [response.headers_size, response.body_size, entry.time].into_iter().filter(|size| *size == Some(0.0));
    response.transfer_size == Some(0.0) || !entry.has_address() && nothing.count() >= 2
}
