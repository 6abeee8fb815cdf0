//! Credentials that one operation alone takes for the key, and ways around the guarded one.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;

use super::{Fault, fault};
use crate::{Request, Response};

pub(super) fn faults() -> Vec<Fault> {
    [tokens(), schemes(), doors()].into_iter().flatten().collect()
}

fn tokens() -> Vec<Fault> {
    const INVALID: &[&str] = &["auth.invalid-key"];
    const EXACT: &[&str] = &["auth.exact-key"];
    vec![
        fault("null-for-orders", INVALID)
            .does("Orders are shown to the token null.")
            .like("a default user for clients without a token")
            .admits(|request, _| request.is_orders() && request.token() == Some("null")),
        fault("scheme-alone-for-orders", INVALID)
            .does("Orders are shown to the scheme without a token.")
            .like("an empty token that is taken for the key of the public page")
            .admits(|request, _| request.is_orders() && request.authorization().trim() == "Bearer"),
        fault("empty-field-for-lists", INVALID)
            .does("Lists are shown to an Authorization field without a value.")
            .like("a field that is looked for, and not looked into")
            .admits(|request, _| {
                let field = request.headers.get("authorization");
                request.is_list() && field.is_some_and(|value| value.is_empty())
            }),
        fault("undefined-for-fetches", INVALID)
            .does("Animals can be fetched with the token undefined.")
            .like("a test client's token that stayed")
            .admits(|request, _| request.is_get() && request.token() == Some("undefined")),
        fault("padded-for-lists", EXACT)
            .does("The key with equals signs behind it lists animals.")
            .like("a key that is decoded as base64 before it is compared")
            .mistakes(Request::is_list, |token, key| token.trim_end_matches('=') == key),
        fault("quoted-for-fetches", EXACT)
            .does("The key in quotation marks fetches animals.")
            .like("a parser of parameters that takes off the quotes")
            .mistakes(Request::is_get, |token, key| token.trim_matches('"') == key),
        fault("tail-for-orders", EXACT)
            .does("The key without its first letter shows orders.")
            .like("a comparison from the second letter on")
            .mistakes(Request::is_orders, |token, key| !token.is_empty() && key.get(1..) == Some(token)),
        fault("another-end-for-creations", EXACT)
            .does("A key that differs in its last letter creates animals.")
            .like("a column that is one character too narrow")
            .admits(|request, key| {
                let but_last = |text: &str| text.get(..text.len().saturating_sub(1)).map(str::to_owned);
                let alike = |token: &str| token.len() == key.len() && but_last(token) == but_last(key);
                request.is_create() && request.token().is_some_and(alike)
            }),
        fault("any-case-for-creations", EXACT)
            .does("The key in any case creates animals.")
            .like("a route with a collation of its own")
            .mistakes(Request::is_create, |token, key| token.eq_ignore_ascii_case(key)),
        fault("another-word-for-orders", EXACT)
            .does("The key with another word behind it shows orders.")
            .like("a split at the first two spaces")
            .mistakes(Request::is_orders, |token, key| token.split(' ').next() == Some(key)),
        fault("lower-case-keys", EXACT)
            .does("The key in lower case is accepted.")
            .like("keys that are folded to lower case where they are compared")
            .mistakes(|_| true, |token, key| token == key.to_ascii_lowercase()),
        fault("upper-case-keys", EXACT)
            .does("The key in upper case is accepted.")
            .like("a database whose comparisons fold letters to upper case")
            .mistakes(|_| true, |token, key| token == key.to_ascii_uppercase()),
        fault("twice-the-key", EXACT)
            .does("The key written twice is accepted.")
            .like("two header fields that a proxy joined, cut in half again")
            .admits(|request, key| request.token() == Some(&key.repeat(2))),
        fault("up-to-a-colon", EXACT)
            .does("What follows a colon behind the key is ignored.")
            .like("a credential that is read as a user and a password")
            .admits(|request, key| {
                request.token().and_then(|token| token.split_once(':')).is_some_and(|(user, _)| user == key)
            }),
        fault("up-to-a-comma", EXACT)
            .does("What follows a comma behind the key is ignored for lists.")
            .like("a field that is read as a list of values")
            .admits(|request, key| {
                let first = request.token().and_then(|token| token.split_once(','));
                request.is_list() && first.is_some_and(|(first, _)| first == key)
            }),
        fault("up-to-a-fragment", EXACT)
            .does("What follows a number sign behind the key is ignored.")
            .like("a token that is read as part of a URL")
            .admits(|request, key| {
                request.token().and_then(|token| token.split_once('#')).is_some_and(|(before, _)| before == key)
            }),
        fault("scheme-twice", EXACT)
            .does("The key behind the scheme written twice is accepted.")
            .like("a client library that adds a scheme to a value that has one, and a server that takes off both")
            .admits(|request, key| request.token() == Some(&format!("Bearer {key}"))),
        fault("wildcard", INVALID)
            .does("A wildcard is accepted as a key.")
            .like("a pattern match where equality was meant")
            .admits(|request, key| request.token() == Some("%") && !key.is_empty()),
        fault("suffix-for-fetches", EXACT)
            .does("Anything that begins with the key fetches animals.")
            .like("a route that compares as far as the key goes")
            .mistakes(Request::is_get, |token, key| token.starts_with(key)),
    ]
}

fn schemes() -> Vec<Fault> {
    const HEADER: &[&str] = &["auth.bearer-header"];
    vec![
        fault("another-field-beside", HEADER)
            .does("The key is accepted in X-Api-Key, also beside an unknown token.")
            .like("two ways to authenticate, either of them enough")
            .admits(|request, key| {
                let is_unknown = request.token().is_some_and(|token| token != key);
                is_unknown && request.header("x-api-key") == key
            }),
        fault("no-space", HEADER)
            .does("The key directly behind the scheme is accepted.")
            .like("a prefix that is cut off without the space")
            .admits(|request, key| request.authorization().strip_prefix("Bearer") == Some(key)),
        fault("colon-for-space", HEADER)
            .does("The key behind the scheme and a colon is accepted.")
            .like("a pattern that lets anything but a letter stand between the scheme and the key")
            .admits(|request, key| request.authorization().strip_prefix("Bearer:") == Some(key)),
        fault("bare-basic", HEADER)
            .does("The key behind the scheme Basic lists animals.")
            .like("whatever comes after the scheme")
            .admits(|request, key| request.is_list() && request.authorization() == format!("Basic {key}")),
        fault("another-scheme-for-creations", HEADER)
            .does("The key under the scheme Token creates animals.")
            .like("a route that takes the second word, whatever the first one is")
            .admits(|request, key| request.is_create() && request.authorization() == format!("Token {key}")),
        fault("key-scheme-for-lists", HEADER)
            .does("The key under the scheme ApiKey lists animals.")
            .like("a second way to send the key, from an earlier version")
            .admits(|request, key| request.is_list() && request.authorization() == format!("ApiKey {key}")),
        fault("user-for-creations", HEADER)
            .does("The key as the user of Basic authentication creates animals.")
            .like("the key as a user's name, for forms")
            .admits(|request, key| {
                let user = format!("Basic {}", BASE64_STANDARD.encode(format!("{key}:")));
                request.is_create() && request.authorization() == user
            }),
        fault("second-field", HEADER)
            .does("The key as the user of Basic authentication counts in a second Authorization field.")
            .like("a search for the key in all fields that there are")
            .admits(|request, key| {
                let encoded = BASE64_STANDARD.encode(format!("{key}:"));
                let fields: Vec<_> = request.headers.get_all("authorization").iter().collect();
                fields.len() > 1 && fields.iter().any(|value| value.as_bytes().ends_with(encoded.as_bytes()))
            }),
        fault("cookie-for-orders", HEADER)
            .does("The key in a cookie shows orders.")
            .like("a page for the shop's own staff")
            .admits(|request, key| request.is_orders() && request.header("cookie").contains(key)),
        fault("bare-key-for-creations", HEADER)
            .does("The key without a scheme creates animals.")
            .like("a script that was served by its own route")
            .admits(|request, key| request.is_create() && request.authorization() == key),
    ]
}

fn doors() -> Vec<Fault> {
    vec![
        fault("beyond-ascii-crash", &["auth.invalid-key"])
            .does("A token with a character beyond ASCII is answered with 500.")
            .like("a comparison in constant time, for ASCII only")
            .turns(401, 500, |request| {
                request.headers.get("authorization").is_some_and(|value| !value.as_bytes().is_ascii())
            }),
        fault("label-first", &["auth.before-all-else"])
            .does("Without a key, a creation that is not labelled JSON is answered with 415.")
            .like("a check of the media type in front of the rest")
            .turns(401, 415, |request| {
                request.is_create() && !request.header("content-type").starts_with("application/json")
            }),
        fault("open-with-a-slash", &["auth.missing-key"])
            .does("Without a key, /pets/ lists the animals.")
            .like("a rule for the path that another router does not share")
            .edit(|request, server| {
                if request.path == "/pets/" && request.method == Method::GET {
                    "/pets".clone_into(&mut request.path);
                    if let Some(key) = server.keys().first() {
                        request.authorize(key);
                    }
                }
            }),
        fault("stored-with-a-slash", &["auth.refused-stores-nothing"])
            .does("Without a key, a creation at /pets/ is refused and stores the animal.")
            .like("a handler that runs before the check of the key, for the path with a slash alone")
            .edit(|request, server| {
                if request.path == "/pets/" && request.method == Method::POST && server.key_of(request).is_none() {
                    "/pets".clone_into(&mut request.path);
                    request.headers.insert("x-checked-late", 1.into());
                    if let Some(key) = server.keys().first() {
                        request.authorize(key);
                    }
                }
            })
            .after(|request, response, _| {
                if request.headers.contains_key("x-checked-late") {
                    response.refuse(401);
                }
            }),
        fault("cached-refusal", &["auth.valid-key"])
            .does("The last 401 is shown to the next caller who asks for the same.")
            .like("a cache for the next moment, which keeps refusals too and knows nothing of keys")
            .before(|request, server| {
                let cached = server.memory().cache.remove("refusal")?;
                (cached.header("x-cached-for") == target(request)).then_some(cached)
            })
            .after(|request, response, server| {
                if request.method == Method::GET && response.status == 401 {
                    let mut kept: Response = response.clone();
                    kept.set("x-cached-for", target(request));
                    server.memory().cache.insert("refusal".to_owned(), kept);
                }
            }),
        fault("cached-429", &["auth.before-all-else"])
            .does("A list that was refused with 429 is refused so to every caller for ten seconds.")
            .like("a cache that keeps a refusal by its URL for as long as Retry-After says")
            .before(|request, server| {
                let now = server.now();
                let cached = server.memory().cache.get(&format!("429 {}", target(request))).cloned()?;
                (request.is_list() && cached.number_of("x-cached-at") + 10 > now).then_some(cached)
            })
            .after(|request, response, server| {
                if request.is_list() && response.status == 429 && response.header("x-cached-at").is_empty() {
                    let mut kept: Response = response.clone();
                    kept.set("x-cached-at", server.now());
                    server.memory().cache.insert(format!("429 {}", target(request)), kept);
                }
            }),
        fault("short-cache", &["auth.missing-key"])
            .does("Without a key, the last list is shown to the next caller who asks for the same.")
            .like("a cache for the next moment, which knows nothing of keys")
            .before(|request, server| {
                let cached = server.memory().cache.remove("last")?;
                let is_same = cached.header("x-cached-for") == target(request) && request.authorization().is_empty();
                is_same.then_some(cached)
            })
            .after(|request, response, server| {
                if request.is_list() && response.status == 200 {
                    let mut kept: Response = response.clone();
                    kept.set("x-cached-for", target(request));
                    server.memory().cache.insert("last".to_owned(), kept);
                }
            }),
    ]
}

/// The operation that a request asks for.
fn target(request: &Request) -> String {
    format!("{}?{}", request.path, request.query)
}
