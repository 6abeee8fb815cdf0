//! The list of routes: their paths, their place in the API, and their names in logs.

/// The path of the catalogue below the base path: list and create.
pub const PETS: &str = "/pets";
/// The path of one animal below the base path.
pub const PET: &str = "/pets/{petId}";
/// The path of the store orders below the base path.
pub const ORDERS: &str = "/store/orders";

/// The path of the health check.
pub const HEALTH: &str = "/healthz";
/// The path of the interface description.
pub const OPENAPI: &str = "/openapi.json";

/// The routes that need no key and lie outside the base path.
const UNAUTHENTICATED: [&str; 2] = [HEALTH, OPENAPI];

/// Returns true if a path belongs to the API, so that its requests need a key.
#[must_use]
pub fn in_api(base_path: &str, path: &str) -> bool {
    below(base_path, path).is_some() && !UNAUTHENTICATED.contains(&path)
}

/// The name of a route in logs. Paths themselves are never logged: a client may have put its key into one.
#[must_use]
pub fn name(base_path: &str, path: &str) -> &'static str {
    if let Some(page) = UNAUTHENTICATED.into_iter().find(|page| path == *page) {
        return page;
    }
    let Some(rest) = below(base_path, path) else { return "unknown" };
    let route = [PETS, PET, ORDERS].into_iter().find(|route| match route.split_once('{') {
        None => rest == *route,
        Some((start, _)) => {
            rest.strip_prefix(start).is_some_and(|segment| !segment.is_empty() && !segment.contains('/'))
        }
    });
    route.unwrap_or("unknown")
}

/// The part of a path below the base path: empty, or with a leading slash. `None` for a path outside the base path.
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
            ("/openapi.json", OPENAPI),
            ("/v1/pets/", "unknown"),
            ("/v1/pets/1/2", "unknown"),
            ("/v1/openapi.json", "unknown"),
            ("/v1", "unknown"),
            ("/pets", "unknown"),
            ("/v1x/pets", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(name("/v1", path), expected, "{path}");
        }
    }
}
