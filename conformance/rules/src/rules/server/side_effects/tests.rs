use crate::tests::TraceBuilder;
use crate::trace::exchange::Request;

const NONE: [[usize; 0]; 0] = [];

/// The requirements under test, for creations that were refused with 400 and for requests without a valid key.
const CREATE: &str = "create.refused-stores-nothing";
const AUTH: &str = "auth.refused-stores-nothing";

#[test]
fn an_animal_that_only_a_refused_request_named_does_not_show() {
    let refused = || TraceBuilder::new().refused_create(400);
    assert_eq!(refused().get(7, Some("sold")).failures_of(CREATE), [[2, 1]]);
    assert_eq!(refused().create(7).get(7, Some("sold")).failures_of(CREATE), NONE, "another request named it");
    let existed = TraceBuilder::new().get(7, Some("sold")).refused_create(400).get(7, Some("sold"));
    assert_eq!(existed.failures_of(CREATE), NONE, "it was there before");
    assert_eq!(refused().get(7, Some("sold")).together(1..=2).failures_of(CREATE), NONE, "it may have been");
}

#[test]
fn an_animal_may_show_under_a_name_that_was_sent_with_spaces_around_it() {
    let creation = |name: &str| Request::new("POST", "/pets").json(format!(r#"{{"name":"{name}","categoryId":1}}"#));
    let shown = |name: &str| {
        let refused = TraceBuilder::new().ask(creation("Rex 1"), 400, String::new());
        refused.ask(creation(name), 201, String::new()).get(7, Some("sold")).failures_of(CREATE)
    };
    assert_eq!(shown(" Rex 1\\n"), NONE);
    assert_eq!(shown("Rex  1"), [[3, 1]], "no server changes what is within a name");
}

#[test]
fn without_a_valid_key_nothing_is_created_at_any_path() {
    let sent = |builder: TraceBuilder, path: &str| {
        let request = Request::new("POST", path).json(r#"{"name":"Rex 1","categoryId":1}"#);
        builder.ask(request, 404, String::new())
    };
    let keyless = |path: &str| sent(TraceBuilder::new(), path).change_last(|sent| sent.request.authorization = None);
    for path in ["/pets", "/pets/"] {
        assert_eq!(keyless(path).get(7, Some("sold")).failures_of(AUTH), [[2, 1]], "{path}");
        assert_eq!(keyless(path).create(7).get(7, Some("sold")).failures_of(AUTH), NONE, "{path}: then with a key");
    }
    assert_eq!(sent(keyless("/pets/"), "/pets/").get(7, Some("sold")).failures_of(AUTH), NONE, "there with a key, too");
    assert_eq!(keyless("/pets/").get(7, None).failures_of(AUTH), NONE);
}

#[test]
fn a_creation_that_was_refused_for_its_media_type_stores_nothing() {
    let body = r#"{"name":"Rex 1","categoryId":1}"#;
    let request = Request::new("POST", "/pets").body("text/plain", body);
    let refused = TraceBuilder::new().ask(request, 400, String::new());
    assert_eq!(refused.get(7, Some("sold")).failures_of(CREATE), [[2, 1]]);
}

#[test]
fn what_another_path_refuses_is_no_creation_that_was_refused() {
    let refused = |path: &str| {
        let request = Request::new("POST", path).json(r#"{"name":"Rex 1","categoryId":1}"#);
        let refused = TraceBuilder::new().ask(request, 400, String::new());
        refused.get(7, Some("sold")).failures_of(CREATE)
    };
    assert_eq!(refused("/pets"), [[2, 1]]);
    assert_eq!(refused("/pets/"), NONE);
}
