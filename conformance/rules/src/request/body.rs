//! The body of `POST /pets`: valid, at fault, or ambiguous.

use std::collections::HashSet;

use super::{STATUSES, extended};
use crate::trace::Context;
use crate::trace::exchange::Body;
use crate::trace::json::{Json, Whole, outside_strings};
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
    /// `categoryId` is outside int64 or has a fraction, and has more than 100 characters, for which any 4xx status code is lawful.
    CategoryDigits,
    /// `status` is outside the enumeration.
    StatusEnum,
}

impl Fault {
    /// The member that the fault is about; none if it is about the whole body.
    #[must_use]
    pub fn member(self) -> Option<&'static str> {
        match self {
            Fault::NoObject | Fault::NoLength => None,
            Fault::NameMissing | Fault::NameType => Some("name"),
            Fault::StatusEnum => Some("status"),
            _ => Some("categoryId"),
        }
    }
}

/// A property of a body for which it may lawfully be refused or accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ambiguity {
    /// The name is blank, long, has unusual characters or was used before.
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
    /// The body is so large that it may be refused for its size.
    Size,
    /// The body is nested so deeply that it may be refused for its depth.
    Nesting,
}

/// The body of `POST /pets`, classified.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateBody {
    /// A body with another media type than `application/json`.
    OtherMedia,
    /// A body that no reader takes for JSON: with further text after the JSON, with `NaN`, or not UTF-8.
    Malformed,
    /// A body of JSON that a reader may refuse: with a byte order mark, which RFC 8259 section 8.1 lets a reader ignore, or with half of an
    /// escaped surrogate pair, about which readers differ (section 8.2).
    Unclear,
    /// A NewPet to a reader that extends the grammar of JSON, as RFC 8259 section 9 allows: with a comment, or a comma after the last member.
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
    #[must_use]
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
    #[must_use]
    pub fn is_valid(&self) -> bool {
        matches!(self, CreateBody::NewPet(_, ambiguities) if ambiguities.is_empty())
    }

    /// The members of the animal that could be read.
    #[must_use]
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            CreateBody::Faulty(_, draft) | CreateBody::NewPet(draft, _) => Some(draft),
            CreateBody::OtherMedia | CreateBody::Malformed | CreateBody::Unclear | CreateBody::Extended => None,
        }
    }
}

/// Reads and classifies a body. A body with one of the given names, those of earlier creations, is ambiguous.
pub(super) fn create_body(body: Option<&Body>, context: &Context, names: &HashSet<String>) -> CreateBody {
    let nothing = || {
        let fault = if context.extent == Extent::Run { Fault::NoObject } else { Fault::NoLength };
        CreateBody::Faulty(vec![fault], Draft::default())
    };
    let Some(body) = body else { return nothing() };
    let media_type = body.content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if media_type != "application/json" {
        return CreateBody::OtherMedia;
    }
    if body.bytes.is_empty() {
        return nothing();
    }
    if let Ok(json) = Json::parse(&body.bytes) {
        return of_json(&json, &body.bytes, context, names);
    }
    // Some readers ignore a byte order mark, or accept half of a surrogate pair.
    let unmarked = body.bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body.bytes);
    if Json::parse_foreign(unmarked).is_ok() {
        return CreateBody::Unclear;
    }
    match extended::read(&body.bytes).map(|json| of_json(&json, &body.bytes, context, names)) {
        Some(CreateBody::NewPet(..)) => CreateBody::Extended,
        _ => CreateBody::Malformed,
    }
}

/// Classifies a body by its JSON. `bytes` is the whole body.
fn of_json(json: &Json, bytes: &[u8], context: &Context, names: &HashSet<String>) -> CreateBody {
    let Json::Object(members) = json else { return CreateBody::Faulty(vec![Fault::NoObject], Draft::default()) };

    let (mut faults, mut ambiguities, mut draft) = (Vec::new(), Vec::new(), Draft::default());
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
    }
    match json.get("name") {
        None => faults.push(Fault::NameMissing),
        Some(Json::String(name)) => {
            if !is_plain_name(name) || names.contains(name) {
                ambiguities.push(Ambiguity::Name);
            }
            draft.name = Some(name.clone());
        }
        Some(_) => faults.push(Fault::NameType),
    }
    match json.get("categoryId") {
        None => faults.push(Fault::CategoryMissing),
        Some(Json::Number(number)) => match number.whole() {
            Whole::Int64(category) => {
                if number.as_str().contains(['.', 'e', 'E']) {
                    ambiguities.push(Ambiguity::IntegralNumber);
                }
                if category != context.category_id {
                    ambiguities.push(Ambiguity::Category);
                }
                draft.category_id = Some(category);
            }
            Whole::OutOfRange | Whole::Fraction if number.as_str().len() > MODEST_DIGITS => {
                faults.push(Fault::CategoryDigits);
            }
            Whole::OutOfRange | Whole::Fraction => faults.push(Fault::CategoryRange),
        },
        Some(_) => faults.push(Fault::CategoryType),
    }
    match json.get("status") {
        None => {}
        Some(Json::Null) => ambiguities.push(Ambiguity::NullStatus),
        Some(Json::String(status)) if STATUSES.contains(&status.as_str()) => draft.status = Some(status.clone()),
        Some(_) => faults.push(Fault::StatusEnum),
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
    // The specification does not say which of two members counts, nor whether the size is checked first: no fault is certain then.
    let is_certain = !ambiguities
        .iter()
        .any(|ambiguity| matches!(ambiguity, Ambiguity::RepeatedMember | Ambiguity::Size | Ambiguity::Nesting));
    if !faults.is_empty() && is_certain {
        CreateBody::Faulty(faults, draft)
    } else {
        CreateBody::NewPet(draft, ambiguities)
    }
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

/// Returns true if no constraint could sensibly exclude a name: it has letters, and at most digits, single inner spaces and hyphens besides.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    name.len() <= MODEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '-')
        && name.chars().any(|c| c.is_ascii_alphabetic())
        && !name.contains("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> CreateBody {
        let body = Body { content_type: "application/json".to_owned(), bytes: json.into() };
        create_body(Some(&body), &Context::for_test(), &HashSet::from(["Used 1".to_owned()]))
    }

    #[test]
    fn a_body_is_valid_only_if_it_has_no_ambiguity() {
        assert!(body(r#"{"name":"Heron 1","categoryId":1}"#).is_valid());
        assert!(body(r#"{"name":"Heron 1","categoryId":1,"status":"sold"}"#).is_valid());
        for text in [
            r#"{"name":"","categoryId":1}"#,
            r#"{"name":"Used 1","categoryId":1}"#,
            r#"{"name":"Zoë","categoryId":1}"#,
            r#"{"name":"Heron 1","categoryId":2}"#,
            r#"{"name":"Heron 1","categoryId":1.0}"#,
            r#"{"name":"Heron 1","categoryId":1,"status":null}"#,
            r#"{"name":"Heron 1","categoryId":1,"id":5}"#,
            r#"{"name":"Heron 1","categoryId":1,"colour":"grey"}"#,
            r#"{"name":"Heron 1","Name":"Heron 2","categoryId":1}"#,
            r#"{"Name":5,"name":"Heron 1","categoryId":1,"CategoryId":"x","Status":"lost"}"#,
            r#"{"name":5,"name":"Heron 1","categoryId":1}"#,
        ] {
            assert!(matches!(body(text), CreateBody::NewPet(_, ambiguities) if !ambiguities.is_empty()), "{text}");
        }
    }

    #[test]
    fn a_fault_stays_a_fault_despite_an_ambiguity() {
        for (json, fault) in [
            ("null", Fault::NoObject),
            ("[]", Fault::NoObject),
            (r#"{"categoryId":1,"colour":"grey"}"#, Fault::NameMissing),
            (r#"{"name":null,"categoryId":1}"#, Fault::NameType),
            (r#"{"name":"Heron 1"}"#, Fault::CategoryMissing),
            (r#"{"name":"Heron 1","categoryId":"1"}"#, Fault::CategoryType),
            (r#"{"name":"Heron 1","categoryId":1.5}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":9223372036854775808}"#, Fault::CategoryRange),
            (r#"{"name":"Heron 1","categoryId":1,"status":"Sold","id":1}"#, Fault::StatusEnum),
        ] {
            assert!(matches!(body(json), CreateBody::Faulty(faults, _) if faults == [fault]), "{json}");
        }
        assert_eq!(body("{"), CreateBody::Malformed);
    }

    #[test]
    fn what_readers_of_json_differ_about_is_unclear_and_anything_else_is_json_or_not() {
        let animal = r#"{"name":"Heron 1","categoryId":1}"#;
        for text in [format!("\u{feff}{animal}"), r#"{"name":"\ud800","categoryId":1}"#.to_owned()] {
            assert_eq!(body(&text), CreateBody::Unclear, "{text}");
        }
        for text in [
            animal[..20].to_owned(),
            format!("{animal} x"),
            format!("{animal}{animal}"),
            r#"{"name":"Heron 1","categoryId":NaN}"#.to_owned(),
            r#"{"name":5,"categoryId":1,}"#.to_owned(),
            r#"{"name":"Heron 1",/* the category */}"#.to_owned(),
            r#"{"name":"\ud800","categoryId":1} x"#.to_owned(),
        ] {
            assert_eq!(body(&text), CreateBody::Malformed, "{text}");
        }
        let bytes = b"{\"name\":\"Heron \xff\",\"categoryId\":1}".to_vec();
        let broken = Body { content_type: "application/json".to_owned(), bytes };
        assert_eq!(create_body(Some(&broken), &Context::for_test(), &HashSet::new()), CreateBody::Malformed);
    }

    #[test]
    fn what_is_an_animal_to_readers_that_extend_json_only_is_no_fault_that_is_stated() {
        for text in [
            r#"{"name":"Heron 1","categoryId":1,}"#,
            r#"{"name":"Heron 1","categoryId":007}"#,
            r#"{"name":"Heron 1","categoryId":+1}"#,
            r#"{"name":"Heron 1",/* the category */"categoryId":1}"#,
            "{\"name\":\"Heron\t1\",\"categoryId\":1}",
            r#"{name:"Heron 1",categoryId:1}"#,
            r"{'name':'Heron 1','categoryId':1}",
            r#"{"name":"Heron \q","categoryId":1}"#,
        ] {
            assert_eq!(body(text), CreateBody::Extended, "{text}");
        }
    }

    #[test]
    fn nothing_that_others_sent_may_lack_a_length() {
        let read = |extent| {
            let context = Context { extent, ..Context::for_test() };
            create_body(None, &context, &HashSet::new())
        };
        let faulty = |fault| CreateBody::Faulty(vec![fault], Draft::default());
        assert_eq!(read(Extent::Run), faulty(Fault::NoObject));
        assert_eq!(read(Extent::Complete), faulty(Fault::NoLength));
    }

    #[test]
    fn an_extreme_body_may_be_refused_for_its_size_its_depth_or_its_digits() {
        let animal = |rest: &str| body(&format!(r#"{{"name":"Heron 1","categoryId":1{rest}}}"#));
        let nested = |levels: usize| {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            animal(&format!(r#","colour":{open}{close},"brackets":"[[\"[[""#))
        };
        let category = |digits: usize| body(&format!(r#"{{"name":"Heron 1","categoryId":{}}}"#, "9".repeat(digits)));
        for (read, ambiguity, is_extreme) in [
            (animal(&" ".repeat(1024)), Ambiguity::Size, false),
            (animal(&" ".repeat(64 * 1024)), Ambiguity::Size, true),
            (nested(16), Ambiguity::Nesting, false),
            (nested(3_000), Ambiguity::Nesting, true),
        ] {
            let CreateBody::NewPet(_, all) = read else { panic!("{read:?}") };
            assert_eq!(all.contains(&ambiguity), is_extreme, "{ambiguity:?}");
        }
        for (digits, fault) in [(20, Fault::CategoryRange), (5_000, Fault::CategoryDigits)] {
            assert!(matches!(category(digits), CreateBody::Faulty(faults, _) if faults == [fault]), "{digits}");
        }
    }

    #[test]
    fn a_plain_name_has_letters_and_nothing_that_a_constraint_could_exclude() {
        for plain in ["R", "Rex 1", "Rex-Max 2", "7 Up"] {
            assert!(is_plain_name(plain), "{plain}");
        }
        for other in ["", " Rex", "Rex ", "Rex-", "-Rex", "Rex_1", "Rex  1", "12 3", "Zo\u{eb}", "a.b"] {
            assert!(!is_plain_name(other), "{other}");
        }
    }
}
