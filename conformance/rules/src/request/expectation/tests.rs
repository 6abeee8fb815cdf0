use std::collections::HashSet;

use super::*;
use crate::request::{Defect, operation};
use crate::trace::Context;
use crate::trace::exchange::Request;

const STATUSES: [u16; 12] = [200, 201, 204, 302, 400, 401, 404, 405, 410, 422, 500, 503];

fn read(request: &Request) -> Operation {
    operation(request, None, &Context::for_test(), &HashSet::new())
}

fn expected(request: &Request, credential: Credential) -> Expectation {
    Expectation::of(&read(request), credential)
}

/// The statuses with which an answer is lawful.
fn admitted(expectation: Expectation) -> Vec<u16> {
    STATUSES.into_iter().filter(|status| expectation.admits(*status)).collect()
}

#[test]
fn every_kind_of_request_with_a_valid_key_has_the_answers_that_the_specification_leaves_it() {
    let get = |path: &str| Request::new("GET", path);
    let list = |query: &str| get("/pets").query(query);
    let create = |body: &str| Request::new("POST", "/pets").json(body);
    const CLIENT: [u16; 6] = [400, 401, 404, 405, 410, 422];
    let created = [&[201][..], &CLIENT].concat();
    for (request, statuses, words) in [
        (get("/pets"), vec![200], "200 Pets"),
        (list("limit=0"), vec![200, 400], "200 Pets, or 400 Error"),
        (list("status=lost"), vec![200, 400], "200 Pets, or 400 Error"),
        (list("page=2"), [&[200][..], &CLIENT].concat(), "200 Pets, or any 4xx"),
        (create("{"), CLIENT.to_vec(), "any 4xx"),
        (create("{}"), vec![400], "400 Error"),
        (create(r#"{"name":"Rex","categoryId":1"#), CLIENT.to_vec(), "any 4xx"),
        (create(r#"{"name":"Rex","categoryId":1} x"#), created.clone(), "201 Pet, or any 4xx"),
        (create(r#"{"name":"Rex","categoryId":1,}"#), created.clone(), "201 Pet, or any 4xx"),
        (create(r#"{"name":"\ud800","categoryId":1}"#), created.clone(), "201 Pet, or any 4xx"),
        (create(&format!(r#"{{"name":"Rex","categoryId":{}}}"#, "9".repeat(5_000))), CLIENT.to_vec(), "any 4xx"),
        (create(r#"{"name":"Rex","categoryId":1}"#), vec![201], "201 Pet"),
        (create(r#"{"name":"","categoryId":1}"#), created.clone(), "201 Pet, or any 4xx"),
        (create(r#"{"name":"Rex","categoryId":1}"#).chunked(), vec![201], "201 Pet, or 411 Error"),
        (create(r#"{"name":"Rex","categoryId":2}"#), vec![201, 400], "201 Pet, or 400 Error"),
        (create(r#"{"name":"Rex","categoryId":1e0}"#), vec![201, 400], "201 Pet, or 400 Error"),
        (create(r#"{"name":"Rex","Name":5,"categoryId":1}"#), vec![201, 400], "201 Pet, or 400 Error"),
        (create("").body("text/plain", r#"{"name":"Rex","categoryId":1}"#), created.clone(), "201 Pet, or any 4xx"),
        (create("").body("text/plain", "{}"), CLIENT.to_vec(), "any 4xx"),
        (get("/pets/7"), vec![200, 404], "200 Pet, or 404 Error"),
        (get("/pets/seven"), vec![400, 404], "400 or 404 Error"),
        (get("/pets/7").query("x=1"), [&[200][..], &CLIENT].concat(), "200 Pet, or any 4xx"),
        (get("/pets/007"), vec![200, 400, 404], "200 Pet, or 400 or 404 Error"),
        (
            get("/store/orders"),
            STATUSES.into_iter().filter(|status| ![404, 405].contains(status)).collect(),
            "any answer but 404 or 405",
        ),
        (get("/elsewhere"), STATUSES.to_vec(), "any answer"),
    ] {
        let expectation = expected(&request, Credential::Valid(0));
        assert_eq!(admitted(expectation), statuses, "{} {request:?}", request.target());
        assert_eq!(expectation.to_string(), words);
    }
}

#[test]
fn the_credential_decides_before_all_else() {
    for request in [Request::new("GET", "/pets"), Request::new("POST", "/pets"), Request::new("GET", "/store/orders")] {
        let with = |credential| admitted(expected(&request, credential));
        assert_eq!(with(Credential::Invalid(Defect::Absent)), [401]);
        assert_eq!(with(Credential::Banned), STATUSES);
        assert_eq!(with(Credential::Invalid(Defect::Repeated)), STATUSES[3..], "malformed HTTP");
    }
    let elsewhere = expected(&Request::new("GET", "/elsewhere"), Credential::Invalid(Defect::Absent));
    assert_eq!(admitted(elsewhere), STATUSES);
}

#[test]
fn a_key_in_an_ambiguous_form_is_a_valid_key_or_none() {
    let with = |path: &str| admitted(expected(&Request::new("GET", path), Credential::Ambiguous(0)));
    assert_eq!(with("/pets"), [200, 401]);
    assert_eq!(with("/pets/7"), [200, 401, 404]);
    assert_eq!(with("/pets/seven"), [400, 401, 404]);
    let bad = expected(&Request::new("GET", "/pets").query("limit=0"), Credential::Ambiguous(0));
    assert_eq!(admitted(bad), [200, 400, 401]);
    let chunked = Request::new("POST", "/pets").json(r#"{"name":"Rex","categoryId":1}"#).chunked();
    assert_eq!(admitted(expected(&chunked, Credential::Ambiguous(0))), [201, 401], "or 411");
}

#[test]
fn an_edge_may_refuse_a_request_and_never_serves_it() {
    let get = |path: &str| Request::new("GET", path);
    const CLIENT: [u16; 6] = [400, 401, 404, 405, 410, 422];
    let without = Credential::Invalid(Defect::Absent);
    for (what, request, credential, statuses) in [
        ("a list", get("/pets"), Credential::Valid(0), [&[200][..], &CLIENT].concat()),
        ("a list without a key", get("/pets"), without, CLIENT.to_vec()),
        ("a list with two keys", get("/pets"), Credential::Invalid(Defect::Repeated), STATUSES[3..].to_vec()),
        ("a list of orders without a key", get("/store/orders"), without, CLIENT.to_vec()),
        ("a list of orders", get("/store/orders"), Credential::Valid(0), STATUSES.to_vec()),
        ("no id", get("/pets/seven"), Credential::Valid(0), CLIENT.to_vec()),
        ("an unknown path", get("/elsewhere"), without, STATUSES.to_vec()),
    ] {
        let expectation = expected(&request, credential).or_refused_at_edge();
        assert_eq!(admitted(expectation), statuses, "{what}");
        assert!(expectation.admits_answer(400, Shape::Other), "{what}");
    }
    let fetch = expected(&get("/pets/7"), Credential::Valid(0)).given(7, Existence::Certain).or_refused_at_edge();
    assert_eq!(admitted(fetch), [&[200][..], &CLIENT].concat());
}

#[test]
fn a_fetch_depends_on_what_is_known_of_the_animal() {
    let fetch = expected(&Request::new("GET", "/pets/7"), Credential::Valid(0));
    assert_eq!(admitted(fetch.given(7, Existence::Certain)), [200]);
    assert_eq!(admitted(fetch.given(7, Existence::Possible)), [200, 404]);
    assert_eq!(admitted(fetch.given(7, Existence::Unknown)), [200, 404], "it may be there from before");
    assert_eq!(admitted(fetch.given(1 << 32, Existence::Unknown)), [404]);
    assert_eq!(admitted(fetch.given(-(1 << 32), Existence::Unknown)), [404]);
    assert_eq!(admitted(fetch.given(i64::MIN, Existence::Unknown)), [404]);
    for (credential, statuses) in [
        (Credential::Ambiguous(0), &[200, 401][..]),
        (Credential::Contradictory, &[&[200][..], &STATUSES[3..]].concat()),
    ] {
        let open = expected(&Request::new("GET", "/pets/7"), credential);
        assert_eq!(admitted(open.given(7, Existence::Certain)), statuses, "{credential:?}");
    }
    let keyless = expected(&Request::new("GET", "/pets/7"), Credential::Invalid(Defect::Absent));
    assert_eq!(admitted(keyless.given(7, Existence::Certain)), [401]);
    assert_eq!(admitted(fetch.given(7, Existence::Certain).or_removed()), [&[200], &STATUSES[3..]].concat());
    assert_eq!(admitted(keyless.or_removed()), STATUSES[3..], "an unknown path needs no key");
}

#[test]
fn what_is_lawful_by_its_status_must_have_the_body_that_goes_with_it() {
    let list = expected(&Request::new("GET", "/pets"), Credential::Valid(0));
    assert!(list.admits_answer(200, Shape::Pets) && !list.admits_answer(200, Shape::Pet));
    let create = expected(&Request::new("POST", "/pets").json("{}"), Credential::Valid(0));
    assert!(create.admits_answer(400, Shape::Error) && !create.admits_answer(400, Shape::Other));
    let broken = expected(&Request::new("POST", "/pets").json("{"), Credential::Valid(0));
    assert!(broken.admits_answer(400, Shape::Other), "which 4xx is open, and so is its body");
    let removed = expected(&Request::new("GET", "/pets/7"), Credential::Valid(0)).or_removed();
    assert!(removed.admits_answer(410, Shape::Other) && !removed.admits_answer(200, Shape::Other));
}
