//! Authentication.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::create::{keep, show_kept};
use super::{Fault, fault};
use crate::{Request, Response};

pub(super) fn faults() -> Vec<Fault> {
    [valid(), missing(), inexact(), elsewhere(), order()].into_iter().flatten().collect()
}

/// A fault that admits requests with something that it mistakes for the key.
fn admitting(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    admits: impl Fn(&Request, &str) -> bool + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).edit(move |request, server| {
        if let Some(key) = server.keys().into_iter().find(|key| admits(request, key)) {
            request.authorize(&key);
        }
    })
}

/// A fault that answers some 401 in another way.
fn refusing(
    name: &'static str,
    does: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&Request, &mut Response) + Send + Sync + 'static,
) -> Fault {
    fault(name, does, targets, like).after(move |request, response, _| {
        if response.status == 401 {
            change(request, response);
        }
    })
}

fn valid() -> Vec<Fault> {
    vec![
        fault(
            "no-scope-for-orders",
            "Store orders are answered with 401, whatever the key is.",
            &["auth.valid-key"],
            "a key without the scope for one operation",
        )
        .after(|request, response, _| {
            if request.is_orders() && response.status == 200 {
                response.refuse(401);
            }
        }),
        fault(
            "old-header-on-fetches",
            "Fetches are answered with 401, whatever the key is.",
            &["auth.valid-key"],
            "one route that still looks for the key where it was before",
        )
        .after(|request, response, _| {
            if request.is_get() && response.status == 200 {
                response.refuse(401);
            }
        }),
    ]
}

fn missing() -> Vec<Fault> {
    vec![
        refusing(
            "forbids",
            "A missing or invalid key is answered with 403.",
            &["auth.missing-key", "auth.invalid-key"],
            "403 for whoever is not known",
            |_, response| {
                response.refuse(403);
            },
        ),
        admitting(
            "anonymous-reads",
            "Reads need no key.",
            &["auth.missing-key"],
            "reads that are open to everybody",
            |request, _| request.authorization().is_empty() && (request.is_list() || request.is_get()),
        ),
        admitting(
            "open-orders",
            "Store orders need no key.",
            &["auth.missing-key"],
            "a route that was added beside the protected ones",
            |request, _| request.authorization().is_empty() && request.is_orders(),
        ),
        refusing(
            "header-required",
            "A missing key is answered with 400.",
            &["auth.missing-key"],
            "a required header that is validated like a parameter",
            |request, response| {
                if request.authorization().is_empty() {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "to-the-login",
            "A missing key is answered with 302.",
            &["auth.missing-key"],
            "a redirect to a page for logging in",
            |request, response| {
                if request.authorization().is_empty() {
                    response.status = 302;
                    response.set("location", "/login");
                }
            },
        ),
        admitting(
            "any-key",
            "Any token is accepted as a key.",
            &["auth.invalid-key"],
            "a check that there is a key",
            |request, _| request.token().is_some_and(|token| !token.is_empty()),
        ),
        refusing(
            "token-crash",
            "An unknown key is answered with 500.",
            &["auth.invalid-key"],
            "a token that cannot be decoded",
            |request, response| {
                if request.token().is_some() {
                    response.refuse(500);
                }
            },
        ),
        refusing(
            "unknown-key-404",
            "An unknown key is answered with 404.",
            &["auth.invalid-key"],
            "a lookup of the key whose miss is a 404",
            |request, response| {
                if request.token().is_some() {
                    response.refuse(404);
                }
            },
        ),
    ]
}

fn inexact() -> Vec<Fault> {
    vec![
        admitting(
            "prefixes",
            "The beginning of a key is accepted as the key.",
            &["auth.exact-key"],
            "a comparison that ends with the shorter text",
            |request, key| request.token().is_some_and(|token| token.len() > 8 && key.starts_with(token)),
        ),
        admitting(
            "prefixes-on-fetches",
            "For fetches, the beginning of a key is accepted as the key.",
            &["auth.exact-key"],
            "a route with a comparison of its own",
            |request, key| {
                request.is_get() && request.token().is_some_and(|token| token.len() > 8 && key.starts_with(token))
            },
        ),
        admitting(
            "narrow-column",
            "A key with another last character is accepted.",
            &["auth.exact-key"],
            "a key in a column that is too narrow for its last character",
            |request, key| {
                request.token().is_some_and(|token| {
                    token.len() == key.len() && token.get(1..token.len() - 1) == key.get(1..key.len() - 1)
                })
            },
        ),
        admitting(
            "suffixes",
            "A key with something behind it is accepted.",
            &["auth.exact-key"],
            "a hash that looks at so many characters and no more",
            |request, key| request.token().is_some_and(|token| token.starts_with(key)),
        ),
        admitting(
            "another-word",
            "A key with another word behind it is accepted.",
            &["auth.exact-key"],
            "the second word, whatever comes after it",
            |request, key| {
                let mut words = request.authorization().split(' ');
                words.next() == Some("Bearer") && words.next() == Some(key)
            },
        ),
        admitting(
            "any-case-keys",
            "A key in another case is accepted.",
            &["auth.exact-key"],
            "a collation that does not distinguish cases",
            |request, key| request.token().is_some_and(|token| token.eq_ignore_ascii_case(key)),
        ),
    ]
}

fn elsewhere() -> Vec<Fault> {
    vec![
        admitting(
            "key-in-query",
            "The key is accepted in the query.",
            &["auth.bearer-header"],
            "a parameter for links in a browser",
            |request, key| request.parameter("api_key") == Some(key) || request.parameter("access_token") == Some(key),
        )
        .edit(|request, _| {
            request.query = request
                .query
                .split('&')
                .filter(|p| !p.contains("key") && !p.contains("token") && !p.contains("auth"))
                .collect::<Vec<_>>()
                .join("&");
        }),
        admitting(
            "key-in-header",
            "The key is accepted in X-Api-Key.",
            &["auth.bearer-header"],
            "the header that keys came in before",
            |request, key| request.header("x-api-key") == key,
        ),
        admitting(
            "bare-key",
            "The key is accepted without a scheme.",
            &["auth.bearer-header"],
            "a scheme that is cut off if it is there",
            |request, key| request.authorization() == key,
        ),
        admitting(
            "bare-key-for-orders",
            "For store orders, the key is accepted without a scheme.",
            &["auth.bearer-header"],
            "a route with a parser of its own",
            |request, key| request.is_orders() && request.authorization() == key,
        ),
        admitting(
            "any-scheme",
            "The key is accepted with any scheme.",
            &["auth.bearer-header"],
            "the second word, whatever the first one is",
            |request, key| request.authorization().split(' ').nth(1) == Some(key),
        ),
        admitting(
            "basic",
            "The key is accepted as a user name of the scheme Basic.",
            &["auth.bearer-header"],
            "the key as a user's name, for the command line",
            |request, key| {
                let decoded =
                    request.authorization().strip_prefix("Basic ").and_then(|text| BASE64_STANDARD.decode(text).ok());
                decoded.is_some_and(|bytes| bytes.starts_with(key.as_bytes()))
            },
        ),
        admitting(
            "key-in-cookie",
            "The key is accepted in a cookie.",
            &["auth.bearer-header"],
            "a session that lasts in the browser",
            |request, key| request.header("cookie").contains(key),
        ),
        admitting(
            "key-in-body",
            "The key is accepted in a member of the body.",
            &["auth.bearer-header"],
            "a token that forms send with their other fields",
            |request, key| {
                request.object().is_some_and(|members| members.get("access_token").is_some_and(|token| token == key))
            },
        ),
        admitting(
            "access-token-field",
            "The key is accepted in the field X-Access-Token.",
            &["auth.bearer-header"],
            "a gateway that passes the token on in a field of its own",
            |request, key| request.header("x-access-token") == key,
        ),
    ]
}

fn order() -> Vec<Fault> {
    vec![
        refusing(
            "body-first",
            "Without a valid key, an invalid body is answered with 400.",
            &["auth.before-all-else"],
            "a body that is read before anybody asks for the key",
            |request, response| {
                let complete =
                    request.object().is_some_and(|pet| pet.contains_key("name") && pet.contains_key("categoryId"));
                if request.is_create() && !complete {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "status-first",
            "Without a valid key, a creation with an unknown status is answered with 400.",
            &["auth.before-all-else"],
            "a model that is validated before anybody asks for the key",
            |request, response| {
                let is_known = |status: &str| ["available", "pending", "sold"].contains(&status);
                let is_refused = request.object().filter(|_| request.is_create()).is_some_and(|pet| {
                    let is_complete = pet.contains_key("name") && pet.contains_key("categoryId");
                    is_complete && pet.get("status").is_some_and(|status| !status.as_str().is_some_and(is_known))
                });
                if is_refused {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "no-body-first",
            "Without a valid key, an empty body is answered with 400.",
            &["auth.before-all-else"],
            "a body that has to be there before anything else",
            |request, response| {
                if request.is_create() && request.body.is_empty() {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "parameters-first",
            "Without a valid key, a limit of 0 is answered with 400.",
            &["auth.before-all-else"],
            "parameters that are bound before the handler runs",
            |request, response| {
                if request.is_list() && request.parameter("limit") == Some("0") {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "large-limit-first",
            "Without a valid key, a limit over 100 is answered with 400.",
            &["auth.before-all-else"],
            "a bound on a parameter that is checked before the handler runs",
            |request, response| {
                if request.is_list() && request.number_of("limit").is_some_and(|limit| limit > 100) {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "category-first",
            "Without a valid key, a category that is no number is answered with 400.",
            &["auth.before-all-else"],
            "a body that is deserialised before the handler runs",
            |request, response| {
                if request.is_create()
                    && request.object().is_some_and(|pet| pet.get("categoryId").is_some_and(|id| !id.is_number()))
                {
                    response.refuse(400);
                }
            },
        ),
        refusing(
            "route-first",
            "Without a valid key, an id that is no int64 is answered with 404.",
            &["auth.before-all-else"],
            "a route that takes digits only, and else does not match",
            |request, response| {
                if request.is_get() && request.id().is_none() {
                    response.refuse(404);
                }
            },
        ),
        fault(
            "stored-then-refused",
            "A creation that is refused with 401 stores the animal.",
            &["auth.refused-stores-nothing"],
            "a handler that runs beside the check of its key",
        )
        .after(|request, response, server| {
            if request.is_create() && response.status == 401 {
                keep(request, server);
            }
            show_kept(request, response, server);
        }),
        fault(
            "unknown-key-stores",
            "A creation with an unknown key is refused and stores the animal.",
            &["auth.refused-stores-nothing"],
            "a key that is checked when the answer is written",
        )
        .after(|request, response, server| {
            if request.is_create() && response.status == 401 && request.token().is_some() {
                keep(request, server);
            }
            show_kept(request, response, server);
        }),
    ]
}
