//! Authentication.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{Builds, Fault, fault, is_status};
use crate::Request;

/// Every request.
pub(super) fn any(_: &Request) -> bool {
    true
}

/// Returns true if a token is the beginning of the key.
fn is_beginning(token: &str, key: &str) -> bool {
    token.len() > 8 && key.starts_with(token)
}

/// Returns true if a token differs from the key in its last character alone.
pub(super) fn has_another_end(token: &str, key: &str) -> bool {
    let but_last = |text: &str| text.char_indices().next_back().map(|(end, _)| text[..end].to_owned());
    token.len() == key.len() && but_last(token) == but_last(key)
}

/// The user and the colon after it in the credential of the scheme Basic.
pub(super) fn user_of_basic(value: &str) -> Option<String> {
    let decoded = BASE64_STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
    String::from_utf8(decoded).ok()
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // A valid key is refused.
        fault("auth.valid-key.no-scope-for-orders", "Orders get 401 with any key.").turns(200, 401, Request::is_orders),
        fault("auth.valid-key.old-header-on-fetches", "Fetches get 401 with any key.").turns(200, 401, Request::is_get),
        fault("auth.valid-key.known-to-every-second-replica", "Every second request gets 401.").edit(
            |request, server| {
                if server.key_of(request).is_some() && server.count().is_multiple_of(2) {
                    request.authorize("a-key-of-another-replica");
                }
            },
        ),
        // A missing or unknown key is accepted, or refused otherwise.
        fault("auth.missing-key.forbids", "A missing or invalid key gets 403.").also(&["auth.invalid-key"]).turns(
            401,
            403,
            |_| true,
        ),
        fault("auth.missing-key.anonymous-reads", "Reads need no key.")
            .presents(|request| request.is_list() || request.is_get(), |value, _| value.is_empty()),
        fault("auth.missing-key.open-orders", "Store orders need no key.")
            .presents(Request::is_orders, |value, _| value.is_empty()),
        fault("auth.missing-key.header-required", "A missing key gets 400.")
            .turns(401, 400, |request| request.authorization().is_empty()),
        fault("auth.missing-key.to-the-login", "A missing key gets 302.").answered(401, |request, response, _| {
            if request.authorization().is_empty() {
                response.status = 302;
                response.set("location", "/login");
            }
        }),
        fault("auth.invalid-key.any-key", "Any token is accepted as a key.")
            .mistakes(any, |token, _| !token.is_empty()),
        fault("auth.invalid-key.token-crash", "An unknown key gets 500.")
            .turns(401, 500, |request| request.token().is_some()),
        fault("auth.invalid-key.unknown-key-404", "An unknown key gets 404.")
            .turns(401, 404, |request| request.token().is_some()),
        // Something similar to the key is accepted.
        fault("auth.exact-key.prefixes", "The beginning of a key is accepted as the key.").mistakes(any, is_beginning),
        fault("auth.exact-key.prefixes-on-fetches", "For fetches, the beginning of a key is accepted as the key.")
            .mistakes(Request::is_get, is_beginning),
        fault("auth.exact-key.narrow-column", "A key with another last character is accepted.")
            .mistakes(any, has_another_end),
        fault("auth.exact-key.suffixes", "A key with something behind it is accepted.")
            .mistakes(any, |token, key| token.starts_with(key)),
        fault("auth.exact-key.another-word", "A key with another word behind it is accepted.")
            .mistakes(any, |token, key| token.split(' ').next() == Some(key)),
        fault("auth.exact-key.any-case-keys", "A key in another case is accepted.")
            .mistakes(any, str::eq_ignore_ascii_case),
        // The key is accepted in another place.
        fault("auth.bearer-header.key-in-query", "The key is accepted in the query.")
            .admits(|request, key| {
                request.parameter("api_key") == Some(key) || request.parameter("access_token") == Some(key)
            })
            .edit(|request, _| {
                request.query = request
                    .query
                    .split('&')
                    .filter(|p| !p.contains("key") && !p.contains("token") && !p.contains("auth"))
                    .collect::<Vec<_>>()
                    .join("&");
            }),
        fault("auth.bearer-header.key-in-header", "The key is accepted in X-Api-Key.")
            .admits(|request, key| request.header("x-api-key") == key),
        fault("auth.bearer-header.bare-key", "The key is accepted without a scheme.")
            .presents(any, |value, key| value == key),
        fault("auth.bearer-header.bare-key-for-orders", "For store orders, the key is accepted without a scheme.")
            .presents(Request::is_orders, |value, key| value == key),
        fault("auth.bearer-header.any-scheme", "The key is accepted with any scheme.")
            .presents(any, |value, key| value.split(' ').nth(1) == Some(key)),
        fault("auth.bearer-header.basic", "The key is accepted as a user name of the scheme Basic.")
            .presents(any, |value, key| user_of_basic(value).is_some_and(|user| user.starts_with(key))),
        fault("auth.bearer-header.key-in-cookie", "The key is accepted in a cookie.")
            .admits(|request, key| request.header("cookie").contains(key)),
        fault("auth.bearer-header.key-in-body", "The key is accepted in a body's member.").admits(|request, key| {
            request.object().is_some_and(|members| members.get("access_token").is_some_and(|token| token == key))
        }),
        fault("auth.bearer-header.access-token-field", "The key is accepted in the field X-Access-Token.")
            .admits(|request, key| request.header("x-access-token") == key),
        // Something else is checked before the key.
        fault("auth.before-all-else.body-first", "Without a key, an invalid body gets 400.").turns(
            401,
            400,
            |request| {
                request.is_create()
                    && !request.object().is_some_and(|pet| pet.contains_key("name") && pet.contains_key("categoryId"))
            },
        ),
        fault("auth.before-all-else.status-first", "Without a valid key, a creation with an unknown status gets 400.")
            .turns(401, 400, |request| {
                request.is_create()
                    && request.object().is_some_and(|pet| {
                        let is_complete = pet.contains_key("name") && pet.contains_key("categoryId");
                        is_complete && pet.get("status").is_some_and(|status| !status.as_str().is_some_and(is_status))
                    })
            }),
        fault("auth.before-all-else.no-body-first", "Without a valid key, an empty body is answered with 400.").turns(
            401,
            400,
            |request| request.is_create() && request.body.is_empty(),
        ),
        fault("auth.before-all-else.parameters-first", "Without a valid key, a limit of 0 is answered with 400.")
            .turns(401, 400, |request| request.lists_with("limit", "0")),
        fault("auth.before-all-else.large-limit-first", "Without a valid key, a limit over 100 is answered with 400.")
            .turns(401, 400, |request| {
                request.is_list() && request.number_of("limit").is_some_and(|limit| limit > 100)
            }),
        fault("auth.before-all-else.category-first", "Without a valid key, a category that is no number gets 400.")
            .turns(401, 400, |request| {
                request.is_create()
                    && request.object().is_some_and(|pet| pet.get("categoryId").is_some_and(|id| !id.is_number()))
            }),
        fault("auth.before-all-else.route-first", "Without a valid key, an id that is no int64 gets 404.").turns(
            401,
            404,
            Request::gets_malformed,
        ),
        fault("auth.refused-stores-nothing.stored-then-refused", "A creation refused with 401 stores the animal.")
            .stores_refused(401, |_| true),
        fault("auth.refused-stores-nothing.unknown-key-stores", "A creation refused for its key stores the animal.")
            .stores_refused(401, |request| request.token().is_some()),
    ]
}
