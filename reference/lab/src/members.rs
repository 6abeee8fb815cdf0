//! The members of an animal, as layers change them.

use serde_json::{Map, Value};

/// The members of an animal.
pub(crate) type Members = Map<String, Value>;

/// Sets a member of an animal.
pub(crate) fn set(pet: &mut Members, member: &str, value: impl Into<Value>) {
    pet.insert(member.to_owned(), value.into());
}

/// Changes a member of an animal, if it is there and the function returns a value.
pub(crate) fn change(pet: &mut Members, member: &str, change: impl FnOnce(&Value) -> Option<Value>) {
    if let Some(value) = pet.get_mut(member)
        && let Some(changed) = change(value)
    {
        *value = changed;
    }
}

/// Returns true for the statuses that an animal can have.
pub(crate) fn is_status(text: &str) -> bool {
    ["available", "pending", "sold"].contains(&text)
}

/// Sets a member of an animal that lacks it.
pub(crate) fn set_missing(pet: &mut Members, member: &str, value: impl Into<Value>) {
    pet.entry(member).or_insert_with(|| value.into());
}
