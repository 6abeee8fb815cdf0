//! Differences between requests that cannot change a lawful response.
//!
//! Left out is what a lawful service or an intermediary may refuse: HTTP/1.0 (a gateway may demand a later version), `Origin` (a service may
//! refuse other origins), the names of browsers and of curl in `User-Agent` (an edge may refuse robots), another case of the scheme, and
//! parameters that the specification does not name. `Cache-Control` would hide the faults of caches that obey it.

use crate::trace::exchange::{Connection, Request};

/// A header field of clients, with the values that its clients send.
#[derive(Clone, Copy, Debug)]
pub struct HarmlessField {
    /// The name, with the capitals that clients use.
    pub name: &'static str,
    /// Values beside the absence of the field. Every value admits the usual response.
    pub values: &'static [&'static str],
}

/// The fields that a run varies.
pub const FIELDS: [HarmlessField; 5] = [
    HarmlessField {
        name: "Accept",
        values: &["application/json", "application/json, text/plain, */*", "application/json;q=0.9, */*;q=0.1"],
    },
    HarmlessField { name: "Accept-Encoding", values: &["gzip", "gzip;q=0.9, identity;q=0.5"] },
    HarmlessField { name: "Accept-Language", values: &["de-DE, de;q=0.8, *;q=0.1", "ar-EG, *;q=0.1"] },
    HarmlessField {
        name: "User-Agent",
        values: &["axios/1.7.7 (animal-store-conform)", "Java/21.0.4 (animal-store-conform)"],
    },
    // Python's urllib and clients without a pool ask for the end of the connection.
    HarmlessField { name: "Connection", values: &["close"] },
];

/// The difference of a request whose header fields have capitals.
pub const CAPITALS: &str = "capitals in the names of header fields";

fn is_harmless((name, value): &(String, String)) -> bool {
    FIELDS.iter().any(|field| field.name.eq_ignore_ascii_case(name) && field.values.contains(&value.as_str()))
}

/// The harmless differences of a request from a plain one: header fields with their values, the names of these fields, and [`CAPITALS`].
pub fn differences(request: &Request) -> Vec<String> {
    let mut differences: Vec<String> = Vec::new();
    for (name, value) in request.headers.iter().filter(|field| is_harmless(field)) {
        if name.starts_with(|first: char| first.is_ascii_uppercase())
            && !differences.iter().any(|known| known == CAPITALS)
        {
            differences.push(CAPITALS.to_owned());
        }
        let name = name.to_ascii_lowercase();
        differences.extend([format!("{name}: {value}"), name]);
    }
    differences
}

/// The request without its harmless differences, on a connection of its own, to any address of the service.
pub fn plain(request: &Request) -> Request {
    let mut plain = Request { connection: Connection::Own, replica: None, ..request.clone() };
    plain.headers.retain(|field| !is_harmless(field));
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::may_be_refused_at_edge;
    use crate::trace::conditions::change_the_answer;

    #[test]
    fn no_harmless_field_allows_another_response() {
        for (name, value) in FIELDS.iter().flat_map(|field| field.values.iter().map(|value| (field.name, *value))) {
            let request = Request::new("GET", "/pets").header(name, value);
            assert!(!change_the_answer(&request, Some(200)) && !may_be_refused_at_edge(&request), "{name}: {value}");
            let lower = name.to_ascii_lowercase();
            assert_eq!(differences(&request), [CAPITALS.to_owned(), format!("{lower}: {value}"), lower]);
            assert_eq!(plain(&request), Request::new("GET", "/pets"));
        }
    }

    #[test]
    fn other_values_are_kept() {
        let request = Request::new("GET", "/pets").header("Accept-Encoding", "br");
        assert_eq!((differences(&request), plain(&request)), (Vec::new(), request));
    }
}
