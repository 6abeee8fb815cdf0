//! Why an edited answer is lawful all the same.

use std::collections::HashSet;
use std::fmt;

use animal_store_rules::history::Entry;
use animal_store_rules::request::{CreateBody, Credential, Operation};
use animal_store_rules::trace::rate_limit::RateHeaders;

use serde_json::Value;

use super::answers::Edit;
use crate::tools::json_of;

/// An edit after which nothing fails.
pub(super) struct Survivor<'s> {
    pub(super) edit: &'s Edit,
    /// What was recorded.
    pub(super) recorded: &'s Entry<'s>,
    /// The names that nobody but this run sends, and no other way than as a NewPet.
    pub(super) own_names: &'s HashSet<String>,
}

/// Why a kind of edit is lawful.
pub(super) struct Reason {
    /// The reason, from the specification and from what may be demanded.
    pub(super) why: &'static str,
    /// Whether it is this one.
    pub(super) explains: fn(&Survivor<'_>) -> bool,
}

impl fmt::Display for Survivor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Edit { part, kind, .. } = self.edit;
        write!(
            f,
            "{part}, {kind}: {} {:?} {:?}",
            self.recorded.operation.name(),
            self.status(),
            self.recorded.credential
        )
    }
}

impl Survivor<'_> {
    /// Whether one of these parts was edited, in one of these ways or in any.
    fn is(&self, parts: &[&str], kinds: &[&str]) -> bool {
        parts.contains(&self.edit.part.as_str()) && (kinds.is_empty() || kinds.contains(&self.edit.kind.as_str()))
    }

    fn status(&self) -> u16 {
        self.recorded.status().unwrap_or_default()
    }

    fn is_error(&self) -> bool {
        self.status() >= 400
    }

    fn is_animal(&self) -> bool {
        self.recorded.animals().len() == 1 && !matches!(self.recorded.operation, Operation::List(_))
    }

    /// Whether the headers reported the day, of which hours are left.
    fn reports_day(&self) -> bool {
        let window = self.recorded.rate.as_ref().and_then(RateHeaders::window);
        let reported_at = self.recorded.server_time().map(jiff::Timestamp::as_second);
        window.zip(reported_at).is_some_and(|(window, now)| window.reset - now > 2 * 3_600)
    }

    /// Whether what is listed under another id may be another animal, for all that its name shows.
    fn lists_a_stranger(&self) -> bool {
        let recorded: Vec<i64> = self.recorded.animals().iter().filter_map(|animal| animal.id()).collect();
        let Some(Value::Array(listed)) = self.edit.exchange.response().and_then(json_of) else { return false };
        let is_new = |pet: &&Value| pet["id"].as_i64().is_some_and(|id| !recorded.contains(&id));
        let mut new = listed.iter().filter(is_new);
        new.all(|pet| pet["name"].as_str().is_some_and(|name| !self.own_names.contains(name)))
    }

    fn body(&self) -> Option<&CreateBody> {
        match &self.recorded.operation {
            Operation::Create(body) => Some(body),
            _ => None,
        }
    }
}

/// The three rate-limit headers.
const RATE: [&str; 3] = ["header x-ratelimit-limit", "header x-ratelimit-remaining", "header x-ratelimit-reset"];

/// Members that the specification does not know.
const EXTRA: [&str; 2] = ["body createdAt", "list createdAt"];

/// Header fields that nobody asks for.
const UNASKED: [&str; 8] = [
    "header allow",
    "header cache-control",
    "header connection",
    "header content-length",
    "header link",
    "header www-authenticate",
    "header x-content-type-options",
    "header x-request-id",
];

pub(super) const REASONS: &[Reason] = &[
    Reason {
        why: "a path or method that is not described may be answered in any way, but for an error body that is no Error",
        explains: |s| s.recorded.operation == Operation::Elsewhere,
    },
    Reason {
        why: "two Authorization fields are malformed HTTP, which an edge may refuse in any way",
        explains: |s| s.recorded.credential.is_malformed(),
    },
    Reason {
        why: "nothing but the existence of store orders is given, so any answer to a key that is not limited is right",
        explains: |s| {
            s.recorded.operation == Operation::Orders && !s.edit.part.starts_with("header x-") && s.status() != 429
        },
    },
    Reason {
        why: "header fields that the specification does not name may be there, missing, or repeated",
        explains: |s| s.is(&UNASKED, &[]),
    },
    Reason {
        why: "no announcement of the deprecation is demanded, and one made twice is the same announcement",
        explains: |s| s.is(&["header sunset"], &["dropped", "doubled"]),
    },
    Reason {
        why: "a field that stands twice with one value says one thing, which a client reads; only the rate-limit headers and Retry-After must stand once",
        explains: |s| s.is(&["header content-type", "header date"], &["doubled"]),
    },
    Reason {
        why: "RFC 8259 asks for unique names and leaves repeated ones to the reader, who gets the same value twice",
        explains: |s| {
            s.edit.kind == "doubled" && (s.edit.part.starts_with("body ") || s.edit.part.starts_with("list "))
        },
    },
    Reason { why: "further members may hold anything", explains: |s| s.is(&EXTRA, &[]) },
    Reason {
        why: "the values of code and message are not shown: any string is one",
        explains: |s| {
            s.is_error() && s.is(&["body code", "body message"], &["emptied", "in capitals", "with a letter more"])
        },
    },
    Reason {
        why: "clocks are reported to the second, and a Date may be a second older or younger than the rest",
        explains: |s| s.is(&["header date"], &["a second later", "a second earlier"]),
    },
    Reason {
        why: "RFC 9110 lets a server without a clock leave Date out; a Date that cannot be read says no more than none",
        explains: |s| s.is(&["header date"], &["dropped", "emptied", "retyped"]),
    },
    Reason {
        why: "no clock has to be right, and a day that ends in some hours ends later than an answer with a Date of an hour on",
        explains: |s| s.reports_day() && s.is(&["header date"], &["an hour later"]),
    },
    Reason {
        why: "Reset may be rounded up or down",
        explains: |s| s.is(&["header x-ratelimit-reset"], &["one more", "one less"]),
    },
    Reason {
        why: "a caller without a key has no plan: any Limit will do, and any Remaining within it",
        explains: |s| {
            s.recorded.credential.is_invalid() && s.is(&RATE[..2], &["one more", "one less", "a thousandfold"])
        },
    },
    Reason {
        why: "other traffic may consume some of what remains, and a refused request none",
        explains: |s| s.is(&["header x-ratelimit-remaining"], &["one more", "one less"]),
    },
    Reason {
        why: "a 429 that repeats another may indicate a ban, whose policy, status and end are open",
        explains: |s| {
            s.status() == 429
                && (s.is(&["header x-ratelimit-reset", "header date"], &[]) || s.is(&["status"], &["401", "403"]))
        },
    },
    Reason {
        why: "Retry-After may be rounded, and may report the day's end where the day is exhausted as well",
        explains: |s| s.is(&["header retry-after"], &["one more", "one less", "a thousandfold"]),
    },
    Reason {
        why: "the body of a 429 is not shown and may be empty",
        explains: |s| s.status() == 429 && (s.is(&["body"], &["emptied"]) || s.is(&["header content-type"], &[])),
    },
    Reason {
        why: "of errors that the tables do not list only the body is judged, and only where there is one",
        explains: |s| {
            s.is_error()
                && !matches!(s.status(), 400 | 401 | 404 | 429)
                && (s.is(&["body"], &["emptied"]) || s.is(&["header content-type"], &[]))
        },
    },
    Reason {
        why: "a key under `bearer` may be taken or refused; its window is reported, but not that of the described form",
        explains: |s| s.recorded.credential == Credential::Ambiguous,
    },
    Reason {
        why: "what becomes of JSON under another label is left open, and so is the animal that is made of it",
        explains: |s| s.body() == Some(&CreateBody::OtherMedia),
    },
    Reason {
        why: "no status was sent: it may stay absent or take one of the three values",
        explains: |s| {
            let sent = s.body().and_then(CreateBody::draft).and_then(|draft| draft.status.as_ref());
            s.is(&["body status"], &["dropped"]) && s.status() == 201 && sent.is_none()
        },
    },
    Reason {
        why: "a list may lack what was created less than five seconds ago, or has a limit that is ambiguous",
        explains: |s| s.is(&["list"], &["one dropped"]),
    },
];

/// The reasons that only answers need which are edited where all of them are.
pub(super) const RARE: &[Reason] = &[
    Reason {
        why: "the service assigns any id, and reads may lag: nothing that was read later shows that it is another",
        explains: |s| {
            let another = ["one more", "one less", "negative"];
            s.is(&["body id"], &another) && s.is_animal() && s.status() == 201
        },
    },
    Reason {
        why: "a full list may show what somebody else created, or was made of JSON under another label, whatever its id",
        explains: |s| s.is(&["list id"], &["one more", "one less", "negative"]) && s.lists_a_stranger(),
    },
];
