//! Names that announce a secret, and values that are ordinary words.

/// Words in the names of header fields, variables, cookies and parameters that carry a credential.
const CREDENTIALS: &str =
    "access assertion auth bearer bypass cookie credential jwt key pass pwd secret session signature token";

/// Returns true if the name of a header field, a variable or a parameter indicates a credential.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    (name == "sid" || CREDENTIALS.split(' ').any(|word| name.contains(word)))
        && ![":", "accept", "access-control-", "user-agent", "idempotency-key"]
            .iter()
            .any(|other| name.starts_with(other))
}

/// Words of the service and of HTTP, in lower case. A text that is a part of them is no part of a secret.
const ORDINARY: &str = "available pending sold categoryid category status message limit offset cursor name id code error errors \
    application/json application/problem+json application/x-www-form-urlencoded application/octet-stream multipart/form-data \
    text/html text/plain charset=utf-8 keep-alive no-cache, no-store must-revalidate max-age=0 public private transfer-encoding \
    chunked content-type content-length content-encoding gzip, deflate, br identity accept-encoding accept-language en-us,en;q=0.9 \
    authorization: bearer unauthorized invalid missing api key api_key api-key apikey x-api-key x-auth-token access_token \
    x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset retry-after rate limit exceeded too many requests deprecation sunset \
    successor-version location date server connection close www-authenticate realm= animal store animals pets orders /v1/pets \
    /v1/store/orders localhost 127.0.0.1 http:// https:// staging production development example.com internal conformance conform \
    reference candidate requests responses exchange exchanges expected found recorded traffic requirement requirements undefined \
    malformed required forbidden not found method not allowed internal server error bad request service unavailable gateway";

/// Returns true if a text is an ordinary word of exchanges, or has no letter, so that texts are not searched for it.
pub fn is_ordinary(text: &str) -> bool {
    ORDINARY.contains(&text.to_ascii_lowercase()) || !text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_known_and_those_of_other_fields_are_not() {
        for name in [
            "X-Api-Key",
            "x-vercel-protection-bypass",
            "Cf-Access-Jwt-Assertion",
            "X-Pass",
            "Proxy-Authorization",
            "sid",
        ] {
            assert!(is_credential(name), "{name}");
        }
        for name in
            ["Accept", "User-Agent", "Content-Type", "limit", "status", "Access-Control-Allow-Origin", "X-Tenant"]
        {
            assert!(!is_credential(name), "{name}");
        }
    }

    #[test]
    fn words_and_numbers_are_ordinary_and_keys_are_not() {
        assert!(is_ordinary("Available") && is_ordinary("20301205") && is_ordinary("ation/js"));
        assert!(!is_ordinary("sk-live-") && !is_ordinary("hunter2!"));
    }
}
