//! The files of a crate import each other in no circle, so that each can be read with what lies below it.

use std::collections::{BTreeMap, BTreeSet};

use crate::architecture::sources;

/// The source folders of the crates.
const CRATES: [&str; 9] = [
    "conformance/diagnose/src",
    "conformance/rules/src",
    "conformance/secrets/src",
    "conformance/traffic/src",
    "conformance/src",
    "conformance/cli/src",
    "reference/src",
    "reference/lab/src",
    "xtask/src",
];

/// The module of a file, as `report::html`; the empty name is the crate itself.
fn module(file: &str, folder: &str) -> String {
    let path = file.trim_start_matches(folder).trim_start_matches('/').trim_end_matches(".rs");
    let path = path.strip_suffix("mod").map_or(path, |path| path.trim_end_matches('/'));
    if ["lib", "main"].contains(&path) { String::new() } else { path.replace('/', "::") }
}

/// Every path that is imported or named with `crate::` or `super::`, groups in braces written out.
fn paths(code: &str) -> BTreeSet<String> {
    let is_in_path = |c: char| c.is_alphanumeric() || "_:".contains(c);
    let mut found = BTreeSet::new();
    let starts = code.match_indices("crate::").chain(code.match_indices("super::"));
    for (at, _) in starts.filter(|(at, _)| !code[..*at].ends_with(is_in_path)) {
        let rest = &code[at..];
        let end = rest.find(|c| !is_in_path(c)).unwrap_or(rest.len());
        let (path, after) = rest.split_at(end);
        if let Some(group) = after.strip_prefix('{').filter(|_| path.ends_with("::")) {
            members(path, group, &mut found);
        } else {
            found.insert(path.to_owned());
        }
    }
    found
}

/// Adds the members of a group, which begins here; what follows it.
fn members<'c>(path: &str, mut rest: &'c str, found: &mut BTreeSet<String>) -> &'c str {
    loop {
        let end = rest.find([',', '{', '}']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let whole = format!("{path}{}", name.trim());
        match after.chars().next() {
            Some('{') => rest = members(&whole, &after[1..], found),
            Some(mark) => {
                found.insert(whole);
                rest = &after[1..];
                if mark == '}' {
                    return rest;
                }
            }
            None => return after,
        }
    }
}

/// The module that a path which stands in another module leads to.
fn target(path: &str, from: &str, modules: &BTreeMap<String, String>) -> Option<String> {
    let mut absolute: Vec<&str> = from.split("::").filter(|part| !part.is_empty()).collect();
    for part in path.split("::") {
        match part {
            "crate" => absolute.clear(),
            "super" => drop(absolute.pop()),
            "self" | "" => {}
            name => absolute.push(name),
        }
    }
    (1..=absolute.len()).rev().map(|length| absolute[..length].join("::")).find(|name| modules.contains_key(name))
}

/// Whether one module contains the other.
fn is_within(one: &str, other: &str) -> bool {
    let contains = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"));
    one == other || contains(one, other) || contains(other, one)
}

/// What is left when what imports nothing of the rest is taken away, again and again: circles, and what leads to them.
fn circles(mut imports: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let left: BTreeSet<String> = imports.keys().cloned().collect();
        let before = left.len();
        imports.retain(|_, targets| targets.iter().any(|target| left.contains(target)));
        if imports.len() == before {
            return imports;
        }
    }
}

#[test]
fn files_import_each_other_in_no_circle() {
    for folder in CRATES {
        let files = sources(folder).into_iter().filter(|(name, _)| !name.ends_with("/tests.rs"));
        let modules: BTreeMap<String, String> = files.map(|(name, text)| (module(&name, folder), text)).collect();
        let imports = modules.iter().map(|(from, text)| {
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let targets = paths(&code).iter().filter_map(|path| target(path, from, &modules)).collect::<BTreeSet<_>>();
            // A module and those inside it belong together.
            (from.clone(), targets.into_iter().filter(|target| !is_within(from, target)).collect())
        });
        let left = circles(imports.collect());
        assert!(left.is_empty(), "{folder}: these import each other, or lead to such: {left:#?}");
    }
}

#[test]
fn a_circle_is_seen_through_groups_and_relative_paths() {
    let modules = |all: &[&str]| all.iter().map(|name| ((*name).to_owned(), String::new())).collect();
    let modules: BTreeMap<String, String> = modules(&["a", "b", "b::c"]);
    let found = |code: &str, from: &str| -> Vec<String> {
        paths(code).iter().filter_map(|path| target(path, from, &modules)).collect()
    };
    assert_eq!(found("use crate::{a::{self, One}, b::c::Two};", "x"), ["a", "a", "b::c"]);
    assert_eq!(found("super::super::a::f(); xcrate::b::g();", "b::c"), ["a"]);
    let graph = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), BTreeSet::from([(*to).to_owned()]))).collect()
    };
    assert!(circles(graph(&[("a", "b"), ("b", "c")])).is_empty());
    assert_eq!(circles(graph(&[("a", "b"), ("b", "a"), ("c", "d")])).len(), 2);
}
