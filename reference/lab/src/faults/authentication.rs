//! Authentication.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderValue, Method};

use super::{Builds, Fault, any, fault, give_key};
use crate::{Request, Response};

/// Returns true if a token is the beginning of the key.
fn is_beginning(token: &str, key: &str) -> bool {
    token.len() > 8 && key.starts_with(token)
}

/// Returns true if a token differs from the key in its last character alone.
fn has_another_end(token: &str, key: &str) -> bool {
    let but_last = |text: &str| text.char_indices().next_back().map(|(end, _)| text[..end].to_owned());
    token.len() == key.len() && but_last(token) == but_last(key)
}

/// Returns true if a request creates an animal that has all required members.
fn is_complete(request: &Request) -> bool {
    request.pet().is_some_and(|pet| pet.contains_key("name") && pet.contains_key("categoryId"))
}

/// The user and the colon after it in the credential of the scheme Basic.
fn user_of_basic(value: &str) -> Option<String> {
    let decoded = BASE64_STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
    String::from_utf8(decoded).ok()
}

/// Returns true if a token is the key as far as the first mark.
fn is_up_to(mark: char, token: &str, key: &str) -> bool {
    token.split_once(mark).is_some_and(|(before, _)| before == key)
}

impl Fault {
    /// Answers the request after one whose response was kept with that response, if both ask for the same.
    fn cached_once(self, serves: fn(&Request) -> bool, keeps: fn(&Request, &Response) -> bool) -> Fault {
        self.before(move |request, server| {
            let kept = server.kept(request, i64::MAX).filter(|_| serves(request));
            server.forget();
            kept
        })
        .keeps(keeps)
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        // A valid key is refused.
        fault("auth.valid-key.no-scope-for-orders", "Orders get 401 with any key.")
            .turns([200, 401], Request::is_orders),
        fault("auth.valid-key.old-header-on-fetches", "Fetches get 401 with any key.")
            .turns([200, 401], Request::is_get),
        fault("auth.valid-key.known-to-every-second-replica", "Every second request gets 401.")
            .disowns(|number| number.is_multiple_of(2)),
        // A missing or unknown key is accepted, or refused otherwise.
        fault("auth.missing-key.forbids", "A missing or invalid key gets 403.")
            .also(&["auth.invalid-key"])
            .turns([401, 403], any),
        fault("auth.missing-key.anonymous-reads", "Reads need no key.")
            .presents(|request| request.is_list() || request.is_get(), |value, _| value.is_empty()),
        fault("auth.missing-key.open-orders", "Store orders need no key.")
            .presents(Request::is_orders, |value, _| value.is_empty()),
        fault("auth.missing-key.header-required", "A missing key gets 400.")
            .turns([401, 400], |request| request.authorization().is_empty()),
        fault("auth.missing-key.to-the-login", "A missing key gets 302.")
            .answered(302, |_, response, _| response.set("location", "/login"))
            .turns([401, 302], |request| request.authorization().is_empty()),
        fault("auth.invalid-key.any-key", "Any token is accepted as a key.")
            .mistakes(any, |token, _| !token.is_empty()),
        fault("auth.invalid-key.token-crash", "An unknown key gets 500.")
            .turns([401, 500], |request| request.token().is_some()),
        fault("auth.invalid-key.unknown-key-404", "An unknown key gets 404.")
            .turns([401, 404], |request| request.token().is_some()),
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
            .admits(|request, key| ["api_key", "access_token"].iter().any(|name| request.parameter(name) == Some(key)))
            .edit(|request, _| ["api_key", "access_token"].iter().for_each(|name| request.set_parameter(name, None))),
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
        fault("auth.bearer-header.key-in-body", "The key is accepted in a body's member.")
            .admits(|request, key| request.member("access_token").is_some_and(|token| token == key)),
        fault("auth.bearer-header.access-token-field", "The key is accepted in the field X-Access-Token.")
            .admits(|request, key| request.header("x-access-token") == key),
        // Something else is checked before the key.
        fault("auth.before-all-else.body-first", "Without a key, an invalid body gets 400.")
            .turns([401, 400], |request| request.is_create() && !is_complete(request)),
        fault("auth.before-all-else.status-first", "Without a valid key, a creation with an unknown status gets 400.")
            .turns([401, 400], |request| is_complete(request) && request.has_unknown_status()),
        fault("auth.before-all-else.no-body-first", "Without a valid key, an empty body is answered with 400.")
            .turns([401, 400], |request| request.is_create() && request.body.is_empty()),
        fault("auth.before-all-else.parameters-first", "Without a valid key, a limit of 0 is answered with 400.")
            .turns([401, 400], |request| request.lists_with("limit", "0")),
        fault("auth.before-all-else.large-limit-first", "Without a valid key, a limit over 100 is answered with 400.")
            .turns([401, 400], |request| request.is_list() && request.number_of("limit") > Some(100)),
        fault("auth.before-all-else.category-first", "Without a valid key, a category that is no number gets 400.")
            .turns([401, 400], |request| request.member("categoryId").is_some_and(|id| !id.is_number())),
        fault("auth.before-all-else.route-first", "Without a valid key, an id that is no int64 gets 404.")
            .turns([401, 404], Request::gets_malformed),
        fault("auth.refused-stores-nothing.stored-then-refused", "A creation refused with 401 stores the animal.")
            .stores_refused(401, any),
        fault("auth.refused-stores-nothing.unknown-key-stores", "A creation refused for its key stores the animal.")
            .stores_refused(401, |request| request.token().is_some()),
        // Tokens.
        fault("auth.invalid-key.null-for-orders", "Orders are shown to the token null.")
            .mistakes(Request::is_orders, |token, _| token == "null"),
        fault("auth.invalid-key.scheme-alone-for-orders", "Orders are shown to the scheme without a token.")
            .presents(Request::is_orders, |value, _| value.trim() == "Bearer"),
        fault("auth.invalid-key.empty-field-for-lists", "Lists are shown to an Authorization field without a value.")
            .admits(|request, _| request.is_list() && request.fields("authorization").any(HeaderValue::is_empty)),
        fault("auth.invalid-key.undefined-for-fetches", "Animals can be fetched with the token undefined.")
            .mistakes(Request::is_get, |token, _| token == "undefined"),
        fault("auth.exact-key.padded-for-lists", "The key with equals signs behind it lists animals.")
            .mistakes(Request::is_list, |token, key| token.trim_end_matches('=') == key),
        fault("auth.exact-key.quoted-for-fetches", "The key in quotation marks fetches animals.")
            .mistakes(Request::is_get, |token, key| token.trim_matches('"') == key),
        fault("auth.exact-key.tail-for-orders", "The key without its first letter shows orders.")
            .mistakes(Request::is_orders, |token, key| !token.is_empty() && key.get(1..) == Some(token)),
        fault("auth.exact-key.another-end-for-creations", "A key that differs in its last letter creates animals.")
            .mistakes(Request::is_create, has_another_end),
        fault("auth.exact-key.any-case-for-creations", "The key in any case creates animals.")
            .mistakes(Request::is_create, str::eq_ignore_ascii_case),
        fault("auth.exact-key.another-word-for-orders", "The key with another word behind it shows orders.")
            .mistakes(Request::is_orders, |token, key| token.split(' ').next() == Some(key)),
        fault("auth.exact-key.lower-case-keys", "The key in lower case is accepted.")
            .mistakes(any, |token, key| token == key.to_ascii_lowercase()),
        fault("auth.exact-key.upper-case-keys", "The key in upper case is accepted.")
            .mistakes(any, |token, key| token == key.to_ascii_uppercase()),
        fault("auth.exact-key.twice-the-key", "The key written twice is accepted.")
            .mistakes(any, |token, key| token == key.repeat(2)),
        fault("auth.exact-key.up-to-a-colon", "What follows a colon behind the key is ignored.")
            .mistakes(any, |token, key| is_up_to(':', token, key)),
        fault("auth.exact-key.up-to-a-comma", "What follows a comma behind the key is ignored for lists.")
            .mistakes(Request::is_list, |token, key| is_up_to(',', token, key)),
        fault("auth.exact-key.up-to-a-fragment", "What follows a number sign behind the key is ignored.")
            .mistakes(any, |token, key| is_up_to('#', token, key)),
        fault("auth.exact-key.scheme-twice", "The key behind the scheme written twice is accepted.")
            .mistakes(any, |token, key| token.strip_prefix("Bearer ") == Some(key)),
        fault("auth.invalid-key.wildcard", "A wildcard is accepted as a key.").mistakes(any, |token, _| token == "%"),
        fault("auth.exact-key.suffix-for-fetches", "Anything that begins with the key fetches animals.")
            .mistakes(Request::is_get, |token, key| token.starts_with(key)),
        // Schemes and fields.
        fault("auth.bearer-header.another-field-beside", "X-Api-Key is accepted, even beside an unknown token.")
            .admits(|request, key| {
                request.token().is_some_and(|token| token != key) && request.header("x-api-key") == key
            }),
        fault("auth.bearer-header.no-space", "The key directly behind the scheme is accepted.")
            .presents(any, |value, key| value.strip_prefix("Bearer") == Some(key)),
        fault("auth.bearer-header.colon-for-space", "The key behind the scheme and a colon is accepted.")
            .presents(any, |value, key| value.strip_prefix("Bearer:") == Some(key)),
        fault("auth.bearer-header.bare-basic", "The key behind the scheme Basic lists animals.")
            .presents(Request::is_list, |value, key| value.strip_prefix("Basic ") == Some(key)),
        fault("auth.bearer-header.another-scheme-for-creations", "The key under the scheme Token creates animals.")
            .presents(Request::is_create, |value, key| value.strip_prefix("Token ") == Some(key)),
        fault("auth.bearer-header.key-scheme-for-lists", "The key under the scheme ApiKey lists animals.")
            .presents(Request::is_list, |value, key| value.strip_prefix("ApiKey ") == Some(key)),
        fault("auth.bearer-header.user-for-creations", "The key as the user of Basic authentication creates animals.")
            .presents(Request::is_create, |value, key| user_of_basic(value) == Some(format!("{key}:"))),
        fault("auth.bearer-header.second-field", "The key as a user of Basic counts in a second Authorization field.")
            .admits(|request, key| {
                let encoded = BASE64_STANDARD.encode(format!("{key}:"));
                let mut fields = request.fields("authorization");
                fields.len() > 1 && fields.any(|value| value.as_bytes().ends_with(encoded.as_bytes()))
            }),
        fault("auth.bearer-header.cookie-for-orders", "The key in a cookie shows orders.")
            .admits(|request, key| request.is_orders() && request.header("cookie").contains(key)),
        fault("auth.bearer-header.bare-key-for-creations", "The key without a scheme creates animals.")
            .presents(Request::is_create, |value, key| value == key),
        // Ways around the check of the key.
        fault("auth.invalid-key.beyond-ascii-crash", "A token with a character beyond ASCII gets 500.")
            .turns([401, 500], |request| request.fields("authorization").any(|value| value.to_str().is_err())),
        fault("auth.before-all-else.label-first", "Without a key, a creation that is not labelled JSON gets 415.")
            .turns([401, 415], |request| {
                request.is_create() && !request.header("content-type").starts_with("application/json")
            }),
        fault("auth.missing-key.open-with-a-slash", "Without a key, /pets/ lists animals.").edit(|request, server| {
            if request.method == Method::GET && request.leave_out_slash() {
                give_key(request, server);
            }
        }),
        fault("auth.refused-stores-nothing.stored-with-a-slash", "A keyless creation at /pets/ is refused and stored.")
            .refuses_late(401, |request, server| {
                let is_keyless = request.method == Method::POST && server.key_of(request).is_none();
                is_keyless && request.leave_out_slash() && give_key(request, server)
            }),
        fault("auth.valid-key.cached-refusal", "The last 401 is shown to the next caller who asks for the same.")
            .cached_once(|_| true, |request, response| request.method == Method::GET && response.status == 401),
        fault("auth.before-all-else.cached-429", "A list refused with 429 is refused to every caller for ten seconds.")
            .before(|request, server| server.kept(request, 10))
            .keeps(|request, response| request.is_list() && response.status == 429),
        fault("auth.missing-key.short-cache", "Without a key, the next caller who asks for the last list gets it.")
            .cached_once(
                |request| request.authorization().is_empty(),
                |request, response| request.is_list() && response.status == 200,
            ),
    ]
}
