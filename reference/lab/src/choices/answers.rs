//! Choices about responses: their words, their form, and how they are sent.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::{Build, Choice, other, own};
use crate::{Delivery, Layer, Request, Response};

/// The page of nginx for a bad request.
const NGINX_PAGE: &str = "<html>\r\n<head><title>400 Bad Request</title></head>\r\n<body>\r\n\
     <center><h1>400 Bad Request</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n";

fn is_bad_limit(request: &Request) -> bool {
    request.is_list() && request.parameter("limit").is_some() && !matches!(request.number_of("limit"), Some(1..=100))
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
    response.body.clear();
    for name in ["content-type", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        response.remove(name);
    }
}

/// 5 December 2030, in Unix seconds.
const REMOVAL: i64 = 1_922_659_200;

/// Changes the responses to fetches of animals from the day of the removal on, behind the limiter and in front of the check of the key.
fn once_removed(b: &mut Build, change: impl Fn(&mut Response) + Send + Sync + 'static) {
    b.layer(Layer::default().after(move |request, response, server| {
        if request.is_get() && response.status != 429 && server.now() >= REMOVAL {
            change(response);
        }
    }));
}

/// Delays each response to a request whose number is a multiple of `every`.
fn slow(b: &mut Build, time: Duration, every: u64) {
    b.after(move |request, response| {
        if request.number.is_multiple_of(every) {
            response.delay += time;
        }
    });
}

pub(super) const CHOICES: &[Choice] = &[
    own(
        "list.limit-out-of-range",
        "refused",
        "A limit outside 1 to 100, or one that is no integer, is refused with 400.",
    ),
    other("list.limit-out-of-range", "clamped")
        .does("A limit outside 1 to 100 becomes the nearest that is allowed.")
        .like("a minimum and a maximum where others have a check")
        .make(|b| {
            b.edit(|request| {
                if is_bad_limit(request) {
                    let limit = request.number_of("limit").map(|limit| limit.clamp(1, 100).to_string());
                    request.set_parameter("limit", limit.as_deref());
                }
            });
        }),
    other("list.limit-out-of-range", "ignored")
        .does("A limit outside 1 to 100 counts as none.")
        .like("a parser that yields the default for what it cannot take")
        .make(|b| {
            b.edit(|request| {
                if is_bad_limit(request) {
                    request.set_parameter("limit", None);
                }
            });
        }),
    own("list.unknown-status", "refused", "A filter for an unknown status is refused with 400."),
    other("list.unknown-status", "matches-nothing")
        .does("A filter for an unknown status matches no animal.")
        .like("a comparison in a query")
        .make(|b| {
            b.after_inside(|request, response| {
                let unknown = |status| !["available", "pending", "sold"].contains(&status);
                if response.status == 400 && request.is_list() && request.parameter("status").is_some_and(unknown) {
                    response.become_json(200, json!([]));
                }
            });
        }),
    own("get.malformed-id-status", "not-found", "An id that is no int64 is answered with 404."),
    other("get.malformed-id-status", "bad-request")
        .does("An id that is no int64 is answered with 400.")
        .like("a parameter that is validated before it is looked up")
        .make(|b| b.turns(404, 400, |request| request.is_get() && request.id().is_none())),
    own("create.malformed-json", "bad-request", "A body that is not JSON is answered with 400."),
    other("create.malformed-json", "unprocessable")
        .does("A body that is not JSON is answered with 422.")
        .like("a framework that validates and parses alike")
        .make(|b| {
            b.turns(400, 422, |request| request.is_create() && !request.body.is_empty() && !request.is_json());
        }),
    own("create.content-type", "unsupported", "A body with another media type than JSON is refused with 415."),
    other("create.content-type", "read-as-json")
        .does("A body is read as JSON whatever its media type is.")
        .like("a handler that never looks at the field")
        .make(|b| {
            b.edit(|request| {
                request.headers.insert("content-type", HeaderValue::from_static("application/json"));
            });
        }),
    own("pet.extra-members", "none", "An animal has the described members and no others."),
    other("pet.extra-members", "several")
        .does("An animal has a time of creation, a category object and a weight.")
        .like("a record that is written out whole")
        .make(|b| {
            b.shows(|pet| {
                pet.insert("createdAt".to_owned(), json!("2026-01-01T00:00:00Z"));
                pet.insert("category".to_owned(), json!({"id": pet["categoryId"], "name": null}));
                pet.insert("weight".to_owned(), json!(1.5e3));
            });
        }),
    other("pet.extra-members", "deeply-nested")
        .does("Some animals have a member that is nested a hundred levels deep.")
        .like("a tree that is written out whole")
        .make(|b| {
            let deep = (0..100).fold(json!(1), |inner, _| Value::Array(vec![inner]));
            b.shows(move |pet| {
                // Spread over lines, a hundred of them would take a mebibyte.
                if pet["id"].as_i64().is_some_and(|id| id % 10 == 0) {
                    pet.insert("ancestors".to_owned(), deep.clone());
                }
            });
        }),
    own("create.success", "no-location", "A 201 has no Location."),
    other("create.success", "location")
        .does("A 201 has the Location of the animal.")
        .like("RFC 9110 section 15.3.2")
        .make(|b| {
            b.layer(Layer::default().after(|_, response, server| {
                if let Some(pet) = response.json().filter(|_| response.status == 201) {
                    response.set("location", format!("{}/pets/{}", server.base_path(), pet["id"]));
                }
            }));
        }),
    own("errors.codes", "words", "Codes are English words, messages English sentences."),
    other("errors.codes", "numbers-and-details")
        .does("Codes are numbers, messages German, and there are further members.")
        .like("a company with a list of errors")
        .make(|b| {
            b.after(|_, response| {
                response.edit_error(|error| {
                    error.insert("code".to_owned(), json!("E-4711"));
                    error.insert("message".to_owned(), json!("Das geht nicht: \u{201e}prüfen\u{201c} \u{1f422}\n"));
                    error.insert("traceId".to_owned(), json!("00-aa-bb-01"));
                    error.insert("errors".to_owned(), json!([{"field": "name", "status": "missing"}]));
                });
            });
        }),
    other("errors.codes", "status-phrases")
        .does("Codes are the phrases of the status, in capitals, and messages are short.")
        .like("a library that knows nothing but the status")
        .make(|b| {
            b.after(|_, response| {
                let phrase = StatusCode::from_u16(response.status).ok().and_then(|status| status.canonical_reason());
                let phrase = phrase.unwrap_or("Error");
                response.edit_error(|error| {
                    error.insert("code".to_owned(), json!(phrase.to_uppercase().replace(' ', "_")));
                    error.insert("message".to_owned(), json!(phrase));
                });
            });
        }),
    own("service.json", "compact", "JSON has no white space, and text is UTF-8."),
    other("service.json", "spread-and-escaped")
        .does("JSON is spread over lines, and characters beyond ASCII are escaped.")
        .like("a writer for people and old readers")
        .make(|b| {
            b.after(|_, response| {
                if let Some(value) = response.json() {
                    response.body = format!("\r\n{}\n", spread(&value)).into_bytes();
                }
            });
        }),
    own("service.json/media-type", "bare-media-type", "The media type has no parameter."),
    other("service.json/media-type", "charset-and-capitals")
        .does("The media type has a charset, and capitals.")
        .like("a framework that adds a charset to all text")
        .make(|b| {
            b.after(|_, response| {
                if response.header("content-type") == "application/json" {
                    response.set("content-type", "Application/JSON;charset=UTF-8");
                }
            });
        }),
    own("auth.challenge", "bearer", "A 401 has WWW-Authenticate: Bearer."),
    other("auth.challenge", "none")
        .does("A 401 has no challenge.")
        .like("a filter written by hand")
        .make(|b| b.after(|_, response| response.remove("www-authenticate"))),
    other("auth.challenge", "realm-and-error")
        .does("A 401 has a challenge with a realm and an error.")
        .like("RFC 6750 section 3")
        .make(|b| {
            let challenge = r#"Bearer realm="animals", error="invalid_token""#;
            b.answered(401, |_| true, move |response| response.set("www-authenticate", challenge));
        }),
    own("auth.scheme-case", "any-case", "The scheme may be written in any case."),
    other("auth.scheme-case", "exact")
        .does("The scheme has to be written as Bearer.")
        .like("a comparison of the beginning of the field")
        .make(|b| {
            b.edit(|request| {
                if !request.authorization().starts_with("Bearer ") {
                    request.headers.remove("authorization");
                }
            });
        }),
    own("auth.missing-key/fields", "none-counts", "Of two Authorization fields none counts: 401."),
    other("auth.missing-key/fields", "two-are-a-bad-request")
        .does("A request with two Authorization fields is answered with 400.")
        .like("a field that may stand once only, which is checked before all else")
        .make(|b| {
            b.after(|request, response| {
                if has_two_credentials(request) {
                    response.refuse(400);
                }
            });
        }),
    other("auth.missing-key/fields", "two-are-refused-by-a-proxy")
        .does(
            "A request with two Authorization fields is answered with 400 and a page in HTML, without the \
             fields of the service.",
        )
        .like("nginx, which refuses a field that may stand once only")
        .make(|b| {
            b.after(|request, response| {
                if has_two_credentials(request) {
                    *response = Response::new(400);
                    response.set_body("text/html", NGINX_PAGE);
                }
            });
        }),
    own("orders.answer", "empty-array", "Store orders are an empty array."),
    other("orders.answer", "not-implemented").does("Store orders are answered with 501.").like("a stub").make(|b| {
        b.after_inside(|request, response| {
            if request.is_orders() && response.status == 200 {
                response.refuse(501);
            }
        });
    }),
    other("orders.answer", "object")
        .does("Store orders are an object with an array in it.")
        .like("a page object")
        .make(|b| {
            let page = |response: &mut Response| response.become_json(200, json!({"orders": [], "next": null}));
            b.answered(200, Request::is_orders, page);
        }),
    other("orders.answer", "no-content").does("Store orders are answered with 204.").like("nothing to show").make(
        |b| {
            b.answered(200, Request::is_orders, |response| {
                response.status = 204;
                response.body.clear();
                response.remove("content-type");
            });
        },
    ),
    own("errors.elsewhere", "error", "Unknown paths and methods are answered with an Error and rate-limit headers."),
    other("errors.elsewhere", "bare-status")
        .does("Unknown paths and methods are answered with a status and nothing else.")
        .like("a router that answers before all else")
        .make(|b| {
            b.after(|request, response| {
                if !(request.is_list() || request.is_create() || request.is_get() || request.is_orders()) {
                    leave_only_the_status(response);
                }
            });
        }),
    own(
        "versioning.lifetime",
        "gone",
        "Once it is removed, GET /pets/{petId} is answered with 410 and an Error, if the key is valid.",
    ),
    other("versioning.lifetime", "unknown-path")
        .does("Once it is removed, GET /pets/{petId} is answered with 404 and nothing else, whatever the key is.")
        .like("a router without the route")
        .make(|b| {
            once_removed(b, |response| {
                response.status = 404;
                leave_only_the_status(response);
            });
        }),
    other("versioning.lifetime", "redirected")
        .does("Once it is removed, GET /pets/{petId} is redirected to the list, whatever the key is.")
        .like("a rewrite rule for old links")
        .make(|b| {
            once_removed(b, |response| {
                response.status = 301;
                response.set_body("text/html", "<h1>Moved</h1>");
                response.set("location", "/v1/pets?status=available");
            });
        }),
    own("versioning.deprecation-signals", "sunset-and-link", "The removal is announced by Sunset and Link."),
    other("versioning.deprecation-signals", "none")
        .does("Nothing announces the removal.")
        .like("a note in the documentation")
        .make(|b| b.after(|_, response| ["sunset", "link"].into_iter().for_each(|name| response.remove(name)))),
    other("versioning.deprecation-signals", "deprecation-date")
        .does("The removal is announced by Deprecation and Sunset.")
        .like("RFC 9745")
        .make(|b| {
            b.after(|request, response| {
                if request.is_get() {
                    response.set("deprecation", "@1764892800");
                    response.set("sunset", "Thu, 05 Dec 2030 23:59:59 GMT");
                }
            });
        }),
    own(
        "versioning.interface-description",
        "published",
        "The description is at /openapi.json, and no response says so.",
    ),
    other("versioning.interface-description", "linked")
        .does("Successful lists have a Link to the description.")
        .like("RFC 8631")
        .make(|b| {
            let link = r#"</openapi.json>; rel="service-desc""#;
            b.answered(200, Request::is_list, move |response| response.add("link", link));
        }),
    own("versioning.stability", "in-the-description", "Markers stand in the interface description alone."),
    other("versioning.stability", "in-responses")
        .does("Store orders are marked as experimental in their responses.")
        .like("a header for what may change")
        .make(|b| {
            b.after(|request, response| {
                if request.is_orders() {
                    response.set("x-stability", "experimental");
                }
            });
        }),
    own("service.complete-answer", "with-length", "Responses announce their length, and connections stay open."),
    other("service.complete-answer", "in-chunks")
        .does("Responses are sent in chunks.")
        .like("a writer of streams")
        .make(|b| b.after(|_, response| response.delivery = Delivery::Chunked)),
    other("service.complete-answer", "closing")
        .does("Every response ends its connection.")
        .like("a process a request")
        .make(|b| b.after(|_, response| response.set("connection", "close"))),
    own("service.complete-answer/speed", "immediate", "Responses come as fast as they can."),
    other("service.complete-answer/speed", "often-slow")
        .does("One response in five takes half a second.")
        .like("a database on another machine")
        .make(|b| slow(b, Duration::from_millis(500), 5)),
    other("service.complete-answer/speed", "seldom-very-slow")
        .does("One response in sixty takes three seconds.")
        .like("a collector of garbage")
        .make(|b| slow(b, Duration::from_secs(3), 60)),
];
