//! `GET /store/orders`. The specification names the operation and nothing else about it, so there are no
//! orders: always an empty list, marked experimental in the interface description.

use bytes::Bytes;

use crate::respond::Reply;

/// Lists no orders.
#[must_use]
pub fn list() -> Reply {
    Reply::ok(Bytes::from_static(b"[]"))
}
