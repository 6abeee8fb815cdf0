//! Addresses of requests in archives, split into the base URL of the service and the rest.

/// An absolute http or https URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Target {
    /// Scheme and host, in lower case, with the port if it is not that of the scheme.
    origin: String,
    /// The path, with its leading slash.
    path: String,
    query: Option<String>,
}

impl Target {
    /// Reads a URL without its user, its password and its fragment.
    pub(super) fn read(url: &str) -> Option<Target> {
        let (scheme, rest) = url.trim().split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let standard = match scheme.as_str() {
            "http" => ":80",
            "https" => ":443",
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        let host = host.strip_suffix(standard).unwrap_or(&host);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (rest, None),
        };
        let path = if path.is_empty() { "/" } else { path };
        (!host.is_empty()).then(|| Target { origin: format!("{scheme}://{host}"), path: path.to_owned(), query })
    }

    /// The base URL of the service, if the path is that of an operation that only an Animal Store has.
    pub(super) fn service(&self) -> Option<String> {
        ["/v1/pets", "/v1/store/orders"].into_iter().find_map(|operation| {
            let (before, rest) = self.path.split_once(operation)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{before}/v1", self.origin))
        })
    }

    /// The path and the query of the URL below a base URL.
    pub(super) fn below(self, base_url: &str) -> Option<(String, Option<String>)> {
        let base = Target::read(base_url)?;
        let path = self.path.strip_prefix(base.path.trim_end_matches('/')).filter(|_| base.origin == self.origin)?;
        match path {
            "" => Some(("/".to_owned(), self.query)),
            path if path.starts_with('/') => Some((path.to_owned(), self.query)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_what_stands_before_an_operation() {
        let service = |url: &str| Target::read(url)?.service();
        assert_eq!(
            service("HTTPS://Api.Example.com:443/v1/pets?limit=1").as_deref(),
            Some("https://api.example.com/v1")
        );
        assert_eq!(service("http://u:p@h:8080/a/v1/pets/7#x").as_deref(), Some("http://h:8080/a/v1"));
        for other in ["http://h/v1/petshop", "http://h/pets", "wss://h/v1/pets", "data:,/v1/pets", "http:///v1/pets"] {
            assert_eq!(service(other), None, "{other}");
        }
    }

    #[test]
    fn a_request_is_sent_below_its_base_url_or_elsewhere() {
        let below = |url: &str| Target::read(url)?.below("https://h/v1/");
        assert_eq!(below("https://H/v1/pets?status=sold"), Some(("/pets".to_owned(), Some("status=sold".to_owned()))));
        assert_eq!(below("https://h/v1"), Some(("/".to_owned(), None)));
        for other in ["http://h/v1/pets", "https://h:8443/v1/pets", "https://h/v10/pets", "https://h/"] {
            assert_eq!(below(other), None, "{other}");
        }
    }
}
