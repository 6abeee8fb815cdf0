//! The generated requests: valid bodies, defective numbers and cut bodies, lists, ids and keys. What can be listed is a near miss.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::probes::session::Session;
use crate::probes::steps::{creation, fetch, list, query_of};
use animal_store_rules::near_misses::with_another_character;
use animal_store_rules::trace::exchange::Request;
use animal_store_secrets::LEAST_DISTINCT;

/// The placeholder for a new plain name.
const NAME: &str = "@NAME@";

/// The placeholder for the category of the options.
const CATEGORY: &str = "@CATEGORY@";

/// A generated request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Case {
    /// `POST /pets` with this body, in which [`NAME`] and [`CATEGORY`] are filled in.
    Create(String),
    /// `GET /pets` with this query.
    List(String),
    /// `GET /pets/{petId}` with this path value.
    Get(String),
    /// A request without a valid key: the number of the operation, and the change of the key.
    Keyless(usize, Mutation),
}

/// A change of a valid key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mutation {
    /// The key is omitted.
    Absent,
    /// The key is replaced by another token.
    Other(String),
    /// This text is appended to the key.
    Suffix(&'static str),
    /// This text is put before the key.
    Prefix(&'static str),
    /// The key is shortened to this percentage of its length.
    Cut(usize),
    /// The character at this percentage of its length is changed.
    Changed(usize),
    /// The key is sent under another scheme, or under none.
    Scheme(&'static str),
}

impl Case {
    /// Returns true if a server, even a broken one, could create an animal for the request.
    pub(super) fn creates(&self) -> bool {
        matches!(self, Case::Create(_) | Case::Keyless(3 | 4, _))
    }

    /// The request, and whether it is sent with a valid key.
    pub(super) fn request(&self, session: &mut Session<'_>) -> (Request, bool) {
        match self {
            Case::Create(template) => (creation(session, template), true),
            Case::List(query) => (list(query), true),
            Case::Get(id) => (fetch(id), true),
            Case::Keyless(operation, mutation) => {
                let request = match operation {
                    0 => list(""),
                    1 => Request::new("GET", "/store/orders"),
                    2 => fetch(1),
                    3 => creation(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#),
                    4 => creation(session, r#"{"name":"@NAME@"}"#),
                    _ => list("limit=0"),
                };
                (mutation.apply(request, session.key().reveal()), false)
            }
        }
    }
}

impl Mutation {
    fn apply(&self, request: Request, key: &str) -> Request {
        // A key is ASCII.
        let index = |percent: usize| (key.len() - 1) * percent.min(100) / 100;
        let token = match self {
            Mutation::Absent => return request,
            Mutation::Other(token) => token.clone(),
            Mutation::Suffix(suffix) => format!("{key}{suffix}"),
            Mutation::Prefix(prefix) => format!("{prefix}{key}"),
            // A shorter token may be a part of any text by chance, in which it would then be hidden.
            Mutation::Cut(percent) => key[..index(*percent).max(LEAST_DISTINCT).min(key.len() - 1)].to_owned(),
            Mutation::Changed(percent) => with_another_character(key, index(*percent)),
            Mutation::Scheme("") => return request.authorization(key),
            Mutation::Scheme(scheme) => return request.authorization(format!("{scheme} {key}")),
        };
        request.authorization(format!("Bearer {token}"))
    }
}

/// Any request of the property probe.
pub(super) fn any_case() -> BoxedStrategy<Case> {
    prop_oneof![
        5 => valid_body().prop_map(Case::Create),
        4 => defective_body().prop_map(Case::Create),
        2 => query().prop_map(Case::List),
        2 => pet_id().prop_map(Case::Get),
        2 => (0_usize..6, mutation()).prop_map(|(operation, mutation)| Case::Keyless(operation, mutation)),
    ]
    .boxed()
}

/// A body with these members, each as JSON text.
fn body(members: &[(&str, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn valid_body() -> impl Strategy<Value = String> {
    let status = proptest::option::of(select(vec!["available", "pending", "sold"]));
    (name(), category(), status, any::<bool>()).prop_map(|(name, category, status, reversed)| {
        let mut members = vec![("name", name), ("categoryId", category)];
        members.extend(status.map(|status| ("status", quoted(status))));
        if reversed {
            members.reverse();
        }
        body(&members)
    })
}

/// A name as JSON text: mostly plain, else with characters from every plane, or long, or blank.
fn name() -> impl Strategy<Value = String> {
    let unusual =
        vec(prop_oneof![any::<char>(), select(vec!['é', '\u{301}', '🐢', '\u{200d}', '"', '\\', ' '])], 1..12);
    prop_oneof![
        6 => Just(quoted(NAME)),
        3 => unusual.prop_map(|letters| quoted(&format!("{NAME} {}", String::from_iter(letters)))),
        1 => (1_usize..300).prop_map(|length| quoted(&format!("{NAME} {}", "a".repeat(length)))),
        1 => select(vec!["", " ", "\t", "\u{0}", "\u{2028}"]).prop_map(quoted),
    ]
}

/// A category as JSON text: mostly that of the options, else any int64.
fn category() -> impl Strategy<Value = String> {
    let edges = select(vec![i64::MIN, i64::MIN + 1, -1, 0, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX - 1, i64::MAX]);
    prop_oneof![
        6 => Just(CATEGORY.to_owned()),
        2 => edges.prop_map(|category| category.to_string()),
        1 => any::<i64>().prop_map(|category| category.to_string()),
    ]
}

/// A body with one defect: cut, or with a number that is no int64. Defects that can be listed are near misses.
fn defective_body() -> impl Strategy<Value = String> {
    let with_category = |category: String| body(&[("name", quoted(NAME)), ("categoryId", category)]);
    let plain = with_category(CATEGORY.to_owned());
    let cut = (1_usize..20).prop_map(move |bytes| plain[..plain.len() - bytes].to_owned());
    let number = prop_oneof![
        (any::<i32>(), 1_u32..1_000).prop_map(|(whole, part)| format!("{whole}.{part:03}1")),
        any::<u64>().prop_filter("beyond int64", |n| i64::try_from(*n).is_err()).prop_map(|n| n.to_string()),
    ];
    prop_oneof![1 => cut, 3 => number.prop_map(with_category)]
}

/// Query strings of lists: valid, boundary and invalid ones.
fn query() -> impl Strategy<Value = String> {
    let limit = prop_oneof![
        4 => (1_u32..=100).prop_map(|limit| limit.to_string()),
        1 => any::<i64>().prop_map(|limit| limit.to_string()),
    ];
    let status = select(vec!["available", "pending", "sold"]);
    (proptest::option::of(limit), proptest::option::of(status)).prop_map(|(limit, status)| query_of(limit, status))
}

/// Path values: ids that do not exist, and values that are not ids.
fn pet_id() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => (i64::MAX / 2..=i64::MAX).prop_map(|id| id.to_string()),
        1 => (i64::MIN..i64::MIN / 2).prop_map(|id| id.to_string()),
        1 => "[a-z]{1,12}",
    ]
}

/// The strategy for the change of a key.
fn mutation() -> impl Strategy<Value = Mutation> {
    let token = vec(select("abcXYZ019-._~+/=".chars().collect::<Vec<_>>()), 1..40).prop_map(String::from_iter);
    prop_oneof![
        Just(Mutation::Absent),
        token.prop_map(|token| Mutation::Other(format!("conform-unknown-{token}"))),
        select(vec!["x", "0", "=", "."]).prop_map(Mutation::Suffix),
        select(vec!["x", "0", "Bearer", "."]).prop_map(Mutation::Prefix),
        (1_usize..=100).prop_map(Mutation::Cut),
        (0_usize..=100).prop_map(Mutation::Changed),
        select(vec!["", "Basic", "Token", "Digest", "ApiKey"]).prop_map(Mutation::Scheme),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mutation_leaves_the_key_valid() {
        let key = "sk-Key1";
        for mutation in [
            Mutation::Absent,
            Mutation::Cut(0),
            Mutation::Cut(100),
            Mutation::Changed(0),
            Mutation::Changed(100),
            Mutation::Suffix("x"),
            Mutation::Prefix("x"),
            Mutation::Scheme(""),
            Mutation::Scheme("Basic"),
        ] {
            let request = mutation.apply(Request::new("GET", "/pets"), key);
            assert_ne!(request.authorization.as_deref(), Some("Bearer sk-Key1"), "{mutation:?}");
        }
    }
}
