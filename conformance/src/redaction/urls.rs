//! URLs in messages, without their secrets.

use animal_store_secrets::HIDDEN;

/// The user and the password in a URL: `user:password`.
pub(super) fn userinfo(url: &str) -> Option<&str> {
    Some(url.split_once("://").map_or(url, |(_, rest)| rest).rsplit_once('@')?.0)
}

/// A URL without user and password, and without the values of its query: `http://(hidden)@host/v1?token=(hidden)`.
pub fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    let rest = match rest.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => rest.to_owned(),
    };
    let Some((place, query)) = rest.split_once('?') else { return format!("{scheme}{rest}") };
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    });
    format!("{scheme}{place}?{}", parameters.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_user_password_and_query_values() {
        for (url, shown) in [
            ("http://user:p@ss/w?d@host/v1", "http://(hidden)@host/v1"),
            ("user:pw@host/v1", "(hidden)@host/v1"),
            ("https://h/v1?token=abc&b#c", "https://h/v1?token=(hidden)&(hidden)"),
            ("http://h:1/v1", "http://h:1/v1"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
