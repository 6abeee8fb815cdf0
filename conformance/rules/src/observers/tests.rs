use super::*;
use crate::history::History;
use crate::tests::{TraceBuilder, animal};
use crate::trace::exchange::Request;

fn seen(builder: TraceBuilder, observe: fn(&Facts<'_>) -> Option<String>) -> String {
    observe(&Facts::new(&History::new(&builder.trace()))).unwrap_or_default()
}

/// Three animals are created, and a list shows those with these ids.
fn created_and_listed(ids: &[i64]) -> TraceBuilder {
    let animals: Vec<String> = ids.iter().map(|id| animal(*id, "sold")).collect();
    let body = format!("[{}]", animals.join(","));
    TraceBuilder::new().create(1).create(2).create(3).ask(Request::new("GET", "/pets"), 200, body)
}

#[test]
fn the_order_of_a_list_takes_two_pairs_to_be_reported() {
    assert_eq!(seen(created_and_listed(&[1, 2, 3]), order), "oldest first");
    assert_eq!(seen(created_and_listed(&[3, 2, 1]), order), "newest first");
    assert_eq!(seen(created_and_listed(&[2, 1, 3]), order), "neither oldest nor newest first");
    assert_eq!(seen(created_and_listed(&[1, 2]), order), "");
}

#[test]
fn a_status_that_only_reads_show_is_reported_apart_from_one_that_the_201_shows() {
    let without = Request::new("POST", "/pets").json(r#"{"name":"Rex 1","categoryId":1}"#);
    let plain = r#"{"id":7,"name":"Rex 1","categoryId":1}"#;
    let created = || TraceBuilder::new().ask(without.clone(), 201, plain.to_owned());
    assert_eq!(seen(created(), status_default), "stays absent");
    assert_eq!(
        seen(created().get(7, Some("available")), status_default),
        "absent from the 201, and available in later reads"
    );
    let shown = TraceBuilder::new().ask(without.clone(), 201, plain.replace('}', r#","status":"pending"}"#));
    assert_eq!(seen(shown, status_default), "becomes pending");
    for invalid in [r#"{"name":"Rex 1"}"#, r#"["Rex 1",1]"#, r#"{"name":"Rex 1","categoryId":1,"status":null}"#] {
        let invalid = Request::new("POST", "/pets").json(invalid);
        let taken = TraceBuilder::new().ask(invalid, 201, plain.replace('}', r#","status":"sold"}"#));
        assert_eq!(seen(taken, status_default), "", "it is not known what an invalid creation stands for");
    }
}

#[test]
fn pages_are_looked_for_in_lists_that_were_shown() {
    let list = || TraceBuilder::new().list(200, 5, 60);
    assert_eq!(seen(list(), pagination), "none observed");
    assert_eq!(seen(list().header("link", "</pets?page=2>; rel=next"), pagination), "a link header");
    assert_eq!(seen(TraceBuilder::new().list(400, 5, 60), pagination), "");
}

#[test]
fn the_case_of_the_scheme_is_seen_only_where_nothing_else_is_written_differently() {
    let answered = |value: &str, status| {
        let asked = TraceBuilder::new().ask(Request::new("GET", "/pets"), status, String::new());
        let builder = asked.change_last(|exchange| exchange.request.authorization = Some(value.to_owned()));
        seen(builder, scheme_case)
    };
    assert_eq!(answered("bearer sk-Key1", 200), "`Bearer` is accepted in any case");
    assert_eq!(answered("BEARER sk-Key1", 401), "only the spelling `Bearer` is accepted");
    assert_eq!(answered("bearer sk-Key1", 429), "");
    assert_eq!(answered("bearer sk-Key1", 500), "");
    assert_eq!(answered("Bearer  sk-Key1", 401), "");
}

#[test]
fn whether_failures_count_shows_between_two_successes_of_one_window() {
    let counted = |answers: &[(u16, u64)]| seen(TraceBuilder::new().lists(60, answers), refused_count);
    assert_eq!(counted(&[(200, 5), (404, 4), (200, 3)]), "failed requests count");
    assert_eq!(counted(&[(200, 5), (404, 5), (200, 4)]), "failed requests do not count");
    assert_eq!(counted(&[(200, 5), (200, 4), (200, 3)]), "", "nothing failed");
    assert_eq!(counted(&[(200, 5), (503, 4), (200, 3)]), "", "the server's own failure");
    assert_eq!(counted(&[(404, 5), (404, 4), (200, 3)]), "", "no success before");
    let renewed = TraceBuilder::new().lists(60, &[(200, 5), (404, 4)]).wait(60).window(60).list(200, 3, 60);
    assert_eq!(seen(renewed, refused_count), "", "another window");
    let raised = TraceBuilder::new().lists(60, &[(200, 5), (404, 5)]).list(200, 4, 300);
    assert_eq!(seen(raised, refused_count), "", "another limit");
}

#[test]
fn the_body_of_a_refusal_is_an_error_if_it_has_a_code() {
    let body_of =
        |body: &str| seen(TraceBuilder::new().ask(Request::new("GET", "/pets"), 429, body.to_owned()), limited_body);
    assert_eq!(body_of(r#"{"code":"slow_down"}"#), "an Error");
    assert_eq!(body_of(r#"{"detail":"slow down"}"#), "an object");
    assert_eq!(body_of("slow down"), "not JSON");
    assert_eq!(body_of(""), "empty");
}
