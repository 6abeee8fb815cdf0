//! The interface description: OpenAPI 3.1, in `openapi.json` beside this file. Tests compare it with the constants that the server uses.
//!
//! The description is served at `/openapi.json`, printed by `reference openapi`, and kept in `fixtures/openapi.json`.

use serde_json::Value;

/// The description of a server whose API lives below `base_path`.
#[must_use]
pub fn document(base_path: &str) -> Value {
    // A test reads it.
    let mut document: Value = serde_json::from_str(include_str!("openapi.json")).unwrap_or_default();
    document["servers"][0]["url"] = if base_path.is_empty() { "/" } else { base_path }.into();
    document
}

/// The document as text, with a line feed at its end.
#[must_use]
pub fn render(document: &Value) -> String {
    // The alternate form indents; a value that is built in memory can always be written.
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::app::RequestLimits;
    use crate::api::deprecation::SUNSET_DATE;
    use crate::api::query::{DEFAULT_LIMIT, MAX_LIMIT};
    use crate::domain::wire::PetStatus;

    #[test]
    fn the_description_has_the_figures_of_the_server() {
        let document = document("/v1");
        let at = |pointer: &str| document.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).clone();
        let limit = at("/paths/~1pets/get/parameters/0/schema");
        assert_eq!((&limit["default"], &limit["maximum"]), (&DEFAULT_LIMIT.into(), &MAX_LIMIT.into()));
        assert_eq!(at("/components/schemas/Pets/maxItems"), MAX_LIMIT);
        assert_eq!(at("/components/schemas/PetStatus/enum"), serde_json::json!(PetStatus::ALL.map(PetStatus::name)));
        let body = at("/paths/~1pets/post/requestBody/description").to_string();
        assert!(body.contains(&RequestLimits::default().max_body.to_string()), "{body}");
        assert_eq!(at("/components/headers/Sunset/schema/pattern"), format!("^{SUNSET_DATE}$"));
        let sunset = at("/paths/~1pets~1{petId}/get/description").to_string();
        assert!(sunset.contains(SUNSET_DATE), "{sunset}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document("/v1");
        let mut waiting = vec![&document];
        let mut found = 0;
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(members) => waiting.extend(members.values()),
                Value::Array(items) => waiting.extend(items),
                Value::String(text) if text.starts_with("#/") => {
                    found += 1;
                    assert!(document.pointer(&text[1..]).is_some(), "{text}");
                }
                _ => {}
            }
        }
        assert!(found > 50);
    }

    #[test]
    fn the_committed_description_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/openapi.json");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == render(&document("/v1")),
            "fixtures/openapi.json is stale; refresh it with: \
             cargo run -p animal-store-reference -- openapi > fixtures/openapi.json"
        );
    }
}
