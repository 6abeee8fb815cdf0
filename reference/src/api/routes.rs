//! The list of routes: which paths there are, which of them belong to the API, and how logs name them.

/// The catalogue: list and create.
pub const PETS: &str = "/pets";
/// One animal.
pub const PET: &str = "/pets/{petId}";
/// Store orders.
pub const ORDERS: &str = "/store/orders";

/// Whether the server can work.
pub const HEALTH: &str = "/healthz";
/// The interface description as JSON.
pub const OPENAPI: &str = "/openapi.json";
/// The interface description as a page.
pub const DOCS: &str = "/docs";

/// What leads to that page, where the API does not begin here.
pub const ROOT: &str = "/";

/// The routes that need no key and lie outside the base path.
const UNAUTHENTICATED: [&str; 3] = [HEALTH, OPENAPI, DOCS];

/// Whether a path belongs to the API, and so needs a key.
#[must_use]
pub fn in_api(base_path: &str, path: &str) -> bool {
    below(base_path, path).is_some() && !UNAUTHENTICATED.contains(&path)
}

/// The name of a route in logs. Paths themselves are never logged: a client may have put its key into one.
#[must_use]
pub fn name(base_path: &str, path: &str) -> &'static str {
    let is_page = |page: &&str| path == *page;
    let is_route = |route: &&str| match (below(base_path, path), route.split_once('{')) {
        (Some(rest), None) => rest == *route,
        (Some(rest), Some((start, _))) => {
            rest.strip_prefix(start).is_some_and(|segment| !segment.is_empty() && !segment.contains('/'))
        }
        (None, _) => false,
    };
    let page = UNAUTHENTICATED.into_iter().find(is_page);
    page.or_else(|| [PETS, PET, ORDERS].into_iter().find(is_route)).unwrap_or("unknown")
}

/// What follows the base path: nothing, or a path.
#[must_use]
pub fn below<'a>(base_path: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(base_path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_a_name_and_nothing_else_does() {
        for (path, expected) in [
            ("/v1/pets", PETS),
            ("/v1/pets/1", PET),
            ("/v1/pets/asdk_secret", PET),
            ("/v1/store/orders", ORDERS),
            ("/docs", DOCS),
            ("/v1/pets/", "unknown"),
            ("/v1/pets/1/2", "unknown"),
            ("/v1/docs", "unknown"),
            ("/v1", "unknown"),
            ("/pets", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(name("/v1", path), expected, "{path}");
        }
    }
}
