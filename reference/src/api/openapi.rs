//! The interface description: OpenAPI 3.1, in `fixtures/openapi.json`, to which `openapi.json` beside this file is a link. Tests compare
//! it with the constants that the server uses. It is served at `/openapi.json` and printed by `reference openapi`.

use serde_json::Value;

/// The description of a server whose API lives below `base_path`, with a line feed at its end.
pub(crate) fn text(base_path: &str) -> String {
    // A test reads it.
    let mut document: Value = serde_json::from_str(include_str!("openapi.json")).unwrap_or_default();
    document["servers"][0]["url"] = if base_path.is_empty() { "/" } else { base_path }.into();
    // The alternate form indents; a value that is built in memory can always be written.
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::handlers::REMOVAL;
    use crate::api::input::{DEFAULT_LIMIT, MAX_LIMIT};
    use crate::api::respond::{MAX_BODY, http_date};
    use crate::domain::wire::PetStatus;

    fn document() -> Value {
        serde_json::from_str(&text("/v1")).expect("JSON")
    }

    #[test]
    fn the_description_has_the_figures_of_the_server() {
        let document = document();
        let at = |pointer: &str| document.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).clone();
        let limit = at("/paths/~1pets/get/parameters/0/schema");
        assert_eq!((&limit["default"], &limit["maximum"]), (&DEFAULT_LIMIT.into(), &MAX_LIMIT.into()));
        assert_eq!(at("/components/schemas/Pets/maxItems"), MAX_LIMIT);
        assert_eq!(at("/components/schemas/PetStatus/enum"), serde_json::json!(PetStatus::ALL));
        let body = at("/paths/~1pets/post/requestBody/description").to_string();
        assert!(body.contains(&MAX_BODY.to_string()), "{body}");
        let removal = http_date(REMOVAL).to_str().expect("text").to_owned();
        assert_eq!(at("/components/headers/Sunset/schema/pattern"), format!("^{removal}$"));
        let sunset = at("/paths/~1pets~1{petId}/get/description").to_string();
        assert!(sunset.contains(&removal), "{sunset}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
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
    fn the_description_is_served_as_it_is_kept() {
        assert!(
            include_str!("openapi.json") == text("/v1"),
            "fixtures/openapi.json is not in the form of `reference openapi`"
        );
    }
}
