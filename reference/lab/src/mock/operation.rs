//! The operations of the API, as prepared answers and the log name them.

use animal_store_reference::routes::{ORDERS, PETS};
use serde::{Deserialize, Serialize};

/// An operation of the API.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Operation {
    ListPets,
    CreatePet,
    GetPet,
    ListOrders,
}

impl Operation {
    /// The operation that a request asks for, if it is one.
    pub(super) fn of(method: &str, path: &str) -> Option<Self> {
        let is_get = matches!(method, "GET" | "HEAD");
        match path {
            PETS if is_get => Some(Self::ListPets),
            PETS if method == "POST" => Some(Self::CreatePet),
            ORDERS if is_get => Some(Self::ListOrders),
            path if is_get && path.strip_prefix("/pets/").is_some_and(|id| !id.contains('/')) => Some(Self::GetPet),
            _ => None,
        }
    }
}
