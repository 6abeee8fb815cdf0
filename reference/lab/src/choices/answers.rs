//! Choices about responses: their words, their form, and how they are sent.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::{Builds, Choice, at, of, other, own, set};
use crate::{Delivery, Request, Response};

/// The page of nginx for a bad request.
const NGINX_PAGE: &str = "<html>\r\n<head><title>400 Bad Request</title></head>\r\n<body>\r\n\
     <center><h1>400 Bad Request</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n";

fn is_bad_limit(request: &Request) -> bool {
    request.lists_by("limit") && !matches!(request.number_of("limit"), Some(1..=100))
}

fn has_two_credentials(request: &Request) -> bool {
    request.headers.get_all("authorization").iter().count() > 1
}

/// JSON with all optional spaces, and no character beyond ASCII.
fn spread(value: &Value) -> String {
    let pretty = format!("{value:#}");
    let escape = |c: char| {
        let mut units = [0; 2];
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
    };
    pretty.chars().map(|c| if c.is_ascii() { c.to_string() } else { escape(c) }).collect()
}

fn leave_only_the_status(response: &mut Response) {
    response.clear_body();
    response.remove_limits();
}

/// The challenge to a caller without a valid key.
const CHALLENGE: &str = r#"Bearer realm="animals", error="invalid_token""#;

/// The link to the description of the interface.
const DESCRIPTION: &str = r#"</openapi.json>; rel="service-desc""#;

/// The axis of the words of errors.
const CODES: &str = "errors.codes";

/// 5 December 2030, in Unix seconds.
const REMOVAL: i64 = 1_922_659_200;

impl Choice {
    /// Changes the responses to fetches from the day of the removal on, behind the limiter and in front of the check of the key.
    fn once_removed(self, change: impl Fn(&mut Response) + Send + Sync + 'static) -> Choice {
        self.after(move |request, response, server| {
            if request.is_get() && response.status != 429 && server.now() >= REMOVAL {
                change(response);
            }
        })
    }

    /// Delays each response to a request whose number is a multiple of `every`.
    fn slow(self, time: Duration, every: u64) -> Choice {
        self.after(move |request, response, _| {
            if request.number.is_multiple_of(every) {
                response.delay += time;
            }
        })
    }
}

pub(super) fn choices() -> Vec<Choice> {
    vec![
        own("list.limit-out-of-range", "refused", "A limit outside 1 to 100 or that is no integer gets 400."),
        other("list.limit-out-of-range", "clamped", "A limit outside 1 to 100 becomes the nearest that is allowed.")
            .edits(is_bad_limit, |request| {
                let limit = request.number_of("limit").map(|limit| limit.clamp(1, 100).to_string());
                request.set_parameter("limit", limit.as_deref());
            }),
        other("list.limit-out-of-range", "ignored", "A limit outside 1 to 100 counts as none.")
            .edits(is_bad_limit, |request| request.set_parameter("limit", None)),
        own("list.unknown-status", "refused", "A filter for an unknown status is refused with 400."),
        other("list.unknown-status", "matches-nothing", "A filter for an unknown status matches no animal.")
            .inside(at(400, Request::lists_by_unknown_status), |response| response.become_json(200, json!([]))),
        own("get.malformed-id-status", "not-found", "An id that is no int64 is answered with 404."),
        other("get.malformed-id-status", "bad-request", "A malformed id gets 400.")
            .turns([404, 400], Request::gets_malformed),
        own("create.malformed-json", "bad-request", "A body that is not JSON is answered with 400."),
        other("create.malformed-json", "unprocessable", "A body that is not JSON gets 422.")
            .turns([400, 422], |request| request.is_create() && !request.body.is_empty() && !request.is_json()),
        own("create.content-type", "unsupported", "A body with another media type than JSON is refused with 415."),
        other("create.content-type", "read-as-json", "A body of any media type is read as JSON.").edit(|request, _| {
            request.headers.insert("content-type", HeaderValue::from_static("application/json"));
        }),
        own("pet.extra-members", "none", "An animal has the described members and no others."),
        other("pet.extra-members", "several", "An animal has a time of creation, a category object and a weight.")
            .shows(|pet| {
                set(pet, "createdAt", "2026-01-01T00:00:00Z");
                set(pet, "category", json!({"id": pet["categoryId"], "name": null}));
                set(pet, "weight", 1.5e3);
            }),
        other("pet.extra-members", "deeply-nested", "Some animals have a member that is nested a hundred levels deep.")
            .shows(|pet| {
                // Spread over lines, a hundred of them would take a mebibyte.
                if pet["id"].as_i64().is_some_and(|id| id % 10 == 0) {
                    set(pet, "ancestors", (0..100).fold(json!(1), |inner, _| json!([inner])));
                }
            }),
        own("create.success", "no-location", "A 201 has no Location."),
        other("create.success", "location", "A 201 has the Location of the animal.").answered(
            201,
            |_, response, server| {
                let pet = response.json().unwrap_or_default();
                response.set("location", format!("{}/pets/{}", server.base_path(), pet["id"]));
            },
        ),
        own(CODES, "words", "Codes are English words, messages English sentences."),
        other(CODES, "numbers-and-details", "Codes are numbers, messages German, and there are more members.")
            .edits_errors(|error| {
                set(error, "code", "E-4711");
                set(error, "message", "Das geht nicht: \u{201e}prüfen\u{201c} \u{1f422}\n");
                set(error, "traceId", "00-aa-bb-01");
                set(error, "errors", json!([{"field": "name", "status": "missing"}]));
            }),
        other(CODES, "status-phrases", "Codes are the phrases of the status in capitals, with short messages.").after(
            |_, response, _| {
                let status = StatusCode::from_u16(response.status).unwrap_or_default();
                let phrase = status.canonical_reason().unwrap_or("Error");
                response.edit_error(|error| {
                    set(error, "code", phrase.to_uppercase().replace(' ', "_"));
                    set(error, "message", phrase);
                });
            },
        ),
        own("service.json", "compact", "JSON has no white space, and text is UTF-8."),
        other("service.json", "spread-and-escaped", "JSON is spread over lines, and escapes what is beyond ASCII.")
            .after(|_, response, _| {
                if let Some(value) = response.json() {
                    response.body = format!("\r\n{}\n", spread(&value)).into_bytes();
                }
            }),
        own("service.json/media-type", "bare-media-type", "The media type has no parameter."),
        other("service.json/media-type", "charset-and-capitals", "The media type has a charset, and capitals.").sends(
            |_, response, _| response.header("content-type") == "application/json",
            |response| response.set("content-type", "Application/JSON;charset=UTF-8"),
        ),
        own("auth.challenge", "bearer", "A 401 has WWW-Authenticate: Bearer."),
        other("auth.challenge", "none", "A 401 has no challenge.")
            .after(|_, response, _| response.remove("www-authenticate")),
        other("auth.challenge", "realm-and-error", "A 401 has a challenge with a realm and an error.")
            .answered(401, |_, response, _| response.set("www-authenticate", CHALLENGE)),
        own("auth.scheme-case", "any-case", "The scheme may be written in any case."),
        other("auth.scheme-case", "exact", "The scheme has to be written as Bearer.")
            .edits(|request| request.token().is_none(), |request| drop(request.headers.remove("authorization"))),
        own("auth.missing-key/fields", "none-counts", "Of two Authorization fields none counts: 401."),
        other("auth.missing-key/fields", "two-are-a-bad-request", "A request with two Authorization fields gets 400.")
            .sends(of(has_two_credentials), |response| response.refuse(400)),
        other("auth.missing-key/fields", "two-are-refused-by-a-proxy", "Two Authorization fields get a proxy's 400.")
            .like("nginx, which refuses a field that may stand once only")
            .sends(of(has_two_credentials), |response| {
                *response = Response::new(400);
                response.set_body("text/html", NGINX_PAGE);
            }),
        own("orders.answer", "empty-array", "Store orders are an empty array."),
        other("orders.answer", "not-implemented", "Store orders get 501.")
            .inside(at(200, Request::is_orders), |response| response.refuse(501)),
        other("orders.answer", "payment-required", "Store orders get 402.")
            .inside(at(200, Request::is_orders), |response| response.refuse(402)),
        other("orders.answer", "object", "Store orders are an object with an array in it.")
            .sends(at(200, Request::is_orders), |response| response.set_json(json!({"orders": [], "next": null}))),
        other("orders.answer", "no-content", "Store orders get 204.")
            .sends(at(200, Request::is_orders), Response::empty),
        own("errors.elsewhere", "error", "Unknown paths and methods get an Error and rate-limit headers."),
        other("errors.elsewhere", "bare-status", "Unknown paths and methods get a status and nothing else.")
            .sends(of(|request| !request.is_operation()), leave_only_the_status),
        own("versioning.lifetime", "gone", "Once it is removed, GET /pets/{petId} gets 410 with a valid key."),
        other("versioning.lifetime", "unknown-path", "Once removed, GET /pets/{petId} gets a bare 404, key or not.")
            .once_removed(|response| {
                response.status = 404;
                leave_only_the_status(response);
            }),
        other("versioning.lifetime", "redirected", "Once removed, GET /pets/{petId} leads to the list, key or not.")
            .once_removed(|response| {
                response.status = 301;
                response.set_page("Moved");
                response.set("location", "/v1/pets?status=available");
            }),
        own("versioning.deprecation-signals", "sunset-and-link", "The removal is announced by Sunset and Link."),
        other("versioning.deprecation-signals", "none", "Nothing announces the removal.")
            .after(|_, response, _| ["sunset", "link"].into_iter().for_each(|name| response.remove(name))),
        other("versioning.deprecation-signals", "deprecation-date", "Deprecation and Sunset announce the removal.")
            .sends(of(Request::is_get), |response| {
                response.set("deprecation", "@1764892800");
                response.set("sunset", "Thu, 05 Dec 2030 23:59:59 GMT");
            }),
        own("versioning.interface-description", "published", "The description is at /openapi.json, without a link."),
        other("versioning.interface-description", "linked", "Successful lists have a Link to the description.")
            .sends(at(200, Request::is_list), |response| response.add("link", DESCRIPTION)),
        own("versioning.stability", "in-the-description", "Markers stand in the interface description alone."),
        other("versioning.stability", "in-responses", "Store orders are marked as experimental in their responses.")
            .sends(of(Request::is_orders), |response| response.set("x-stability", "experimental")),
        own("service.complete-answer", "with-length", "Responses announce their length."),
        other("service.complete-answer", "in-chunks", "Responses are sent in chunks.")
            .after(|_, response, _| response.delivery = Delivery::Chunked),
        own("service.complete-answer/speed", "immediate", "Responses come as fast as they can."),
        other("service.complete-answer/speed", "often-slow", "One response in five takes half a second.")
            .slow(Duration::from_millis(500), 5),
        other("service.complete-answer/speed", "seldom-very-slow", "One response in sixty takes three seconds.")
            .slow(Duration::from_secs(3), 60),
    ]
}
