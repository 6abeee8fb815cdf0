//! Further bodies, for which a Free key allows too few requests: invalid ones that lenient parsers accept, valid ones that strict
//! parsers refuse, names that may be mistaken for something else, and creations with the id of an existing animal.

use super::cost::Cost;
use super::session::{MAY_BE_A_DAY, Session, Stop, created_id};
use super::steps::{ask, create, filled};
use animal_store_rules::trace::exchange::Request;

/// The name of this probe in the trace.
pub(super) const NAME: &str = "bodies";

/// The maximum cost of this probe.
pub(super) const COST: Cost = Cost { keyed: INVALID.len() + LONG.len() + CREATIONS, keyless: 0, animals: CREATIONS };

/// The number of requests that may create an animal.
const CREATIONS: usize = DISPUTED.len() + VALID.len() + NAMES.len() + WITH_ITS_ID.len() + TWICE;

/// Invalid bodies with one defect each; first the [`FEW`] that most servers with such a defect accept.
const INVALID: [&str; 31] = [
    // Values of another type, which a reader may convert.
    r#"{"name":0,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":false}"#,
    r#"{"name":"@NAME@","categoryId":[]}"#,
    r#"{"name":"@NAME@","categoryId":{}}"#,
    r#"{"name":"@NAME@","categoryId":" @CATEGORY@ "}"#,
    r#"{"name":"@NAME@","categoryId":-0.5}"#,
    r#"{"name":"@NAME@","categoryId":1e19}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":false}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":{}}"#,
    "5",
    // Members that have another name or are in another object.
    r#"{"name":"@NAME@","category_id":@CATEGORY@}"#,
    r#"{"pet":{"name":"@NAME@","categoryId":@CATEGORY@}}"#,
    // Text that is JSON in some dialects only.
    r#"{"name":"@NAME@",/* the category */"categoryId":@CATEGORY@}"#,
    r#"{name:"@NAME@",categoryId:@CATEGORY@}"#,
    "{\"name\":\"@NAME@\tx\",\"categoryId\":@CATEGORY@}",
    // More of each kind.
    r#"{"name":[],"categoryId":@CATEGORY@}"#,
    r#"{"name":false,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":{"id":@CATEGORY@}}"#,
    r#"{"name":"@NAME@","categoryId":"12345678901"}"#,
    r#"{"name":"@NAME@","categoryId":0.5}"#,
    r#"{"name":"@NAME@","categoryId":1e-5}"#,
    // A member that every object of some languages has.
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"toString"}"#,
    r#"{"name":"@NAME@","status":"sold"}"#,
    r#"{"name":"@NAME@","category":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryID":@CATEGORY@}"#,
    r#"{"data":{"name":"@NAME@","categoryId":@CATEGORY@}}"#,
    r#""{\"name\":\"@NAME@\",\"categoryId\":@CATEGORY@}""#,
    r"{'name':'@NAME@','categoryId':@CATEGORY@}",
    r#"{"name":"@NAME@","categoryId":1.}"#,
    r#"{"name":"@NAME@\q","categoryId":@CATEGORY@}"#,
    BLANKS,
];

/// The number of invalid bodies that a run on a Free key sends, too.
pub(super) const FEW: usize = 15;

/// The number of requests that must remain in the window after the [`FEW`] bodies.
const LEFT: u64 = 10;

/// Bodies that a server may accept or refuse, but must not fail with.
const DISPUTED: [&str; 2] = [
    r#"(byte order mark){"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold","status":"sold"}"#,
];

/// Valid bodies that are written in another way.
const VALID: [&str; 2] = [
    r#"(line breaks){"name":"@NAME@","categoryId":@CATEGORY@}(line breaks)"#,
    r#"{"n\u0061me":"@NAME@","categoryId":@CATEGORY@}"#,
];

/// Names that may be rejected, but must not be altered.
const NAMES: [&str; 10] = [
    r#"{"name":"constructor","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"4711","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"12.00","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@DIGITS@e2","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"2031-04-17","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@NAME@ $$ %% &amp; stra\u00dfe \ufb01 \u2019","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@NAME@ a\tb\r\nc \u00a0 d\/e","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"sold","":1,"$set":{"a":1},"__proto__":{}}"#,
    r#"{"name":"(1,100 letters)","categoryId":@CATEGORY@,"status":"sold"}"#,
    r#"{"name":"(5,000 letters)","categoryId":@CATEGORY@,"status":"sold"}"#,
];

/// Long names in templates, and how many words of five letters each they have.
const LONG: [(&str, usize); 2] = [("(1,100 letters)", 220), ("(5,000 letters)", 1_000)];

/// The mark of blanks in a template.
const BLANKS: &str = "(line breaks)";

/// The mark of a byte order mark before a body: RFC 8259 section 8.1 lets a reader ignore it.
const BYTE_ORDER_MARK: &str = "(byte order mark)";

/// The names of a member with the id of an existing animal, which the creation must not replace.
const WITH_ITS_ID: [&str; 2] = ["id", "petId"];

/// The number of times that one creation is sent, which makes as many animals.
const TWICE: usize = 2;

/// Returns true if a window that the run uses little of has room for the first invalid bodies.
pub(super) fn has_room_for_few(session: &Session<'_>) -> bool {
    let window = session.last_window(&session.asking_key()).filter(|window| window.limit < MAY_BE_A_DAY);
    window.is_some_and(|window| window.remaining >= FEW as u64 + LEFT)
}

/// Sends the first invalid bodies.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn few(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin_aside(NAME);
    for template in &INVALID[..FEW] {
        create(session, template).await?;
    }
    session.step("");
    Ok(())
}

/// Sends all requests of this probe.
///
/// # Errors
///
/// [`Stop`] when the budget is exhausted.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin(NAME);
    for template in INVALID.into_iter().chain(DISPUTED).chain(VALID).chain(NAMES) {
        let (step, body) = filled(session, template);
        let long = |words: usize| format!("{} end", "long ".repeat(words).trim_end());
        let body = LONG.iter().fold(body, |body, &(name, words)| body.replace(name, &long(words)));
        let body = body.replace(BLANKS, "\r\n\t").replace(BYTE_ORDER_MARK, "\u{feff}");
        let creation = Request::new("POST", "/pets").json(body);
        let id = created_id(ask(session, creation, &format!("POST /pets {step}")).await?);
        if let Some(id) = id.filter(|_| LONG.iter().any(|(name, _)| template.contains(name))) {
            ask(session, Request::new("GET", format!("/pets/{id}")), "GET /pets/{petId}").await?;
        }
    }
    let animal = r#"{"name":"@NAME@","categoryId":@CATEGORY@,"status":"pending"}"#;
    if let Some(id) = session.created_as("sold") {
        for member in WITH_ITS_ID {
            let (step, body) = filled(session, animal);
            let with_id = |text: &str, id: &str| text.replacen('{', &format!(r#"{{"{member}":{id},"#), 1);
            let creation = Request::new("POST", "/pets").json(with_id(&body, &id.to_string()));
            ask(session, creation, &format!("POST /pets {}", with_id(&step, "(that of an animal)"))).await?;
        }
    }
    let (step, body) = filled(session, animal);
    for _ in 0..TWICE {
        ask(session, Request::new("POST", "/pets").json(body.clone()), &format!("POST /pets {step}, twice")).await?;
    }
    session.step("");
    Ok(())
}
