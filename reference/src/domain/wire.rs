//! The JSON body that clients send, a `NewPet`, read strictly.
//!
//! Repeated members, numbers that are no integers (1.0 is one) or beyond int64, and `null` for a status are refused. Unknown members
//! are ignored, an `id` among them.

use serde::de::{Error, value};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::domain::int64;

/// The availability of an animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PetStatus {
    /// The animal can be bought.
    Available,
    /// The animal is reserved.
    Pending,
    /// The animal was bought.
    Sold,
}

impl PetStatus {
    /// All statuses, in the order of the specification. The database has their places in it.
    pub const ALL: [Self; 3] = [Self::Available, Self::Pending, Self::Sold];

    /// The status with exactly this name, which it has in JSON and in the query.
    pub fn parse(name: &str) -> Option<Self> {
        Self::deserialize(value::StrDeserializer::<value::Error>::new(name)).ok()
    }
}

/// The body of a request to add an animal.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with name and categoryId")]
pub struct NewPet {
    /// The name of the animal: any text, kept exactly.
    pub name: String,
    /// The identifier of the animal's category: any int64.
    #[serde(deserialize_with = "int64")]
    pub category_id: i64,
    /// The status of the animal, which stays absent if it is not given.
    #[serde(default, deserialize_with = "status")]
    pub status: Option<PetStatus>,
}

impl NewPet {
    /// Reads a request body.
    ///
    /// # Errors
    ///
    /// A sentence about the defect of the body, with its place where that helps.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("the body is missing: send a JSON object with name and categoryId".to_owned());
        }
        // A derived reader takes an array of the values for an object.
        if body.trim_ascii_start().first() == Some(&b'[') {
            return Err("the body is an array: send an object with name and categoryId".to_owned());
        }
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }
}

/// Reads a number from its text with [`int64::parse`], so that no digit is lost.
fn int64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let written = <&RawValue>::deserialize(deserializer)?.get();
    int64::parse(written).ok_or_else(|| D::Error::custom("categoryId must be an integer within int64"))
}

/// Reads a status that is given, which must not be null.
fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PetStatus>, D::Error> {
    let status = PetStatus::parse(&String::deserialize(deserializer)?);
    status.map(Some).ok_or_else(|| D::Error::custom("status must be one of available, pending and sold"))
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
