use serde_json::json;

use super::*;
use crate::catalogue::scope::Scope;
use crate::tests::{TraceBuilder, animal};
use crate::trace::Trace;
use crate::trace::exchange::Request;
use crate::trace::knowledge::Extent;
use crate::verdict::{Status, judge};

const NONE: [[usize; 0]; 0] = [];

/// A list is asked for with this query, and shows these animals.
fn shows(builder: TraceBuilder, query: &str, animals: &[String]) -> TraceBuilder {
    let request = Request::new("GET", "/pets");
    let request = if query.is_empty() { request } else { request.query(query) };
    builder.ask(request, 200, format!("[{}]", animals.join(",")))
}

/// Somebody else's animal.
fn named(name: &str, category: i64) -> String {
    json!({"id": 10, "name": name, "categoryId": category, "status": "sold"}).to_string()
}

#[test]
fn what_others_created_is_demanded_under_its_status_unless_some_of_theirs_was_seen_to_change() {
    let pending = || animal(11, "pending");
    let hidden = |before: TraceBuilder, query: &str| {
        let without = shows(before.wait(6), query, &[]);
        shows(without, "", &[animal(10, "sold"), pending()]).failures_of("list.complete")
    };
    let steady = || shows(TraceBuilder::new(), "", &[animal(10, "sold"), pending()]);
    let changing =
        || shows(shows(TraceBuilder::new(), "", &[animal(10, "available"), pending()]), "", &[animal(10, "sold")]);
    assert_eq!(hidden(steady(), "status=pending"), [[2, 1]]);
    assert_eq!(hidden(changing(), "status=pending"), NONE, "it may have been something else for a while");
    assert_eq!(hidden(changing(), ""), [[3, 1]], "it was there all the same");
}

#[test]
fn what_this_run_created_is_demanded_under_its_status_whatever_others_do() {
    let changing = shows(TraceBuilder::new(), "", &[animal(10, "available")]);
    let changing = shows(changing, "", &[animal(10, "sold")]).create(20).wait(6);
    assert_eq!(shows(changing, "status=sold", &[]).get(20, Some("sold")).failures_of("list.complete"), [[4, 3]]);
}

#[test]
fn what_nobody_has_seen_for_some_time_is_demanded_under_its_status_if_it_is_soon_seen_with_it() {
    let hidden =
        |seconds| shows(TraceBuilder::new().create(20).wait(6).get(20, Some("sold")).wait(seconds), "status=sold", &[]);
    assert_eq!(hidden(4).failures_of("list.complete"), [[3, 1]]);
    assert_eq!(hidden(5).failures_of("list.complete"), NONE, "it may have changed");
    assert_eq!(hidden(5).get(20, Some("sold")).failures_of("list.complete"), [[3, 1]]);
    assert_eq!(hidden(5).get(20, Some("pending")).failures_of("list.complete"), NONE, "it has");
    assert_eq!(hidden(5).wait(6).get(20, Some("sold")).failures_of("list.complete"), NONE, "it may have changed back");
    assert_eq!(hidden(4).wait(6).get(20, Some("sold")).failures_of("list.complete"), [[3, 1]]);
    assert_eq!(hidden(4).wait(6).get(20, Some("pending")).failures_of("list.complete"), NONE, "since it was seen");
}

#[test]
fn another_name_of_what_others_created_is_held_against_an_answer_only_if_the_old_one_comes_back() {
    let names = |shown: &[String]| {
        shown
            .iter()
            .fold(TraceBuilder::new(), |builder, pet| shows(builder, "", std::slice::from_ref(pet)))
            .failures_of("list.agrees")
    };
    let (old, renamed, moved) = (named("Rex 1", 1), named("Max", 1), named("Rex 1", 2));
    assert_eq!(names(&[old.clone(), renamed.clone()]), NONE);
    assert_eq!(names(&[old.clone(), moved.clone()]), NONE);
    assert_eq!(names(&[old.clone(), renamed.clone(), old.clone()]), [[2, 1]]);
    assert_eq!(names(&[old.clone(), moved.clone(), old.clone()]), [[2, 1]]);
    assert_eq!(names(&[old, renamed.clone(), moved, renamed]), NONE, "neither comes back");
}

#[test]
fn a_filter_that_may_be_read_as_another_word_is_not_held_to_its_letters() {
    let filtered =
        |query: &str| shows(TraceBuilder::new(), query, &[animal(10, "sold")]).failures_of("list.status-filter");
    assert_eq!(filtered("status=sold"), NONE);
    assert_eq!(filtered("status=pending"), [[1]]);
    assert_eq!(filtered("status=unheard"), [[1]]);
    assert_eq!(filtered("status="), NONE, "an empty one may count as none");
    assert_eq!(filtered("status=sold%20"), NONE, "blanks may be cut off");
    assert_eq!(filtered("status=available,sold"), NONE, "a list may be read");
    for query in ["status=available,pending", "status=%25", "status=%27%20OR%20%271%27=%271"] {
        assert_eq!(filtered(query), [[1]], "{query}");
    }
}

#[test]
fn a_name_of_this_run_is_shown_by_as_many_animals_as_were_created_with_it_where_every_creation_is_known() {
    let listed = |animals: &[String], change: fn(&mut Trace)| {
        let mut trace = shows(TraceBuilder::new().create(7), "", animals).trace();
        trace.context.name_mark = Some("Rex".to_owned());
        change(&mut trace);
        let mut judgement = Judgement::default();
        agrees(&Facts::new(&History::new(&trace)), &mut judgement);
        judgement.failures.into_iter().map(|failure| failure.exchanges).collect::<Vec<_>>()
    };
    let [own, other] = [animal(7, "sold"), animal(8, "sold")];
    assert_eq!(listed(std::slice::from_ref(&own), |_| ()), NONE);
    assert_eq!(listed(std::slice::from_ref(&other), |_| ()), [[2, 1]], "under another id");
    let twice = [own, other];
    assert_eq!(listed(&twice, |_| ()), [[2, 1]]);
    assert_eq!(listed(&twice, |trace| trace.context.extent = Extent::Sample), NONE, "another may not be recorded");
    let withhold = |trace: &mut Trace| trace.exchanges[0].known.withheld.insert(Fact::RequestBody);
    assert_eq!(listed(&twice, withhold), NONE, "what is withheld may have been any name");
}

#[test]
fn that_no_list_could_have_shown_more_than_the_maximum_is_said_of_a_verdict_that_holds() {
    let trace = shows(TraceBuilder::new(), "limit=100", &[animal(7, "sold")]).trace();
    let verdicts = judge(&trace, &Scope::default());
    let verdict = verdicts.iter().find(|verdict| verdict.requirement.id == "list.limit-maximum").expect("a verdict");
    assert_eq!(verdict.status, Status::Pass);
    assert!(verdict.reason.as_deref().is_some_and(|reason| reason.contains("only 1 animal was seen")));
}

#[test]
fn an_object_in_place_of_a_list_is_reported_with_its_first_members() {
    let found = |body: &str| {
        let builder = TraceBuilder::new().ask(Request::new("GET", "/pets"), 200, body.to_owned());
        let trace = builder.trace();
        let history = History::new(&trace);
        let rule = RULES.iter().find(|rule| rule.id == "list.array").expect("a rule");
        let failures = rule.judge(&Facts::new(&history)).failures;
        failures.into_iter().map(|failure| failure.found.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("{}"), ["an empty object"]);
    assert_eq!(found(r#"{"items":[],"next":1}"#), ["an object with the members items, next"]);
    assert!(found("[]").is_empty());
}

#[test]
fn a_parameter_that_is_not_described_causes_no_failure_of_the_server() {
    let failures = |query: &str, status: u16| {
        let request = Request::new("GET", "/pets").query(query);
        TraceBuilder::new().ask(request, status, "[]".to_owned()).failures_of("list.bad-parameters").len()
    };
    for query in ["page=2", "status[]=sold", "Limit=5", "limit=5;status=sold"] {
        let found = [200, 400, 500].map(|status| failures(query, status));
        assert_eq!(found, [0, 0, 1], "{query}");
    }
}

#[test]
fn the_customers_of_two_keys_may_have_a_catalogue_each() {
    let empty = |builder: TraceBuilder| builder.wait(6).key("sk-Other").list(200, 50, 60).failures_of("list.complete");
    let created = || TraceBuilder::new().key("sk-Key1").create(20);
    assert_eq!(empty(created()), NONE);
    let with_stock = TraceBuilder::new().key("sk-Key1").get(1, Some("sold")).key("sk-Other").get(1, Some("sold"));
    let stock = with_stock.key("sk-Key1").create(20).wait(6).key("sk-Other");
    assert_eq!(
        shows(stock, "limit=100", &[animal(1, "sold")]).failures_of("list.complete"),
        NONE,
        "both had one at first"
    );
    assert_eq!(empty(created().wait(6).key("sk-Other").get(20, Some("sold"))), [[3, 1]], "they share a catalogue");
}
