//! Credentials that one operation alone takes for the key, and ways around the guarded one.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Method;

use super::{Fault, fault};
use crate::{Request, Response};

pub(super) fn faults() -> Vec<Fault> {
    [tokens(), schemes(), doors()].into_iter().flatten().collect()
}

/// A fault that admits requests with something that it mistakes for the key.
fn admitting(
    short: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    admits: impl Fn(&Request, &str) -> bool + Send + Sync + 'static,
) -> Fault {
    fault(short, does, targets, like).edit(move |request, server| {
        if let Some(key) = server.keys().into_iter().find(|key| admits(request, key)) {
            request.headers.remove("authorization");
            request.authorize(&key);
        }
    })
}

fn tokens() -> Vec<Fault> {
    const INVALID: &[&str] = &["auth.invalid-key"];
    const EXACT: &[&str] = &["auth.exact-key"];
    vec![
        admitting(
            "null-for-orders",
            "Orders are shown to the token null.",
            INVALID,
            "a default user for clients without a token",
            |request, _| request.is_orders() && request.token() == Some("null"),
        ),
        admitting(
            "scheme-alone-for-orders",
            "Orders are shown to the scheme without a token.",
            INVALID,
            "an empty token that is taken for the key of the public page",
            |request, _| request.is_orders() && request.authorization().trim() == "Bearer",
        ),
        admitting(
            "empty-field-for-lists",
            "Lists are shown to an Authorization field without a value.",
            INVALID,
            "a field that is looked for, and not looked into",
            |request, _| {
                let field = request.headers.get("authorization");
                request.is_list() && field.is_some_and(|value| value.is_empty())
            },
        ),
        admitting(
            "undefined-for-fetches",
            "Animals can be fetched with the token undefined.",
            INVALID,
            "a test client's token that stayed",
            |request, _| request.is_get() && request.token() == Some("undefined"),
        ),
        admitting(
            "padded-for-lists",
            "The key with equals signs behind it lists animals.",
            EXACT,
            "a key that is decoded as base64 before it is compared",
            |request, key| request.is_list() && request.token().is_some_and(|token| token.trim_end_matches('=') == key),
        ),
        admitting(
            "quoted-for-fetches",
            "The key in quotation marks fetches animals.",
            EXACT,
            "a parser of parameters that takes off the quotes",
            |request, key| request.is_get() && request.token().is_some_and(|token| token.trim_matches('"') == key),
        ),
        admitting(
            "tail-for-orders",
            "The key without its first letter shows orders.",
            EXACT,
            "a comparison from the second letter on",
            |request, key| {
                request.is_orders()
                    && request.token().is_some_and(|token| !token.is_empty() && key.get(1..) == Some(token))
            },
        ),
        admitting(
            "another-end-for-creations",
            "A key that differs in its last letter creates animals.",
            EXACT,
            "a column that is one character too narrow",
            |request, key| {
                let but_last = |text: &str| text.get(..text.len().saturating_sub(1)).map(str::to_owned);
                let alike = |token: &str| token.len() == key.len() && but_last(token) == but_last(key);
                request.is_create() && request.token().is_some_and(alike)
            },
        ),
        admitting(
            "any-case-for-creations",
            "The key in any case creates animals.",
            EXACT,
            "a route with a collation of its own",
            |request, key| request.is_create() && request.token().is_some_and(|token| token.eq_ignore_ascii_case(key)),
        ),
        admitting(
            "another-word-for-orders",
            "The key with another word behind it shows orders.",
            EXACT,
            "a split at the first two spaces",
            |request, key| {
                request.is_orders() && request.token().is_some_and(|token| token.split(' ').next() == Some(key))
            },
        ),
        admitting(
            "lower-case-keys",
            "The key in lower case is accepted.",
            EXACT,
            "keys that are folded to lower case where they are compared",
            |request, key| request.token().is_some_and(|token| token == key.to_ascii_lowercase()),
        ),
        admitting(
            "upper-case-keys",
            "The key in upper case is accepted.",
            EXACT,
            "a database whose comparisons fold letters to upper case",
            |request, key| request.token().is_some_and(|token| token == key.to_ascii_uppercase()),
        ),
        admitting(
            "twice-the-key",
            "The key written twice is accepted.",
            EXACT,
            "two header fields that a proxy joined, cut in half again",
            |request, key| request.token() == Some(&key.repeat(2)),
        ),
        admitting(
            "up-to-a-colon",
            "What follows a colon behind the key is ignored.",
            EXACT,
            "a credential that is read as a user and a password",
            |request, key| request.token().and_then(|token| token.split_once(':')).is_some_and(|(user, _)| user == key),
        ),
        admitting(
            "up-to-a-comma",
            "What follows a comma behind the key is ignored for lists.",
            EXACT,
            "a field that is read as a list of values",
            |request, key| {
                let first = request.token().and_then(|token| token.split_once(','));
                request.is_list() && first.is_some_and(|(first, _)| first == key)
            },
        ),
        admitting(
            "up-to-a-fragment",
            "What follows a number sign behind the key is ignored.",
            EXACT,
            "a token that is read as part of a URL",
            |request, key| {
                request.token().and_then(|token| token.split_once('#')).is_some_and(|(before, _)| before == key)
            },
        ),
        admitting(
            "scheme-twice",
            "The key behind the scheme written twice is accepted.",
            EXACT,
            "a client library that adds a scheme to a value that has one, and a server that takes off both",
            |request, key| request.token() == Some(&format!("Bearer {key}")),
        ),
        admitting(
            "wildcard",
            "A wildcard is accepted as a key.",
            INVALID,
            "a pattern match where equality was meant",
            |request, key| request.token() == Some("%") && !key.is_empty(),
        ),
        admitting(
            "suffix-for-fetches",
            "Anything that begins with the key fetches animals.",
            EXACT,
            "a route that compares as far as the key goes",
            |request, key| request.is_get() && request.token().is_some_and(|token| token.starts_with(key)),
        ),
    ]
}

fn schemes() -> Vec<Fault> {
    const HEADER: &[&str] = &["auth.bearer-header"];
    vec![
        admitting(
            "no-space",
            "The key directly behind the scheme is accepted.",
            HEADER,
            "a prefix that is cut off without the space",
            |request, key| request.authorization().strip_prefix("Bearer") == Some(key),
        ),
        admitting(
            "colon-for-space",
            "The key behind the scheme and a colon is accepted.",
            HEADER,
            "a pattern that lets anything but a letter stand between the scheme and the key",
            |request, key| request.authorization().strip_prefix("Bearer:") == Some(key),
        ),
        admitting(
            "bare-basic",
            "The key behind the scheme Basic lists animals.",
            HEADER,
            "whatever comes after the scheme",
            |request, key| request.is_list() && request.authorization() == format!("Basic {key}"),
        ),
        admitting(
            "another-scheme-for-creations",
            "The key under the scheme Token creates animals.",
            HEADER,
            "a route that takes the second word, whatever the first one is",
            |request, key| request.is_create() && request.authorization() == format!("Token {key}"),
        ),
        admitting(
            "key-scheme-for-lists",
            "The key under the scheme ApiKey lists animals.",
            HEADER,
            "a second way to send the key, from an earlier version",
            |request, key| request.is_list() && request.authorization() == format!("ApiKey {key}"),
        ),
        admitting(
            "user-for-creations",
            "The key as the user of Basic authentication creates animals.",
            HEADER,
            "the key as a user's name, for forms",
            |request, key| {
                let user = format!("Basic {}", BASE64_STANDARD.encode(format!("{key}:")));
                request.is_create() && request.authorization() == user
            },
        ),
        admitting(
            "second-field",
            "The key as the user of Basic authentication counts in a second Authorization field.",
            HEADER,
            "a search for the key in all fields that there are",
            |request, key| {
                let encoded = BASE64_STANDARD.encode(format!("{key}:"));
                let fields: Vec<_> = request.headers.get_all("authorization").iter().collect();
                fields.len() > 1 && fields.iter().any(|value| value.as_bytes().ends_with(encoded.as_bytes()))
            },
        ),
        admitting(
            "cookie-for-orders",
            "The key in a cookie shows orders.",
            HEADER,
            "a page for the shop's own staff",
            |request, key| request.is_orders() && request.header("cookie").contains(key),
        ),
        admitting(
            "bare-key-for-creations",
            "The key without a scheme creates animals.",
            HEADER,
            "a script that was served by its own route",
            |request, key| request.is_create() && request.authorization() == key,
        ),
    ]
}

fn doors() -> Vec<Fault> {
    vec![
        fault(
            "label-first",
            "Without a key, a creation that is not labelled JSON is answered with 415.",
            &["auth.before-all-else"],
            "a check of the media type in front of the rest",
        )
        .after(|request, response, _| {
            let is_json = request.header("content-type").starts_with("application/json");
            if request.is_create() && response.status == 401 && !is_json {
                response.refuse(415);
            }
        }),
        fault(
            "open-with-a-slash",
            "Without a key, /pets/ lists the animals.",
            &["auth.missing-key"],
            "a rule for the path that another router does not share",
        )
        .edit(|request, server| {
            if request.path == "/pets/" && request.method == Method::GET {
                "/pets".clone_into(&mut request.path);
                if let Some(key) = server.keys().first() {
                    request.authorize(key);
                }
            }
        }),
        fault(
            "stored-with-a-slash",
            "Without a key, a creation at /pets/ is refused and stores the animal.",
            &["auth.refused-stores-nothing"],
            "a handler that runs before the check of the key, for the path with a slash alone",
        )
        .edit(|request, server| {
            if request.path == "/pets/" && request.method == Method::POST && server.key_of(request).is_none() {
                "/pets".clone_into(&mut request.path);
                request.headers.insert("x-checked-late", 1.into());
                if let Some(key) = server.keys().first() {
                    request.authorize(key);
                }
            }
        })
        .after_inner(|request, response| {
            if request.headers.contains_key("x-checked-late") {
                response.refuse(401);
            }
        }),
        fault(
            "cached-refusal",
            "The last 401 is shown to the next caller who asks for the same.",
            &["auth.valid-key"],
            "a cache for the next moment, which keeps refusals too and knows nothing of keys",
        )
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
        fault(
            "cached-429",
            "A list that was refused with 429 is refused so to every caller for ten seconds.",
            &["auth.before-all-else"],
            "a cache that keeps a refusal by its URL for as long as Retry-After says",
        )
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
        fault(
            "short-cache",
            "Without a key, the last list is shown to the next caller who asks for the same.",
            &["auth.missing-key"],
            "a cache for the next moment, which knows nothing of keys",
        )
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
