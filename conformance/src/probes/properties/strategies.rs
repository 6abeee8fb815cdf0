//! The generated requests: valid bodies, defective numbers and cut bodies, lists, ids and keys. What can be listed is a near miss.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::case::{CATEGORY, Case, Mutation, NAME};
use crate::probes::steps::query_of;

/// Any request of the property probe.
pub(super) fn case() -> BoxedStrategy<Case> {
    prop_oneof![
        5 => valid_body().prop_map(Case::Create),
        4 => defective_body().prop_map(Case::Create),
        2 => query().prop_map(Case::List),
        2 => pet_id().prop_map(Case::Get),
        2 => (0_usize..6, mutation()).prop_map(|(operation, mutation)| Case::Keyless(operation, mutation)),
    ]
    .boxed()
}

/// The members of a body, each as JSON text.
type Members = Vec<(String, String)>;

fn write(members: &Members) -> Vec<u8> {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn valid_members() -> impl Strategy<Value = Members> {
    (name(), category(), proptest::option::of(select(vec!["available", "pending", "sold"]))).prop_map(
        |(name, category, status)| {
            let mut members = vec![("name".to_owned(), name), ("categoryId".to_owned(), category)];
            members.extend(status.map(|status| ("status".to_owned(), quoted(status))));
            members
        },
    )
}

fn valid_body() -> impl Strategy<Value = Vec<u8>> {
    (valid_members(), any::<bool>()).prop_map(|(mut members, reversed)| {
        if reversed {
            members.reverse();
        }
        write(&members)
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
fn defective_body() -> impl Strategy<Value = Vec<u8>> {
    let plain = || vec![("name".to_owned(), quoted(NAME)), ("categoryId".to_owned(), CATEGORY.to_owned())];
    let cut = (1_usize..20).prop_map(move |bytes| {
        let mut body = write(&plain());
        body.truncate(body.len() - bytes);
        body
    });
    let number = wrong_number()
        .prop_map(|number| write(&vec![("name".to_owned(), quoted(NAME)), ("categoryId".to_owned(), number)]));
    prop_oneof![1 => cut, 3 => number]
}

/// Numbers that are not int64.
fn wrong_number() -> impl Strategy<Value = String> {
    prop_oneof![
        (any::<i32>(), 1_u32..1_000).prop_map(|(whole, part)| format!("{whole}.{part:03}1")),
        any::<u64>().prop_filter("beyond int64", |n| i64::try_from(*n).is_err()).prop_map(|n| n.to_string()),
    ]
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
        select(vec!["x", "0", "=", "."]).prop_map(|suffix| Mutation::Suffix(suffix.to_owned())),
        select(vec!["x", "0", "Bearer", "."]).prop_map(|prefix| Mutation::Prefix(prefix.to_owned())),
        (1_usize..=100).prop_map(Mutation::Cut),
        (0_usize..=100).prop_map(Mutation::Changed),
        select(vec!["", "Basic", "Token", "Digest", "ApiKey"]).prop_map(Mutation::Scheme),
    ]
}
