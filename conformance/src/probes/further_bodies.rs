//! Further bodies, for which a Free key allows too few requests: invalid ones that lenient parsers accept, valid ones that strict
//! parsers refuse, names that may be mistaken for something else, and creations with the id of an existing animal.

use super::cost::Cost;
use super::session::{MAY_BE_A_DAY, Session, Stop, created_id};
use super::steps::{ask, create, fetch, filled, list};
use animal_store_rules::tolerance::Tolerance;
use animal_store_rules::trace::exchange::Request;

/// The name of this probe in the trace.
pub(super) const NAME: &str = "bodies";

/// The maximum cost of this probe.
pub(super) const COST: Cost =
    Cost { keyed: INVALID.len() + LONG.len() + CREATIONS + READS, keyless: 0, animals: CREATIONS };

/// The number of requests that may create an animal.
const CREATIONS: usize = 1 + DISPUTED.len() + VALID.len() + NAMES.len() + WITH_ITS_ID.len() + TWICE;

/// The number of lists, and of fetches with unusual identifiers.
const READS: usize = 2 + 2;

/// Invalid bodies with one defect each; first the [`FEW`] that most servers with such a defect accept.
const INVALID: [&str; 31] = [
    // Values of another type, which a reader may convert.
    r#"{"name":0,"categoryId":@CATEGORY@}"#,
    r#"{"name":"@NAME@","categoryId":false}"#,
    r#"{"name":"@NAME@","categoryId":[]}"#,
    r#"{"name":"@NAME@","categoryId":" @CATEGORY@ "}"#,
    r#"{"name":"@NAME@","categoryId":-0.5}"#,
    r#"{"name":"@NAME@","categoryId":1e19}"#,
    // Infinite as a double.
    r#"{"name":"@NAME@","categoryId":1e400}"#,
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
const NAMES: [&str; 12] = [
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
    // More bytes than a column holds, and fewer characters.
    r#"{"name":"(90 letters of 3 bytes)","categoryId":@CATEGORY@,"status":"sold"}"#,
    // Wherever a buffer ends, one of two in a row ends within a character.
    r#"{"name":"(5,000 letters of 3 bytes)","categoryId":@CATEGORY@,"status":"sold"}"#,
];

/// Long names in templates, each with the text that it repeats, and how often.
const LONG: [(&str, &str, usize); 4] = [
    ("(1,100 letters)", "long ", 220),
    ("(5,000 letters)", "long ", 1_000),
    ("(90 letters of 3 bytes)", "\u{732b}", 86),
    ("(5,000 letters of 3 bytes)", "\u{732b}", 5_000),
];

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
pub(super) async fn few(session: &mut Session<'_>) -> Result<(), Stop> {
    session.begin_aside(NAME);
    for template in &INVALID[..FEW] {
        create(session, template).await?;
    }
    session.step("");
    Ok(())
}

/// Sends all requests of this probe. Only a run that `waits` for windows anyway waits for reads that may lag.
pub(super) async fn run(session: &mut Session<'_>, waits: bool) -> Result<(), Stop> {
    session.begin(NAME);
    if waits {
        list_and_again(session).await?;
    }
    unusual_ids(session).await?;
    for template in INVALID.into_iter().chain(DISPUTED).chain(VALID).chain(NAMES) {
        let (step, body) = filled(session, template);
        let long = |text: &str, times| format!("{} end", text.repeat(times).trim_end());
        let body = LONG.iter().fold(body, |body, &(name, text, times)| body.replace(name, &long(text, times)));
        let body = body.replace(BLANKS, "\r\n\t").replace(BYTE_ORDER_MARK, "\u{feff}");
        let creation = Request::new("POST", "/pets").json(body);
        let id = created_id(ask(session, creation, &format!("POST /pets {step}")).await?);
        if let Some(id) = id.filter(|_| LONG.iter().any(|(name, ..)| template.contains(name))) {
            ask(session, fetch(id), "GET /pets/{petId}").await?;
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

/// Lists all animals before and after a creation without a status: a list that is kept until the animals of a status change does not show
/// the new one.
async fn list_and_again(session: &mut Session<'_>) -> Result<(), Stop> {
    ask(session, list("limit=100"), "GET /pets?limit=100").await?;
    create(session, r#"{"name":"@NAME@","categoryId":@CATEGORY@}"#).await?;
    session.wait(Tolerance::READ_LAG.duration().unsigned_abs(), "a new animal to be listed").await?;
    ask(session, list("limit=100"), "GET /pets?limit=100, after a creation without a status").await?;
    Ok(())
}

/// Fetches with a text that is not UTF-8, and with an underscore between the digits of an id, which some languages ignore.
async fn unusual_ids(session: &mut Session<'_>) -> Result<(), Stop> {
    ask(session, Request::new("GET", "/pets/%FF"), "GET /pets/%FF").await?;
    if let Some(id) = session.known_ids().into_iter().find(|id| *id > 9) {
        let text = format!("{}_{}", id / 10, id % 10);
        ask(session, fetch(text), "GET /pets/{petId with an underscore}").await?;
    }
    Ok(())
}
