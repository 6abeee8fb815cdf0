//! What the server writes in JSON bodies: a `Pet`, and the strings of an error.

use crate::store::AnimalRow;

/// Appends an animal as a JSON object.
pub(crate) fn write_pet(out: &mut Vec<u8>, pet: AnimalRow<'_>) {
    out.extend_from_slice(b"{\"id\":");
    write_integer(out, pet.id);
    out.extend_from_slice(b",\"name\":");
    write_string(out, pet.name);
    out.extend_from_slice(b",\"categoryId\":");
    write_integer(out, pet.category_id);
    if let Some(status) = pet.status {
        out.extend_from_slice(b",\"status\":\"");
        out.extend_from_slice(status.name().as_bytes());
        out.push(b'"');
    }
    out.push(b'}');
}

/// Appends a text as a JSON string.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    // Writing text to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

fn write_integer(out: &mut Vec<u8>, value: i64) {
    let _ = serde_json::to_writer(out, &value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pet_is_written_without_a_status_it_does_not_have() {
        let mut out = Vec::new();
        write_pet(&mut out, AnimalRow { id: 1, name: "\"\n🐱", category_id: i64::MIN, status: None });
        assert_eq!(String::from_utf8_lossy(&out), r#"{"id":1,"name":"\"\n🐱","categoryId":-9223372036854775808}"#);
        out.clear();
        write_pet(
            &mut out,
            AnimalRow { id: 2, name: "", category_id: 0, status: Some(crate::wire::PetStatus::Pending) },
        );
        assert_eq!(String::from_utf8_lossy(&out), r#"{"id":2,"name":"","categoryId":0,"status":"pending"}"#);
    }
}
