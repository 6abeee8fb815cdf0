//! Authentication.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{Fault, fault, is_status};
use crate::Request;

pub(super) fn faults() -> Vec<Fault> {
    [valid(), missing(), inexact(), elsewhere(), order()].into_iter().flatten().collect()
}

fn valid() -> Vec<Fault> {
    vec![
        fault("no-scope-for-orders", &["auth.valid-key"])
            .does("Store orders are answered with 401, whatever the key is.")
            .like("a key without the scope for one operation")
            .turns(200, 401, Request::is_orders),
        fault("old-header-on-fetches", &["auth.valid-key"])
            .does("Fetches are answered with 401, whatever the key is.")
            .like("one route that still looks for the key where it was before")
            .turns(200, 401, Request::is_get),
    ]
}

fn missing() -> Vec<Fault> {
    vec![
        fault("forbids", &["auth.missing-key", "auth.invalid-key"])
            .does("A missing or invalid key is answered with 403.")
            .like("403 for unknown callers")
            .turns(401, 403, |_| true),
        fault("anonymous-reads", &["auth.missing-key"])
            .does("Reads need no key.")
            .like("reads that are open to everybody")
            .admits(|request, _| request.authorization().is_empty() && (request.is_list() || request.is_get())),
        fault("open-orders", &["auth.missing-key"])
            .does("Store orders need no key.")
            .like("a route that was added beside the protected ones")
            .admits(|request, _| request.authorization().is_empty() && request.is_orders()),
        fault("header-required", &["auth.missing-key"])
            .does("A missing key is answered with 400.")
            .like("a required header that is validated like a parameter")
            .turns(401, 400, |request| request.authorization().is_empty()),
        fault("to-the-login", &["auth.missing-key"])
            .does("A missing key is answered with 302.")
            .like("a redirect to a page for logging in")
            .answered(401, |request, response, _| {
                if request.authorization().is_empty() {
                    response.status = 302;
                    response.set("location", "/login");
                }
            }),
        fault("any-key", &["auth.invalid-key"])
            .does("Any token is accepted as a key.")
            .like("a check that there is a key")
            .mistakes(|_| true, |token, _| !token.is_empty()),
        fault("token-crash", &["auth.invalid-key"])
            .does("An unknown key is answered with 500.")
            .like("a token that cannot be decoded")
            .turns(401, 500, |request| request.token().is_some()),
        fault("unknown-key-404", &["auth.invalid-key"])
            .does("An unknown key is answered with 404.")
            .like("a lookup of the key whose miss is a 404")
            .turns(401, 404, |request| request.token().is_some()),
    ]
}

fn inexact() -> Vec<Fault> {
    vec![
        fault("prefixes", &["auth.exact-key"])
            .does("The beginning of a key is accepted as the key.")
            .like("a comparison that ends with the shorter text")
            .mistakes(|_| true, |token, key| token.len() > 8 && key.starts_with(token)),
        fault("prefixes-on-fetches", &["auth.exact-key"])
            .does("For fetches, the beginning of a key is accepted as the key.")
            .like("a route with a comparison of its own")
            .mistakes(Request::is_get, |token, key| token.len() > 8 && key.starts_with(token)),
        fault("narrow-column", &["auth.exact-key"])
            .does("A key with another last character is accepted.")
            .like("a key in a column that is too narrow for its last character")
            .mistakes(
                |_| true,
                |token, key| token.len() == key.len() && token.get(1..token.len() - 1) == key.get(1..key.len() - 1),
            ),
        fault("suffixes", &["auth.exact-key"])
            .does("A key with something behind it is accepted.")
            .like("a hash that looks at so many characters and no more")
            .mistakes(|_| true, |token, key| token.starts_with(key)),
        fault("another-word", &["auth.exact-key"])
            .does("A key with another word behind it is accepted.")
            .like("the second word, whatever comes after it")
            .admits(|request, key| {
                let mut words = request.authorization().split(' ');
                words.next() == Some("Bearer") && words.next() == Some(key)
            }),
        fault("any-case-keys", &["auth.exact-key"])
            .does("A key in another case is accepted.")
            .like("a collation that does not distinguish cases")
            .mistakes(|_| true, |token, key| token.eq_ignore_ascii_case(key)),
    ]
}

fn elsewhere() -> Vec<Fault> {
    vec![
        fault("key-in-query", &["auth.bearer-header"])
            .does("The key is accepted in the query.")
            .like("a parameter for links in a browser")
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
        fault("key-in-header", &["auth.bearer-header"])
            .does("The key is accepted in X-Api-Key.")
            .like("the header that keys came in before")
            .admits(|request, key| request.header("x-api-key") == key),
        fault("bare-key", &["auth.bearer-header"])
            .does("The key is accepted without a scheme.")
            .like("a scheme that is cut off if it is there")
            .admits(|request, key| request.authorization() == key),
        fault("bare-key-for-orders", &["auth.bearer-header"])
            .does("For store orders, the key is accepted without a scheme.")
            .like("a route with a parser of its own")
            .admits(|request, key| request.is_orders() && request.authorization() == key),
        fault("any-scheme", &["auth.bearer-header"])
            .does("The key is accepted with any scheme.")
            .like("the second word, whatever the first one is")
            .admits(|request, key| request.authorization().split(' ').nth(1) == Some(key)),
        fault("basic", &["auth.bearer-header"])
            .does("The key is accepted as a user name of the scheme Basic.")
            .like("the key as a user's name, for the command line")
            .admits(|request, key| {
                let decoded =
                    request.authorization().strip_prefix("Basic ").and_then(|text| BASE64_STANDARD.decode(text).ok());
                decoded.is_some_and(|bytes| bytes.starts_with(key.as_bytes()))
            }),
        fault("key-in-cookie", &["auth.bearer-header"])
            .does("The key is accepted in a cookie.")
            .like("a session that lasts in the browser")
            .admits(|request, key| request.header("cookie").contains(key)),
        fault("key-in-body", &["auth.bearer-header"])
            .does("The key is accepted in a member of the body.")
            .like("a token that forms send with their other fields")
            .admits(|request, key| {
                request.object().is_some_and(|members| members.get("access_token").is_some_and(|token| token == key))
            }),
        fault("access-token-field", &["auth.bearer-header"])
            .does("The key is accepted in the field X-Access-Token.")
            .like("a gateway that passes the token on in a field of its own")
            .admits(|request, key| request.header("x-access-token") == key),
    ]
}

fn order() -> Vec<Fault> {
    vec![
        fault("body-first", &["auth.before-all-else"])
            .does("Without a valid key, an invalid body is answered with 400.")
            .like("a body that is read before anybody asks for the key")
            .turns(401, 400, |request| {
                request.is_create()
                    && !request.object().is_some_and(|pet| pet.contains_key("name") && pet.contains_key("categoryId"))
            }),
        fault("status-first", &["auth.before-all-else"])
            .does("Without a valid key, a creation with an unknown status is answered with 400.")
            .like("a model that is validated before anybody asks for the key")
            .turns(401, 400, |request| {
                request.is_create()
                    && request.object().is_some_and(|pet| {
                        let is_complete = pet.contains_key("name") && pet.contains_key("categoryId");
                        is_complete && pet.get("status").is_some_and(|status| !status.as_str().is_some_and(is_status))
                    })
            }),
        fault("no-body-first", &["auth.before-all-else"])
            .does("Without a valid key, an empty body is answered with 400.")
            .like("a body that has to be there before anything else")
            .turns(401, 400, |request| request.is_create() && request.body.is_empty()),
        fault("parameters-first", &["auth.before-all-else"])
            .does("Without a valid key, a limit of 0 is answered with 400.")
            .like("parameters that are bound before the handler runs")
            .turns(401, 400, |request| request.is_list() && request.parameter("limit") == Some("0")),
        fault("large-limit-first", &["auth.before-all-else"])
            .does("Without a valid key, a limit over 100 is answered with 400.")
            .like("a bound on a parameter that is checked before the handler runs")
            .turns(401, 400, |request| {
                request.is_list() && request.number_of("limit").is_some_and(|limit| limit > 100)
            }),
        fault("category-first", &["auth.before-all-else"])
            .does("Without a valid key, a category that is no number is answered with 400.")
            .like("a body that is deserialised before the handler runs")
            .turns(401, 400, |request| {
                request.is_create()
                    && request.object().is_some_and(|pet| pet.get("categoryId").is_some_and(|id| !id.is_number()))
            }),
        fault("route-first", &["auth.before-all-else"])
            .does("Without a valid key, an id that is no int64 is answered with 404.")
            .like("a route that takes digits only, and else does not match")
            .turns(401, 404, |request| request.is_get() && request.id().is_none()),
        fault("stored-then-refused", &["auth.refused-stores-nothing"])
            .does("A creation that is refused with 401 stores the animal.")
            .like("a handler that runs beside the check of its key")
            .stores_refused(401, |_| true),
        fault("unknown-key-stores", &["auth.refused-stores-nothing"])
            .does("A creation with an unknown key is refused and stores the animal.")
            .like("a key that is checked when the answer is written")
            .stores_refused(401, |request| request.token().is_some()),
    ]
}
