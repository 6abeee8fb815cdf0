//! What RFC 9112 asks of a request's head beyond what hyper enforces.

use http::{HeaderMap, Request, Version, header};

use crate::error::ApiError;

/// Why a request must be refused whatever it asks for, if it must.
pub(super) fn fault<B>(request: &Request<B>) -> Option<ApiError> {
    host_fault(request.version(), request.headers()).or_else(|| coding_fault(request.headers()))
}

/// Section 3.2: one valid `Host`, which only HTTP/1.0 may omit.
fn host_fault(version: Version, headers: &HeaderMap) -> Option<ApiError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version == Version::HTTP_10 => None,
        (None, _) => Some(ApiError::bad_request("the Host header is missing")),
        (Some(_), Some(_)) => Some(ApiError::bad_request("there is more than one Host header")),
        (Some(host), None) if is_host(host.as_bytes()) => None,
        (Some(_), None) => Some(ApiError::bad_request("the Host header is not a host with an optional port")),
    }
}

/// Whether the bytes are `uri-host [ ":" port ]` (RFC 3986 section 3.2.2). A host may be empty: that is what a
/// client sends whose target has none.
fn is_host(value: &[u8]) -> bool {
    let (host_is_valid, port) = match value {
        [b'[', rest @ ..] => {
            let Some(end) = rest.iter().position(|byte| *byte == b']') else { return false };
            (is_ip_literal(&rest[..end]), &rest[end + 1..])
        }
        _ => {
            let end = value.iter().position(|byte| *byte == b':').unwrap_or(value.len());
            (is_reg_name(&value[..end]), &value[end..])
        }
    };
    host_is_valid
        && match port {
            [] => true,
            [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
            _ => false,
        }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}

/// A name or an IPv4 address.
fn is_reg_name(name: &[u8]) -> bool {
    let mut rest = name;
    loop {
        rest = match rest {
            [] => return true,
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => rest,
            [byte, rest @ ..] if is_plain(*byte) => rest,
            _ => return false,
        }
    }
}

/// What stands between brackets: an IPv6 address, or an address of a later version.
fn is_ip_literal(literal: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(literal) else { return false };
    match text.strip_prefix(['v', 'V']) {
        None => text.parse::<std::net::Ipv6Addr>().is_ok(),
        Some(future) => future.split_once('.').is_some_and(|(version, address)| {
            !version.is_empty()
                && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !address.is_empty()
                && address.bytes().all(|byte| is_plain(byte) || byte == b':')
        }),
    }
}

/// Section 6.1 and 7: the only transfer coding that is understood is `chunked`, and it may be applied once. Hyper has
/// already refused a request that does not end with it.
fn coding_fault(headers: &HeaderMap) -> Option<ApiError> {
    let mut chunked = 0;
    for value in headers.get_all(header::TRANSFER_ENCODING) {
        let codings = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        for coding in codings.filter(|coding| !coding.is_empty()) {
            if !coding.eq_ignore_ascii_case(b"chunked") {
                return Some(ApiError::not_implemented("the only transfer coding that is understood is chunked"));
            }
            chunked += 1;
        }
    }
    (chunked > 1).then(|| ApiError::bad_request("the transfer coding chunked is applied more than once"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_an_optional_port() {
        for good in [
            "",
            "localhost",
            "example.org:8080",
            "127.0.0.1",
            "[::1]",
            "[2001:db8::7]:443",
            "a_b",
            "%41",
            "x:",
            "[v1.x:y]",
        ] {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in [
            "a b", "a/b", "a@b", "a?b", "a#b", "a,b c", "http://a", "a:b", "a:80:80", "::1", "[::1", "[::1]x", "[x]",
            "[]", "%4", "%zz", "a\\b", "<a>", "\"a\"", "a\u{e9}", "[v.x]", "[v1.]", "[v1]", "a:+1",
        ] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn only_old_versions_may_omit_the_host_and_none_may_repeat_it() {
        let status = |version, hosts: &[&'static str]| {
            let mut request = Request::builder().version(version);
            for host in hosts {
                request = request.header(header::HOST, *host);
            }
            fault(&request.body(()).expect("a request")).map(|error| error.status.as_u16())
        };
        assert_eq!(status(Version::HTTP_11, &["a"]), None);
        assert_eq!(status(Version::HTTP_10, &[]), None);
        for (version, hosts) in [
            (Version::HTTP_11, &[][..]),
            (Version::HTTP_11, &["a", "a"]),
            (Version::HTTP_10, &["a", "b"]),
            (Version::HTTP_11, &["a b"]),
            (Version::HTTP_10, &["a b"]),
        ] {
            assert_eq!(status(version, hosts), Some(400), "{version:?} {hosts:?}");
        }
    }

    #[test]
    fn chunked_is_the_only_transfer_coding_and_applied_once() {
        let status = |codings: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for coding in codings {
                headers.append(header::TRANSFER_ENCODING, coding.parse().expect("a header"));
            }
            coding_fault(&headers).map(|error| error.status.as_u16())
        };
        for good in [&[][..], &["chunked"], &["Chunked"], &[", chunked ,"]] {
            assert_eq!(status(good), None, "{good:?}");
        }
        for bad in [&["chunked, chunked"][..], &["chunked", "chunked"]] {
            assert_eq!(status(bad), Some(400), "{bad:?}");
        }
        for bad in [&["gzip, chunked"][..], &["gzip", "chunked"], &["identity, chunked"], &["chunked;x=1"]] {
            assert_eq!(status(bad), Some(501), "{bad:?}");
        }
    }
}
