use crate::tests::{TraceBuilder, animal};
use crate::trace::exchange::Request;

#[test]
fn an_animal_for_each_of_two_identifiers_picked_far_from_zero_is_one_for_every_identifier() {
    let found = |ids: &[i64]| {
        ids.iter().fold(TraceBuilder::new(), |builder, id| builder.get(*id, Some("sold"))).failures_of("get.not-found")
    };
    const FAR: i64 = 1 << 61;
    const NEAR: i64 = 1 << 32;
    assert_eq!(found(&[FAR]), [[0; 0]; 0], "against all odds");
    assert_eq!(found(&[FAR, FAR + 1]), [[2, 1]]);
    assert_eq!(found(&[NEAR, FAR]), [[2, 1]]);
    assert_eq!(found(&[-NEAR, FAR]), [[2, 1]]);
    assert_eq!(found(&[NEAR - 1, FAR]), [[0; 0]; 0], "it may be there from before");
    assert_eq!(found(&[1 - NEAR, FAR]), [[0; 0]; 0], "it may be there from before");
}

#[test]
fn an_animal_whose_id_is_shown_as_text_exists() {
    let fetched = |id, status| {
        let body = r#"{"id":"1","name":"Rex 1","categoryId":1}"#.to_owned();
        TraceBuilder::new().fetch(id, status, body).failures_of("get.not-found")
    };
    assert_eq!(fetched(1, 200), [[0; 0]; 0]);
    assert_eq!(fetched(2, 200), [[1]], "another animal");
    assert_eq!(fetched(1, 500), [[1]]);
}

#[test]
fn before_it_is_there_an_animal_is_found_or_not_and_nothing_else() {
    let asked = |status: u16| {
        let early = TraceBuilder::new().fetch(7, status, String::new());
        early.create(7).wait(6).get(7, Some("sold")).failures_of("get.not-found")
    };
    assert_eq!(asked(404), [[0; 0]; 0]);
    for status in [201, 204, 301, 400, 500] {
        assert_eq!(asked(status), [[1]], "{status}");
    }
    let shown = |body: String| {
        let early = TraceBuilder::new().fetch(7, 200, body);
        early.create(7).wait(6).get(7, Some("sold")).failures_of("get.not-found")
    };
    assert_eq!(shown(animal(7, "sold")), [[0; 0]; 0]);
    assert_eq!(shown(animal(6, "sold")), [[1]], "another animal");
    assert_eq!(shown("null".to_owned()), [[1]]);
    let there = TraceBuilder::new().get(7, Some("sold")).get(7, Some("sold"));
    assert_eq!(there.failures_of("get.not-found"), [[0; 0]; 0], "an animal of another client may have been there");
}

#[test]
fn a_status_that_was_filled_in_stays() {
    let body = |status: &str| format!(r#"{{"id":7,"name":"Rex 1","categoryId":1{status}}}"#);
    let read = |builder: TraceBuilder, status| builder.ask(Request::new("GET", "/pets/7"), 200, body(status));
    let creation = Request::new("POST", "/pets").json(r#"{"name":"Rex 1","categoryId":1}"#);
    let filled = || read(TraceBuilder::new().ask(creation.clone(), 201, body("")), r#","status":"available""#);
    assert_eq!(read(filled().wait(5), "").failures_of("get.agrees"), [[3, 2]]);
    assert_eq!(read(filled().wait(4), "").failures_of("get.agrees"), [[0; 0]; 0], "the read may lag");
    assert_eq!(read(filled().wait(5), r#","status":"sold""#).failures_of("get.agrees"), [[0; 0]; 0], "it has changed");
}

#[test]
fn an_id_in_an_unusual_form_causes_no_failure_of_the_server() {
    let failures = |request: Request, status: u16| {
        TraceBuilder::new().ask(request, status, animal(7, "sold")).failures_of("get.malformed-id").len()
    };
    let get = |path: &str| Request::new("GET", path);
    for (what, request) in
        [("zeros", get("/pets/007")), ("a parameter", get("/pets/7;x=1")), ("a query", get("/pets/7").query("x=1"))]
    {
        assert_eq!([200, 404, 500].map(|status| failures(request.clone(), status)), [0, 0, 1], "{what}");
    }
    assert_eq!(failures(get("/pets/7abc"), 200), 1);
}
