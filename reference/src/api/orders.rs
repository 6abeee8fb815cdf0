//! `GET /store/orders`. The specification names the operation and nothing else about it, so there are no
//! orders: always an empty list, marked experimental in the interface description.

use axum::body::Bytes;

use crate::api::respond::WrittenJson;

/// Lists no orders.
pub async fn list() -> WrittenJson {
    WrittenJson(Bytes::from_static(b"[]"))
}
