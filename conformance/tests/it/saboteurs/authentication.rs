//! Authentication.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::create::{keep, show_kept};
use super::{Saboteur, saboteur};
use crate::layers::{Answer, Ask};

pub(super) fn saboteurs() -> Vec<Saboteur> {
    [valid(), missing(), inexact(), elsewhere(), order()].into_iter().flatten().collect()
}

/// A saboteur that lets requests in for what it takes for the key.
fn admitting(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    admits: impl Fn(&Ask, &str) -> bool + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).edit(move |ask, stage| {
        if admits(ask, &stage.key) {
            ask.authorize(&stage.key);
        }
    })
}

/// A saboteur that answers some 401 in another way.
fn refusing(
    name: &'static str,
    targets: &'static [&'static str],
    like: &'static str,
    change: impl Fn(&Ask, &mut Answer) + Send + Sync + 'static,
) -> Saboteur {
    saboteur(name, targets, like).after(move |ask, answer, _| {
        if answer.status == 401 {
            change(ask, answer);
        }
    })
}

fn valid() -> Vec<Saboteur> {
    vec![
        saboteur("no-scope-for-orders", &["auth.valid-key"], "a key without the scope for one operation").after(
            |ask, answer, _| {
                if ask.is_orders() && answer.status == 200 {
                    answer.refuse(401);
                }
            },
        ),
        saboteur(
            "old-header-on-fetches",
            &["auth.valid-key"],
            "one route that still looks for the key where it was before",
        )
        .after(|ask, answer, _| {
            if ask.is_get() && answer.status == 200 {
                answer.refuse(401);
            }
        }),
    ]
}

fn missing() -> Vec<Saboteur> {
    vec![
        refusing("forbids", &["auth.missing-key", "auth.invalid-key"], "403 for whoever is not known", |_, answer| {
            answer.refuse(403);
        }),
        admitting("anonymous-reads", &["auth.missing-key"], "reads that are open to everybody", |ask, _| {
            ask.authorization().is_empty() && (ask.is_list() || ask.is_get())
        }),
        admitting(
            "open-orders",
            &["auth.missing-key"],
            "a route that was added beside the protected ones",
            |ask, _| ask.authorization().is_empty() && ask.is_orders(),
        ),
        refusing(
            "header-required",
            &["auth.missing-key"],
            "a required header that is validated like a parameter",
            |ask, answer| {
                if ask.authorization().is_empty() {
                    answer.refuse(400);
                }
            },
        ),
        refusing("to-the-login", &["auth.missing-key"], "a redirect to a page for logging in", |ask, answer| {
            if ask.authorization().is_empty() {
                answer.status = 302;
                answer.set("location", "/login");
            }
        }),
        admitting("any-key", &["auth.invalid-key"], "a check that there is a key", |ask, _| {
            ask.token().is_some_and(|token| !token.is_empty())
        }),
        refusing("token-crash", &["auth.invalid-key"], "a token that cannot be decoded", |ask, answer| {
            if ask.token().is_some() {
                answer.refuse(500);
            }
        }),
        refusing("unknown-key-404", &["auth.invalid-key"], "a lookup of the key whose miss is a 404", |ask, answer| {
            if ask.token().is_some() {
                answer.refuse(404);
            }
        }),
    ]
}

fn inexact() -> Vec<Saboteur> {
    vec![
        admitting("prefixes", &["auth.exact-key"], "a comparison that ends with the shorter text", |ask, key| {
            ask.token().is_some_and(|token| token.len() > 8 && key.starts_with(token))
        }),
        admitting("prefixes-on-fetches", &["auth.exact-key"], "a route with a comparison of its own", |ask, key| {
            ask.is_get() && ask.token().is_some_and(|token| token.len() > 8 && key.starts_with(token))
        }),
        admitting(
            "narrow-column",
            &["auth.exact-key"],
            "a key in a column that is too narrow for its last character",
            |ask, key| {
                ask.token()
                    .is_some_and(|token| token.len() == key.len() && token[1..token.len() - 1] == key[1..key.len() - 1])
            },
        ),
        admitting(
            "suffixes",
            &["auth.exact-key"],
            "a hash that looks at so many characters and no more",
            |ask, key| ask.token().is_some_and(|token| token.starts_with(key)),
        ),
        admitting("another-word", &["auth.exact-key"], "the second word, whatever comes after it", |ask, key| {
            let mut words = ask.authorization().split(' ');
            words.next() == Some("Bearer") && words.next() == Some(key)
        }),
        admitting("any-case-keys", &["auth.exact-key"], "a collation that does not tell cases apart", |ask, key| {
            ask.token().is_some_and(|token| token.eq_ignore_ascii_case(key))
        }),
    ]
}

fn elsewhere() -> Vec<Saboteur> {
    vec![
        admitting("key-in-query", &["auth.bearer-header"], "a parameter for links in a browser", |ask, key| {
            ask.parameter("api_key") == Some(key) || ask.parameter("access_token") == Some(key)
        })
        .edit(|ask, _| {
            ask.query = ask
                .query
                .split('&')
                .filter(|p| !p.contains("key") && !p.contains("token") && !p.contains("auth"))
                .collect::<Vec<_>>()
                .join("&");
        }),
        admitting("key-in-header", &["auth.bearer-header"], "the header that keys came in before", |ask, key| {
            ask.header("x-api-key") == key
        }),
        admitting("bare-key", &["auth.bearer-header"], "a scheme that is cut off if it is there", |ask, key| {
            ask.authorization() == key
        }),
        admitting("bare-key-for-orders", &["auth.bearer-header"], "a route with a parser of its own", |ask, key| {
            ask.is_orders() && ask.authorization() == key
        }),
        admitting("any-scheme", &["auth.bearer-header"], "the second word, whatever the first one is", |ask, key| {
            ask.authorization().split(' ').nth(1) == Some(key)
        }),
        admitting("basic", &["auth.bearer-header"], "the key as a user's name, for the command line", |ask, key| {
            let decoded = ask.authorization().strip_prefix("Basic ").and_then(|text| BASE64_STANDARD.decode(text).ok());
            decoded.is_some_and(|bytes| bytes.starts_with(key.as_bytes()))
        }),
        admitting("key-in-cookie", &["auth.bearer-header"], "a session that lasts in the browser", |ask, key| {
            ask.header("cookie").contains(key)
        }),
    ]
}

fn order() -> Vec<Saboteur> {
    vec![
        refusing(
            "body-first",
            &["auth.before-all-else"],
            "a body that is read before anybody asks for the key",
            |ask, answer| {
                let complete =
                    ask.object().is_some_and(|pet| pet.contains_key("name") && pet.contains_key("categoryId"));
                if ask.is_create() && !complete {
                    answer.refuse(400);
                }
            },
        ),
        refusing(
            "no-body-first",
            &["auth.before-all-else"],
            "a body that has to be there before anything else",
            |ask, answer| {
                if ask.is_create() && ask.body.is_empty() {
                    answer.refuse(400);
                }
            },
        ),
        refusing(
            "parameters-first",
            &["auth.before-all-else"],
            "parameters that are bound before the handler runs",
            |ask, answer| {
                if ask.is_list() && ask.parameter("limit") == Some("0") {
                    answer.refuse(400);
                }
            },
        ),
        refusing(
            "route-first",
            &["auth.before-all-else"],
            "a route that takes digits only, and else does not match",
            |ask, answer| {
                if ask.is_get() && ask.id().is_none() {
                    answer.refuse(404);
                }
            },
        ),
        saboteur(
            "stored-then-refused",
            &["auth.refused-stores-nothing"],
            "a handler that runs beside the check of its key",
        )
        .after(|ask, answer, stage| {
            if ask.is_create() && answer.status == 401 {
                keep(ask, stage);
            }
            show_kept(ask, answer, stage);
        }),
        saboteur(
            "unknown-key-stores",
            &["auth.refused-stores-nothing"],
            "a key that is checked when the answer is written",
        )
        .after(|ask, answer, stage| {
            if ask.is_create() && answer.status == 401 && ask.token().is_some() {
                keep(ask, stage);
            }
            show_kept(ask, answer, stage);
        }),
    ]
}
