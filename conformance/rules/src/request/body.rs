//! The body of `POST /pets`: valid, at fault, or ambiguous.

use std::collections::HashSet;

use super::STATUSES;
use super::extended::{self, Reading};
use crate::trace::Context;
use crate::trace::exchange::Request;
use crate::trace::json::{Json, NotJson, Whole, outside_strings};
use crate::trace::knowledge::Extent;

/// The size in bytes above which a body may be refused for its size.
const MODEST_BODY: usize = 8 * 1024;

/// The number of levels above which a body may be refused for its nesting.
const MODEST_DEPTH: usize = 32;

/// The number of characters above which a number may be refused before its value is read.
const MODEST_DIGITS: usize = 100;

/// The length in bytes above which a name may be refused for its length.
pub const MODEST_NAME: usize = 10;

/// A defect for which a body must be refused, with 400 unless the variant says otherwise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The body is empty, or JSON that is no object.
    NoObject,
    /// The body is empty in recorded traffic. The request may have lacked `Content-Length`, which a server may require with 411.
    NoLength,
    /// `name` is missing.
    NameMissing,
    /// `name` is no string.
    NameType,
    /// `categoryId` is missing.
    CategoryMissing,
    /// `categoryId` is no number.
    CategoryType,
    /// `categoryId` is outside int64 or has a fraction.
    CategoryRange,
    /// `status` is outside the enumeration.
    StatusEnum,
    /// The body has another fault, and may be refused before it is read: for its size, its depth, the length of a number, a missing
    /// `Content-Length`, or a query. Any 4xx status code is lawful.
    Unread,
}

impl Fault {
    /// The member that the fault is about; none if it is about the whole body.
    pub fn member(self) -> Option<&'static str> {
        match self {
            Fault::NoObject | Fault::NoLength | Fault::Unread => None,
            Fault::NameMissing | Fault::NameType => Some("name"),
            Fault::StatusEnum => Some("status"),
            _ => Some("categoryId"),
        }
    }
}

/// A property of a body for which it may lawfully be refused or accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ambiguity {
    /// The name is blank, long or a reserved word, has unusual characters, or was used before.
    Name,
    /// The category is not that of the animals that the run creates.
    Category,
    /// The service may not know the category of the animals that the run creates.
    UnknownCategory,
    /// `status` is null.
    NullStatus,
    /// The body has members that NewPet does not have.
    UnknownMember,
    /// The body has an `id`.
    ClientId,
    /// A whole number is written with a fraction or an exponent.
    IntegralNumber,
    /// A member is repeated.
    RepeatedMember,
    /// The name may not be new, and the category may not exist: the request was recorded, not sent by the judge.
    Unvouched,
    /// The body is sent without a length before it. A server may require a length, and answer 411.
    NoLength,
    /// The request has a query, which the operation does not have.
    UnknownParameter,
    /// The body, or a number in it, is so long that it may be refused for its size.
    Size,
    /// The body is nested so deeply that it may be refused for its depth.
    Nesting,
}

/// The body of `POST /pets`, classified.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateBody {
    /// A body with another media type than plain `application/json`, with several, or in a content coding. A reader may find a NewPet in it.
    OtherMedia,
    /// A body in which no reader finds a NewPet: a body that ends before its value does, that has no NewPet's members, or whose members are at
    /// fault also to a reader that extends the grammar of JSON.
    Malformed,
    /// A NewPet in JSON that a reader may refuse: with a byte order mark, which RFC 8259 section 8.1 lets a reader ignore, with half of an
    /// escaped surrogate pair, about which readers differ (section 8.2), or with very many values.
    Unclear,
    /// A NewPet to a reader that extends the grammar of JSON, as RFC 8259 section 9 allows: with a comment, a comma after the last member, text
    /// after the object, bytes that are not UTF-8.
    Extended,
    /// A body at fault, which must be refused with 400. The members that could be read are kept, to look for side effects.
    Faulty(Vec<Fault>, Draft),
    /// A NewPet; it is valid if it has no ambiguity.
    NewPet(Draft, Vec<Ambiguity>),
}

/// The members of a NewPet that could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// `name`
    pub name: Option<String>,
    /// `categoryId`
    pub category_id: Option<i64>,
    /// `status`, if one of the three.
    pub status: Option<String>,
    /// `id`, if the client sent an int64.
    pub id: Option<i64>,
}

impl CreateBody {
    /// Returns true if the response to the body must be 201, given that the service knows the category.
    pub fn is_plain(&self) -> bool {
        let CreateBody::NewPet(_, ambiguities) = self else { return false };
        ambiguities.iter().all(|ambiguity| *ambiguity == Ambiguity::UnknownCategory)
    }

    /// Marks a body with this category as one that the service may refuse, because it may not know the category.
    pub(crate) fn doubt_category(&mut self, category: i64) {
        if let CreateBody::NewPet(draft, ambiguities) = self
            && draft.category_id == Some(category)
        {
            ambiguities.push(Ambiguity::UnknownCategory);
        }
    }

    /// Returns true if the response to the body must be 201.
    pub fn is_valid(&self) -> bool {
        matches!(self, CreateBody::NewPet(_, ambiguities) if ambiguities.is_empty())
    }

    /// The members of the animal that could be read.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            CreateBody::Faulty(_, draft) | CreateBody::NewPet(draft, _) => Some(draft),
            CreateBody::OtherMedia | CreateBody::Malformed | CreateBody::Unclear | CreateBody::Extended => None,
        }
    }
}

/// Reads and classifies the body of a creation. A body with one of the given names, those of earlier creations, is ambiguous.
pub(super) fn create_body(request: &Request, context: &Context, names: &HashSet<String>) -> CreateBody {
    let Some(body) = &request.body else { return no_body(context) };
    let is_labelled = is_plain_json(&body.content_type)
        && !["content-type", "content-encoding"].into_iter().any(|field| request.further(field).next().is_some());
    let mut read = match (&body.bytes[..], is_labelled) {
        ([], true) => no_body(context),
        ([], false) => CreateBody::Malformed,
        (bytes, true) => of_bytes(bytes, context, names),
        // A reader of another format finds no NewPet in JSON at fault.
        (bytes, false) => match of_bytes(bytes, context, names) {
            CreateBody::Faulty(..) => CreateBody::Malformed,
            _ => CreateBody::OtherMedia,
        },
    };
    match &mut read {
        CreateBody::NewPet(_, ambiguities) => {
            ambiguities.extend(request.is_chunked().then_some(Ambiguity::NoLength));
            ambiguities.extend(request.has_query().then_some(Ambiguity::UnknownParameter));
        }
        CreateBody::Faulty(faults, _) => {
            faults.extend((request.is_chunked() || request.has_query()).then_some(Fault::Unread));
        }
        CreateBody::OtherMedia | CreateBody::Malformed | CreateBody::Unclear | CreateBody::Extended => {}
    }
    read
}

fn no_body(context: &Context) -> CreateBody {
    let fault = if context.extent == Extent::Run { Fault::NoObject } else { Fault::NoLength };
    CreateBody::Faulty(vec![fault], Draft::default())
}

/// Returns true for `application/json`, alone or with the charset UTF-8. Another spelling, charset or parameter may be refused.
fn is_plain_json(content_type: &str) -> bool {
    let (media_type, parameters) = content_type.split_once(';').unwrap_or((content_type, "charset=utf-8"));
    let parameter = parameters.trim().to_ascii_lowercase();
    media_type.trim() == "application/json" && parameter == "charset=utf-8"
}

/// Classifies a body by its bytes.
fn of_bytes(bytes: &[u8], context: &Context, names: &HashSet<String>) -> CreateBody {
    let of_json = |json: &Json| of_json(json, bytes, context, names);
    match Json::parse(bytes) {
        Ok(json) => return of_json(&json),
        Err(NotJson::TooMany) => return CreateBody::Unclear,
        Err(_) => {}
    }
    let or_malformed = |is_new_pet: bool, kind| if is_new_pet { kind } else { CreateBody::Malformed };
    let is_new_pet = |json: &Json| matches!(of_json(json), CreateBody::NewPet(..));
    // Some readers ignore a byte order mark, or accept half of a surrogate pair.
    let unmarked = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if let Ok(json) = Json::parse_foreign(unmarked) {
        return or_malformed(is_new_pet(&json), CreateBody::Unclear);
    }
    let text = as_text(bytes);
    or_malformed(
        match extended::read(&text) {
            Reading::Cut => false,
            // A reader may go by the last of several values.
            Reading::Value(json, rest) => is_new_pet(&json) || mentions_members(&rest),
            Reading::Unknown => mentions_members(&text),
        },
        CreateBody::Extended,
    )
}

/// Returns true if a text in an unknown grammar has the required members of a NewPet.
fn mentions_members(text: &str) -> bool {
    text.contains("name") && text.contains("categoryId")
}

/// The text of a body, as a lenient reader decodes it: without bytes that are not UTF-8. In UTF-16 and UTF-32, ASCII characters stand among
/// zero bytes.
fn as_text(bytes: &[u8]) -> String {
    let is_wide = bytes.iter().take(4).any(|byte| *byte == 0);
    let narrow: Vec<u8> = bytes.iter().copied().filter(|byte| !is_wide || *byte != 0).collect();
    narrow.utf8_chunks().map(|chunk| chunk.valid()).collect()
}

/// Classifies a body by its JSON. `bytes` is the whole body.
fn of_json(json: &Json, bytes: &[u8], context: &Context, names: &HashSet<String>) -> CreateBody {
    let Json::Object(members) = json else { return CreateBody::Faulty(vec![Fault::NoObject], Draft::default()) };

    let (mut ambiguities, mut draft) = (Vec::new(), Draft::default());
    let mut seen = HashSet::new();
    for (name, value) in members {
        if !seen.insert(name.as_str()) {
            ambiguities.push(Ambiguity::RepeatedMember);
        }
        match name.as_str() {
            "name" | "categoryId" | "status" => {}
            "id" => {
                draft.id = value.as_int64();
                ambiguities.push(Ambiguity::ClientId);
            }
            _ => ambiguities.push(Ambiguity::UnknownMember),
        }
        if matches!(value, Json::Number(number) if number.text.len() > MODEST_DIGITS) {
            ambiguities.push(Ambiguity::Size);
        }
    }

    let mut faults = Vec::new();
    match member(members, "name", name).unwrap_or(Err(Fault::NameMissing)) {
        Ok(name) => {
            // A name without the mark of the run may belong to an animal of an earlier run.
            let is_fresh = context.name_mark.as_ref().is_none_or(|mark| name.contains(mark.as_str()));
            if !is_fresh || !is_plain_name(&name) || names.contains(&name) {
                ambiguities.push(Ambiguity::Name);
            }
            draft.name = Some(name);
        }
        Err(fault) => faults.push(fault),
    }
    match member(members, "categoryId", category).unwrap_or(Err(Fault::CategoryMissing)) {
        Ok((category, text)) => {
            if text != category.to_string() {
                ambiguities.push(Ambiguity::IntegralNumber);
            }
            if category != context.category_id {
                ambiguities.push(Ambiguity::Category);
            }
            draft.category_id = Some(category);
        }
        Err(fault) => faults.push(fault),
    }
    match member(members, "status", status) {
        Some(Ok(None)) => ambiguities.push(Ambiguity::NullStatus),
        Some(Ok(status)) => draft.status = status,
        Some(Err(fault)) => faults.push(fault),
        None => {}
    }

    if context.extent != Extent::Run {
        ambiguities.push(Ambiguity::Unvouched);
    }
    if bytes.len() > MODEST_BODY {
        ambiguities.push(Ambiguity::Size);
    }
    if depth(bytes) > MODEST_DEPTH {
        ambiguities.push(Ambiguity::Nesting);
    }
    if faults.is_empty() {
        return CreateBody::NewPet(draft, ambiguities);
    }
    let may_be_unread = ambiguities.iter().any(|one| matches!(one, Ambiguity::Size | Ambiguity::Nesting));
    faults.extend(may_be_unread.then_some(Fault::Unread));
    CreateBody::Faulty(faults, draft)
}

fn name(value: &Json) -> Result<String, Fault> {
    match value {
        Json::String(name) => Ok(name.clone()),
        _ => Err(Fault::NameType),
    }
}

/// The category, and its text.
fn category(value: &Json) -> Result<(i64, &str), Fault> {
    match value {
        Json::Number(number) => match number.whole {
            Whole::Int64(category) => Ok((category, &number.text)),
            Whole::OutOfRange | Whole::Fraction => Err(Fault::CategoryRange),
        },
        _ => Err(Fault::CategoryType),
    }
}

/// The status, or none for null.
fn status(value: &Json) -> Result<Option<String>, Fault> {
    match value {
        Json::Null => Ok(None),
        Json::String(status) if STATUSES.contains(&status.as_str()) => Ok(Some(status.clone())),
        _ => Err(Fault::StatusEnum),
    }
}

/// Reads a member of an object. The specification does not say which of several members with one name counts, so the last one without a
/// fault does, and the member is at fault only if each of them is.
fn member<'m, T>(
    members: &'m [(String, Json)],
    name: &str,
    read: impl Fn(&'m Json) -> Result<T, Fault>,
) -> Option<Result<T, Fault>> {
    let values = members.iter().rev().filter(|(member, _)| member == name).map(|(_, value)| read(value));
    values.reduce(Result::or)
}

/// The number of levels to which arrays and objects are nested in a JSON text.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in outside_strings(text) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Words that readers take for another value than a text, in lower case.
const RESERVED: &str = "f false inf infinity n na nan nil no none null off on t true undefined unset void y yes";

/// Returns true if no constraint could sensibly exclude a name: it has letters, and at most digits, single inner spaces and hyphens besides,
/// and is no word or number to a reader.
pub fn is_plain_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.len() <= MODEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '-')
        && name.chars().any(|c| c.is_ascii_alphabetic())
        && !name.contains("  ")
        && !RESERVED.split(' ').any(|word| word == lower)
        && name.parse::<f64>().is_err()
        && !["0x", "0o", "0b"].iter().any(|base| lower.starts_with(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: &Request) -> CreateBody {
        create_body(request, &Context::for_test(), &HashSet::from(["Used 1".to_owned()]))
    }

    fn bytes(bytes: impl Into<Vec<u8>>) -> CreateBody {
        read(&Request::new("POST", "/pets").json(bytes))
    }

    fn body(json: &str) -> CreateBody {
        bytes(json)
    }

    fn ambiguities(json: &str) -> Vec<Ambiguity> {
        let read = body(json);
        if let CreateBody::NewPet(_, ambiguities) = read { ambiguities } else { panic!("{json}: {read:?}") }
    }

    fn fault(read: CreateBody) -> Vec<Fault> {
        if let CreateBody::Faulty(faults, _) = read { faults } else { panic!("{read:?}") }
    }

    const ANIMAL: &str = r#"{"name":"Heron 1","categoryId":1}"#;

    #[test]
    fn a_body_is_valid_only_if_it_has_no_ambiguity() {
        for valid in [
            ANIMAL,
            r#"{"name":"Heron 1","categoryId":1,"status":"sold"}"#,
            r#"{"n\u0061me":"\u0048eron 1","categoryId":1}"#,
            "\r\n\t{ \"categoryId\" : 1 , \"name\" : \"Heron 1\" } ",
        ] {
            assert!(body(valid).is_valid(), "{valid}");
        }
        for (json, expected) in [
            (r#"{"name":"","categoryId":1}"#, Ambiguity::Name),
            (r#"{"name":"Used 1","categoryId":1}"#, Ambiguity::Name),
            (r#"{"name":"Zoë","categoryId":1}"#, Ambiguity::Name),
            (r#"{"name":"Heron\u0000","categoryId":1}"#, Ambiguity::Name),
            (r#"{"name":"Heron \ufdd0","categoryId":1}"#, Ambiguity::Name),
            (r#"{"name":"null","categoryId":1}"#, Ambiguity::Name),
            (r#"{"name":"Heron 1","categoryId":2}"#, Ambiguity::Category),
            (r#"{"name":"Heron 1","categoryId":1.0}"#, Ambiguity::IntegralNumber),
            (r#"{"name":"Heron 1","categoryId":10e-1}"#, Ambiguity::IntegralNumber),
            (r#"{"name":"Heron 1","categoryId":1,"status":null}"#, Ambiguity::NullStatus),
            (r#"{"name":"Heron 1","categoryId":1,"id":5}"#, Ambiguity::ClientId),
            (r#"{"name":"Heron 1","categoryId":1,"id":"x"}"#, Ambiguity::ClientId),
            (r#"{"name":"Heron 1","categoryId":1,"__proto__":{}}"#, Ambiguity::UnknownMember),
            (r#"{"name":"Heron 1","Name":"Heron 2","categoryId":1}"#, Ambiguity::UnknownMember),
            (r#"{"name":5,"name":"Heron 1","categoryId":1}"#, Ambiguity::RepeatedMember),
            (r#"{"name":"Heron 1","name":5,"categoryId":1}"#, Ambiguity::RepeatedMember),
            (r#"{"name":"Heron 1","categoryId":1,"status":"sold","status":"lost"}"#, Ambiguity::RepeatedMember),
        ] {
            assert_eq!(ambiguities(json), [expected], "{json}");
        }
    }

    #[test]
    fn a_fault_stays_a_fault_despite_an_ambiguity() {
        for (json, expected) in [
            ("null", Fault::NoObject),
            ("[]", Fault::NoObject),
            (r#"["Heron 1",1]"#, Fault::NoObject),
            (r#"[{"name":"Heron 1","categoryId":1}]"#, Fault::NoObject),
            (r#""{\"name\":\"Heron 1\",\"categoryId\":1}""#, Fault::NoObject),
            (r#"{"categoryId":1,"colour":"grey"}"#, Fault::NameMissing),
            (r#"{"Name":"Heron 1","categoryId":1}"#, Fault::NameMissing),
            (r#"{"name\u0000":"Heron 1","categoryId":1}"#, Fault::NameMissing),
            (r#"{"categoryId":1,"x":1,"x":2}"#, Fault::NameMissing),
            (r#"{"name":null,"categoryId":1}"#, Fault::NameType),
            (r#"{"name":5,"Name":"Heron 1","categoryId":1}"#, Fault::NameType),
            (r#"{"name":5,"name":null,"categoryId":1}"#, Fault::NameType),
            (r#"{"name":"Heron 1"}"#, Fault::CategoryMissing),
            (r#"{"name":"Heron 1","category_id":1}"#, Fault::CategoryMissing),
            (r#"{"name":"Heron 1","categoryId":"1"}"#, Fault::CategoryType),
            (r#"{"name":"Heron 1","categoryId":{"$numberLong":"1"}}"#, Fault::CategoryType),
            (r#"{"name":"Heron 1","categoryId":1.5}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":1.0000000000000000001}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":1e-400}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":9223372036854775808}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":9.3e18}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":1,"status":"Sold","id":1}"#, Fault::StatusEnum),
            (r#"{"name":"Heron 1","categoryId":1,"status":{"sold":null}}"#, Fault::StatusEnum),
            (r#"{"name":"Heron 1","categoryId":1,"status":"lost","status":0}"#, Fault::StatusEnum),
        ] {
            assert_eq!(fault(body(json)), [expected], "{json}");
        }
        let both = r#"{"pet":{"name":"Heron 1","categoryId":1}}"#;
        assert_eq!(fault(body(both)), [Fault::NameMissing, Fault::CategoryMissing]);
    }

    #[test]
    fn what_readers_of_json_differ_about_is_unclear_unless_it_is_at_fault() {
        let many = format!(r#"{{"name":"Heron 1","categoryId":1,"colours":[{}0]}}"#, "0,".repeat(100_000));
        for (what, text, expected) in [
            ("a byte order mark", format!("\u{feff}{ANIMAL}"), CreateBody::Unclear),
            ("half a pair", r#"{"name":"\ud800","categoryId":1}"#.to_owned(), CreateBody::Unclear),
            ("very many values", many, CreateBody::Unclear),
            ("a mark and no category", "\u{feff}{\"name\":\"Heron 1\"}".to_owned(), CreateBody::Malformed),
            ("half a pair and no category", r#"{"name":"\ud800"}"#.to_owned(), CreateBody::Malformed),
            ("half a pair in a status", format!(r#"{},"status":"sold\ud800"}}"#, &ANIMAL[..32]), CreateBody::Malformed),
        ] {
            assert_eq!(body(&text), expected, "{what}");
        }
    }

    #[test]
    fn a_body_that_ends_too_early_or_is_at_fault_in_any_grammar_is_malformed() {
        for text in [
            " ",
            "{",
            "hello",
            "<pet/>",
            &ANIMAL[..32],
            &ANIMAL[..20],
            r#"{"name":"Heron 1","categoryId":1,"#,
            r"{'name':'Heron 1','categoryId':1",
            r#"{"name":"Heron 1","categoryId":NaN}"#,
            r#"{"name":"Heron 1","categoryId":-Infinity}"#,
            r#"{"name":"Heron 1","categoryId":undefined}"#,
            r#"{"name":"Heron 1","categoryId":one}"#,
            r#"{"name":"Heron 1","categoryId":1.5,}"#,
            r#"{"name":5,"categoryId":1,}"#,
            r#"{"name":5,"categoryId":1} x"#,
            r"{'name':'Heron 1'}",
            r"{'name':None,'categoryId':1}",
            r#"{"name":"Heron 1","categoryId":1,"status":SOLD}"#,
            r#"["Heron 1",1] x"#,
            r#"{"name":"Heron 1",/* the category */}"#,
            "Name=Heron&CategoryId=1",
        ] {
            assert_eq!(body(text), CreateBody::Malformed, "{text}");
        }
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        assert_eq!(bytes(wide(r#"{"name":5,"categoryId":1}"#)), CreateBody::Malformed, "UTF-16");
        assert_eq!(bytes(wide(&ANIMAL[..32])), CreateBody::Malformed, "cut UTF-16");
    }

    #[test]
    fn what_is_an_animal_to_readers_that_extend_json_only_is_no_fault_that_is_stated() {
        for text in [
            r#"{"name":"Heron 1","categoryId":1,}"#,
            r#"{"name":"Heron 1","categoryId":007}"#,
            r#"{"name":"Heron 1","categoryId":+1}"#,
            r#"{"name":"Heron 1","categoryId":0x1}"#,
            r#"{"name":"Heron 1","categoryId":1_0}"#,
            r#"{"name":"Heron 1","categoryId":NumberLong(1)}"#,
            "{\"name\":\"Heron 1\",\"categoryId\":\u{ff11}}",
            r#"{"name":"Heron 1",/* the category */"categoryId":1}"#,
            "{\"name\":\"Heron\t1\",\"categoryId\":1}",
            r#"{name:"Heron 1",categoryId:1}"#,
            r"{name: Heron, categoryId: 1, status: sold}",
            r"{name: Heron#1, categoryId: 1}",
            r"{'name':'Heron 1','categoryId':1}",
            r#"{"name":"Heron \q","categoryId":1}"#,
            r#"{"\x6eame":"Heron 1","categoryId":1}"#,
            r#"{"name":"Heron 1" "categoryId":1}"#,
            r#"{"name"=>"Heron 1","categoryId"=>1}"#,
            r#"{"name":"Heron 1","categoryId":1} x"#,
            r#"{"name":"Heron 1","categoryId":1}}"#,
            r#"{"name":"Heron 1","categoryId":1]"#,
            r#"{"name":"Heron 1","categoryId":1}{"name":5}"#,
            r#"{}{"name":"Heron 1","categoryId":1}"#,
            "{\"name\":\"Heron 1\",\"categoryId\":1}\0",
            r#")]}',{"name":"Heron 1","categoryId":1}"#,
            "name: Heron 1\ncategoryId: 1",
            "name=Heron&categoryId=1",
        ] {
            assert_eq!(body(text), CreateBody::Extended, "{text}");
        }
        assert_eq!(bytes(b"{\"name\":\"Heron \xff\",\"categoryId\":1}"), CreateBody::Extended, "not UTF-8");
        assert_eq!(bytes(b"{\"na\xffme\":\"Heron\",\"categoryId\":1}"), CreateBody::Extended, "not UTF-8 in a member");
        let wide = ANIMAL.encode_utf16().flat_map(u16::to_le_bytes);
        assert_eq!(bytes(wide.clone().collect::<Vec<u8>>()), CreateBody::Extended, "UTF-16");
        let marked = [0xff, 0xfe].into_iter().chain(wide).collect::<Vec<u8>>();
        assert_eq!(bytes(marked), CreateBody::Extended, "UTF-16 with its mark");
    }

    #[test]
    fn only_the_plain_media_type_determines_the_answer() {
        let labelled = |media_type: &str, text: &str| read(&Request::new("POST", "/pets").body(media_type, text));
        for plain in ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8"] {
            assert!(labelled(plain, ANIMAL).is_valid(), "{plain}");
        }
        for other in [
            "",
            "text/plain",
            "Application/JSON",
            "application/json;",
            "application/json; charset=\"utf-8\"",
            "application/json; charset=utf-16",
            "application/json; charset=latin1",
            "application/json; charset=x-unknown",
            "application/json; version=1",
            "application/json, text/plain",
            "application/merge-patch+json",
            "application/x-www-form-urlencoded",
        ] {
            assert_eq!(labelled(other, ANIMAL), CreateBody::OtherMedia, "{other}");
            assert_eq!(labelled(other, "name=Heron&categoryId=1"), CreateBody::OtherMedia, "{other}");
            assert_eq!(labelled(other, r#"{"name":5,"categoryId":1}"#), CreateBody::Malformed, "{other}: at fault");
            assert_eq!(labelled(other, ""), CreateBody::Malformed, "{other}: empty");
        }
        for (name, value) in [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")] {
            let request = Request::new("POST", "/pets").json(ANIMAL).header(name, value);
            assert_eq!(read(&request), CreateBody::OtherMedia, "{name}: {value}");
        }
    }

    #[test]
    fn nothing_that_others_sent_may_lack_a_length() {
        let read = |extent| {
            let context = Context { extent, ..Context::for_test() };
            create_body(&Request::new("POST", "/pets"), &context, &HashSet::new())
        };
        let faulty = |fault| CreateBody::Faulty(vec![fault], Draft::default());
        assert_eq!(read(Extent::Run), faulty(Fault::NoObject));
        assert_eq!(read(Extent::Complete), faulty(Fault::NoLength));
    }

    #[test]
    fn an_extreme_body_may_be_refused_for_its_size_its_depth_or_its_digits() {
        let animal = |rest: &str| format!(r#"{{"name":"Heron 1","categoryId":1{rest}}}"#);
        let nested = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            animal(&format!(r#","colour":{open}{close},"brackets":"[[\"[[""#))
        };
        let category = |number: &str| format!(r#"{{"name":"Heron 1","categoryId":{number}}}"#);
        for (what, text, ambiguity, is_extreme) in [
            ("1 KiB", animal(&" ".repeat(1024)), Ambiguity::Size, false),
            ("64 KiB", animal(&" ".repeat(64 * 1024)), Ambiguity::Size, true),
            ("16 levels", nested(16), Ambiguity::Nesting, false),
            ("3,000 levels", nested(3_000), Ambiguity::Nesting, true),
            ("20 zeros", category(&format!("1.{}", "0".repeat(20))), Ambiguity::Size, false),
            ("5,000 zeros", category(&format!("1.{}", "0".repeat(5_000))), Ambiguity::Size, true),
        ] {
            let CreateBody::NewPet(_, all) = body(&text) else { panic!("{what}") };
            assert_eq!(all.contains(&ambiguity), is_extreme, "{what}");
            let at_fault = fault(body(&text.replace(r#""Heron 1""#, "5")));
            assert_eq!(at_fault.contains(&Fault::Unread), is_extreme, "{what}, at fault");
            assert!(at_fault.contains(&Fault::NameType), "{what}, at fault");
        }
        assert_eq!(fault(body(&category(&"9".repeat(20)))), [Fault::CategoryRange]);
        assert_eq!(fault(body(&category(&"9".repeat(5_000)))), [Fault::CategoryRange, Fault::Unread]);
        let chunked = Request::new("POST", "/pets").json("{\"name\":\"Heron 1\"}").chunked();
        assert_eq!(fault(read(&chunked)), [Fault::CategoryMissing, Fault::Unread]);
    }

    #[test]
    fn a_plain_name_has_letters_and_nothing_that_a_constraint_could_exclude() {
        for plain in ["R", "Rex 1", "Rex-Max 2", "7 Up", "Nora", "Nullo"] {
            assert!(is_plain_name(plain), "{plain}");
        }
        for other in ["", " Rex", "Rex ", "Rex-", "-Rex", "Rex_1", "Rex  1", "12 3", "Zo\u{eb}", "a.b"] {
            assert!(!is_plain_name(other), "{other}");
        }
        for word in ["null", "True", "NaN", "undefined", "None", "yes", "NO", "off", "Infinity", "1e5", "0x1F"] {
            assert!(!is_plain_name(word), "{word}");
        }
    }
}
