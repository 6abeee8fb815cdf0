//! What clients send in JSON bodies: a `NewPet`, read strictly.
//!
//! Reading refuses whatever is not certainly meant: repeated members, numbers with a fraction or beyond
//! int64, `null` for a status. Unknown members are ignored, an `id` among them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::int64;

/// The availability of an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PetStatus {
    /// It can be bought.
    Available,
    /// It is reserved.
    Pending,
    /// It was bought.
    Sold,
}

impl PetStatus {
    /// All of them, in the order of the specification.
    pub const ALL: [Self; 3] = [Self::Available, Self::Pending, Self::Sold];

    /// Its name in JSON and in the query.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Pending => "pending",
            Self::Sold => "sold",
        }
    }

    /// The status with exactly this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// The body of a request to add an animal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPet {
    /// Any text, kept exactly.
    pub name: String,
    /// The category it belongs to; any int64.
    pub category_id: i64,
    /// Stays absent when it is not given.
    pub status: Option<PetStatus>,
}

impl NewPet {
    /// Reads a request body.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong and, where that helps, where.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("the body is missing: send a JSON object with name and categoryId".to_owned());
        }
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }
}

impl<'de> Deserialize<'de> for NewPet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NewPetVisitor)
    }
}

struct NewPetVisitor;

impl<'de> Visitor<'de> for NewPetVisitor {
    type Value = NewPet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with name and categoryId")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<NewPet, A::Error> {
        let (mut name, mut category_id, mut status) = (None, None, None);
        while let Some(member) = members.next_key::<String>()? {
            match member.as_str() {
                "name" => once(&mut name, "name", members.next_value::<String>()?)?,
                "categoryId" => once(&mut category_id, "categoryId", members.next_value::<Int64>()?.0)?,
                "status" => once(&mut status, "status", members.next_value::<StatusName>()?.0)?,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(NewPet {
            name: name.ok_or_else(|| A::Error::missing_field("name"))?,
            category_id: category_id.ok_or_else(|| A::Error::missing_field("categoryId"))?,
            status,
        })
    }
}

fn once<T, E: Error>(slot: &mut Option<T>, member: &'static str, value: T) -> Result<(), E> {
    if slot.replace(value).is_some() { Err(E::duplicate_field(member)) } else { Ok(()) }
}

/// Kept as it was written until [`int64::parse`] reads it.
struct Int64(i64);

impl<'de> Deserialize<'de> for Int64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        int64::parse(written).map(Self).ok_or_else(|| D::Error::custom("categoryId must be an integer within int64"))
    }
}

struct StatusName(PetStatus);

impl<'de> Deserialize<'de> for StatusName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        PetStatus::parse(&name)
            .map(Self)
            .ok_or_else(|| D::Error::custom("status must be one of available, pending and sold"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<NewPet, String> {
        NewPet::parse(body.as_bytes())
    }

    #[test]
    fn a_complete_body_is_read_exactly() {
        let body = r#" {"categoryId":-9223372036854775808,"name":"a\u0000\ud83d\udc31","status":"sold","id":7,"x":[{"x":1e999}]} "#;
        let pet = NewPet { name: "a\0🐱".to_owned(), category_id: i64::MIN, status: Some(PetStatus::Sold) };
        assert_eq!(parse(body), Ok(pet));
        assert_eq!(parse(r#"{"name":"","categoryId":-0}"#).map(|pet| pet.category_id), Ok(0));
        assert_eq!(parse(r#"{"name":"","categoryId":9223372036854775807}"#).map(|pet| pet.category_id), Ok(i64::MAX));
    }

    #[test]
    fn the_error_for_a_body_that_is_no_object_says_what_is_expected() {
        let message = parse("[]").expect_err("an array is no animal");
        assert!(message.contains("an object with name and categoryId"), "{message}");
    }

    #[test]
    fn everything_doubtful_is_refused() {
        for body in [
            "",
            " ",
            "null",
            "1",
            "\"x\"",
            "[]",
            r#"["x",1]"#,
            "{}",
            "{",
            r#"{"name":"x"}"#,
            r#"{"categoryId":1}"#,
            r#"{"name":null,"categoryId":1}"#,
            r#"{"name":1,"categoryId":1}"#,
            r#"{"name":["x"],"categoryId":1}"#,
            r#"{"name":"x","categoryId":"1"}"#,
            r#"{"name":"x","categoryId":null}"#,
            r#"{"name":"x","categoryId":true}"#,
            r#"{"name":"x","categoryId":1.5}"#,
            r#"{"name":"x","categoryId":9223372036854775808}"#,
            r#"{"name":"x","categoryId":-9223372036854775809}"#,
            r#"{"name":"x","categoryId":01}"#,
            r#"{"name":"x","categoryId":+1}"#,
            r#"{"name":"x","categoryId":1}x"#,
            r#"{"name":"x","categoryId":1} {}"#,
            r#"{"name":"x","name":"x","categoryId":1}"#,
            r#"{"name":"x","categoryId":1,"categoryId":1}"#,
            r#"{"name":"x","categoryId":1,"status":null}"#,
            r#"{"name":"x","categoryId":1,"status":"Sold"}"#,
            r#"{"name":"x","categoryId":1,"status":""}"#,
            r#"{"name":"x","categoryId":1,"status":{"sold":null}}"#,
            r#"{"name":"\ud800","categoryId":1}"#,
            "{\"name\":\"\n\",\"categoryId\":1}",
            "\u{feff}{\"name\":\"x\",\"categoryId\":1}",
            r#"{"Name":"x","categoryId":1}"#,
            r#"{"name":"x","categoryId":1,}"#,
            "{'name':'x','categoryId':1}",
        ] {
            assert!(parse(body).is_err(), "{body}");
        }
        assert!(NewPet::parse(b"{\"name\":\"\xff\",\"categoryId\":1}").is_err(), "invalid UTF-8");
    }
}
