//! The HTML report: nothing loaded, nothing let through, and a structure that a keyboard and a screen reader can use.

use std::collections::{BTreeMap, HashSet};

use animal_store_conform::formats::html;
use animal_store_conformance::report::Report;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::sample::{self, AWKWARD};
use crate::support::secrets;

/// A start tag.
struct Tag<'p> {
    name: &'p str,
    attributes: BTreeMap<&'p str, &'p str>,
}

impl<'p> Tag<'p> {
    fn get(&self, attribute: &str) -> Option<&'p str> {
        self.attributes.get(attribute).copied()
    }
}

/// Every start tag of a page, as a browser reads them, in order. The content of the style and of the script is left out.
fn tags(page: &str) -> Vec<Tag<'_>> {
    let mut tags: Vec<Tag> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(raw) = tags.last().map(|tag| tag.name).filter(|name| ["style", "script"].contains(name))
            && !rest.starts_with(&format!("/{raw}>"))
        {
            continue;
        }
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = &rest[..name_end];
        if name.is_empty() {
            if rest.starts_with('/') {
                // An end tag, after which text is text again.
                tags.push(Tag { name: "", attributes: BTreeMap::new() });
            }
            continue;
        }
        rest = &rest[name_end..];
        let mut attributes = BTreeMap::new();
        loop {
            rest = rest.trim_start();
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>')).expect("a tag ends");
            let attribute = &rest[..end];
            rest = &rest[end..];
            let mut value = "";
            if let Some(quoted) = rest.strip_prefix("=\"") {
                let end = quoted.find('"').expect("a value ends");
                (value, rest) = (&quoted[..end], &quoted[end + 1..]);
            }
            if !attribute.is_empty() && attribute != "/" {
                assert!(attributes.insert(attribute, value).is_none(), "<{name}> has {attribute} twice");
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break;
            }
        }
        tags.push(Tag { name, attributes });
    }
    tags.retain(|tag| !tag.name.is_empty());
    tags
}

/// The only page that a report links to.
const SPECIFICATION: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/conformance/docs/specification.md");

/// The report with awkward text at the end of every text that it holds.
fn awkward() -> Report {
    fn poison(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => text.push_str(AWKWARD),
            serde_json::Value::Array(items) => items.iter_mut().for_each(poison),
            serde_json::Value::Object(members) => {
                // Words of a closed set, digests, and times, which decide what else is shown.
                let times = ["at", "sent_at", "started_at"];
                let closed = [&["verdict", "profile", "side", "level", "status", "key", "digest"], &times[..]].concat();
                members.iter_mut().filter(|(name, _)| !closed.contains(&name.as_str())).for_each(|(_, v)| poison(v));
            }
            _ => {}
        }
    }
    let clean = sample::report();
    let mut value = serde_json::to_value(&clean).expect("JSON");
    poison(&mut value);
    value["transcript_diff"] = format!("+{AWKWARD}\n-{AWKWARD}\n {AWKWARD}").into();
    value["notes"] = vec![AWKWARD].into();
    let mut report: Report = serde_json::from_value(value).expect("a report");
    report.exchanges = clean.exchanges;
    for exchange in &mut report.exchanges {
        exchange.request.url.push_str(AWKWARD);
        exchange.request.method.push_str(AWKWARD);
        if let Some(body) = &mut exchange.request.body {
            body.text.insert_str(0, AWKWARD);
        }
    }
    report
}

/// What stands between two marks, of which there is one each.
fn between<'p>(page: &'p str, start: &str, end: &str) -> &'p str {
    assert_eq!((page.matches(start).count(), page.matches(end).count()), (1, 1), "one {start} and one {end}");
    page.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map(|(inside, _)| inside).expect("in this order")
}

#[test]
fn whatever_a_candidate_says_is_text_on_the_page() {
    let (clean, awkward) = (html::render(&sample::report()), html::render(&awkward()));
    for page in [&clean, &awkward] {
        for secret in secrets() {
            assert!(!page.contains(&secret), "the page shows {secret}");
        }
        assert!(page.contains("&#60;/script&#62;&#60;img src=x onerror=alert(1)&#62; &#38;amp;"));
        // Before and after are the page's own. Every `<` in between begins one of these.
        let known = "a article body br button circle code dd del details div dl dt fieldset figcaption figure footer form g h1 \
             h2 h3 head header html input ins label legend li link main meta ol output p path pre rect script section span \
             strong style summary svg symbol table tbody td text th thead time title tr ul use";
        let known: HashSet<&str> = known.split_whitespace().collect();
        for tag in tags(page) {
            assert!(known.contains(tag.name), "<{}> is none of the page's elements", tag.name);
            for (name, value) in &tag.attributes {
                assert!(!name.starts_with("on") && *name != "style" && *name != "src", "{name}={value}");
                let own = value.starts_with('#') || value.starts_with("data:image/svg+xml,") || *value == SPECIFICATION;
                assert!(*name != "href" || own, "{value}");
            }
        }
    }
    between(&awkward, "<script>", "</script>");
    between(&awkward, "<style>", "</style>");
}

#[test]
fn the_policy_admits_the_style_and_the_script_of_the_page_and_nothing_else() {
    let page = html::render(&sample::report());
    let digest = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let style = digest(between(&page, "<style>", "</style>"));
    let script = digest(between(&page, "<script>", "</script>"));
    let policy =
        between(&page, r#"<meta http-equiv="Content-Security-Policy" content=""#, "\">\n<meta name=\"viewport\"");
    let expected = format!(
        "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action 'none'"
    );
    assert_eq!(policy.replace("&#39;", "'"), expected);
    assert!(page.find("Content-Security-Policy") < page.find("<link"), "it comes before what it governs");
}

#[test]
fn a_phone_shows_the_mark_and_the_identifier_of_each_finding() {
    let page = html::render(&sample::report());
    let narrow = page.split_once("@media (max-width: 46rem) {").and_then(|(_, rest)| rest.split_once("\n}"));
    let (narrow, _) = narrow.expect("a style for narrow pages");
    let hidden = narrow.lines().filter(|rule| rule.contains("display: none"));
    assert!(hidden.clone().all(|rule| !rule.contains(".findings")), "{:?}", hidden.collect::<Vec<_>>());
}

#[test]
fn a_keyboard_and_a_screen_reader_find_their_way() {
    let page = html::render(&sample::report());
    let tags = tags(&page);
    let mut ids = HashSet::new();
    assert!(tags.iter().filter_map(|tag| tag.get("id")).all(|id| ids.insert(id)), "an id stands twice");
    let mut level = 0;
    for (index, tag) in tags.iter().enumerate() {
        for (attribute, prefix) in [("href", "#"), ("aria-labelledby", ""), ("for", "")] {
            if let Some(target) = tag.get(attribute).and_then(|value| value.strip_prefix(prefix)) {
                assert!(ids.contains(target) || target.starts_with("data:"), "{attribute} leads to {target}");
            }
        }
        if let Some(depth) = tag.name.strip_prefix('h').and_then(|depth| depth.parse::<u32>().ok()) {
            assert!(depth <= level + 1, "a heading of level {depth} follows one of level {level}");
            level = depth;
        }
        let labelled = |tag: &Tag| tag.get("aria-label").is_some() || tag.get("aria-labelledby").is_some();
        match tag.name {
            "input" => {
                let inside = index.checked_sub(1).is_some_and(|before| tags[before].name == "label");
                let named = tags.iter().any(|other| other.get("for").is_some() && other.get("for") == tag.get("id"));
                assert!(inside || named, "an input without a label");
            }
            "section" | "form" => assert!(labelled(tag), "a <{}> without a name", tag.name),
            "svg" => assert!(tag.get("aria-hidden") == Some("true") || labelled(tag), "a picture without a name"),
            "th" => assert!(tag.get("scope").is_some(), "a heading of a table without a scope"),
            _ => {}
        }
    }
    let count = |name: &str| tags.iter().filter(|tag| tag.name == name).count();
    assert_eq!([count("html"), count("title"), count("h1"), count("main"), count("header"), count("footer")], [1; 6]);
    assert!(page.contains(r#"<html lang="en">"#));
    assert!(
        page.contains(r#"<output id="shown" aria-live="polite">"#),
        "the number of requirements shown is said aloud"
    );
    // The filters need the script, which is what makes them appear.
    assert!(page.contains(r#"aria-label="Filter the requirements" hidden>"#));
}
