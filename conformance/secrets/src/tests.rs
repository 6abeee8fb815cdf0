use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE};
use proptest::prelude::*;

use super::*;

const KEY: &str = "aB+/c\"d&e'f<9";

fn redactor(key: &str) -> Redactor {
    let mut redactor = Redactor::default();
    redactor.hide_key(key, "${KEY}");
    redactor
}

/// The key percent-encoded, but for these bytes.
fn percent(key: &str, kept: impl Fn(u8) -> bool, digits: fn(u8) -> String) -> String {
    key.bytes()
        .map(|byte| if kept(byte) { char::from(byte).to_string() } else { format!("%{}", digits(byte)) })
        .collect()
}

fn upper(byte: u8) -> String {
    format!("{byte:02X}")
}

fn lower(byte: u8) -> String {
    format!("{byte:02x}")
}

fn each(key: &str, written: fn(u8) -> String) -> String {
    key.bytes().map(written).collect()
}

/// How a server may repeat a key: the name of the encoding, and the encoded key.
fn echoes(key: &str) -> Vec<(&'static str, String)> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let html = key.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\'', "&#39;");
    let json = serde_json::to_string(key).expect("a text");
    vec![
        ("as it is", key.to_owned()),
        ("lower case", key.to_ascii_lowercase()),
        ("upper case", key.to_ascii_uppercase()),
        ("percent-encoded", percent(key, plain, upper)),
        ("percent-encoded, a slash kept", percent(key, |byte| plain(byte) || byte == b'/', upper)),
        ("percent-encoded with lower-case digits", percent(key, plain, lower)),
        ("every byte percent-encoded", percent(key, |_| false, upper)),
        ("percent-encoded twice", percent(&percent(key, |_| false, lower), plain, upper)),
        ("a plus sign as a space", key.replace('+', " ")),
        ("a plus sign as a space, percent-encoded", percent(&key.replace('+', " "), plain, upper)),
        ("JSON", json[1..json.len() - 1].to_owned()),
        ("JSON with an escaped slash", json[1..json.len() - 1].replace('/', r"\/")),
        ("JSON within JSON", serde_json::to_string(&json).expect("a text")),
        ("JSON, every character escaped", each(key, |byte| format!(r"\u{byte:04x}"))),
        ("JSON with an escaped plus sign", json[1..json.len() - 1].replace('+', r"\u002B")),
        ("HTML", html.clone()),
        ("HTML with a decimal plus sign", html.replace('+', "&#43;")),
        ("HTML with a hexadecimal plus sign", html.replace('+', "&#x2b;")),
        ("HTML, every character as an entity", each(key, |byte| format!("&#{byte};"))),
        ("HTML with a named plus sign", html.replace('+', "&plus;")),
        ("hexadecimal", each(key, lower)),
        ("hexadecimal in upper case", each(key, upper)),
        ("escapes of C", each(key, |byte| format!(r"\x{byte:02x}"))),
        ("octal escapes of C", each(key, |byte| format!(r"\{byte:03o}"))),
        ("escapes of JavaScript", each(key, |byte| format!(r"\u{{{byte:x}}}"))),
        ("base64", BASE64_STANDARD.encode(key)),
        ("base64 without padding", BASE64_STANDARD_NO_PAD.encode(key)),
        ("base64 for URLs", BASE64_URL_SAFE.encode(key)),
        ("base64 as a user", BASE64_STANDARD.encode(format!("{key}:"))),
        ("base64 as a password", BASE64_STANDARD.encode(format!("ab:{key}"))),
        ("base64 after one byte", BASE64_STANDARD.encode(format!("x{key}yz"))),
        ("base64 after the scheme", BASE64_STANDARD.encode(format!("Bearer {key}"))),
        ("base64, percent-encoded", percent(&BASE64_STANDARD.encode(key), plain, upper)),
        ("base64 in hexadecimal digits", each(&BASE64_STANDARD.encode(key), lower)),
    ]
}

#[test]
fn a_key_is_found_in_every_encoding_that_a_server_may_repeat_it_in() {
    for (name, echo) in echoes(KEY) {
        for (before, after) in [("", ""), ("key ", " is invalid"), ("<b>", "</b>"), ("{\"a\":\"", "\"}")] {
            let shown = redactor(KEY).redact(&format!("{before}{echo}{after}"));
            assert!(shown.contains("${KEY}"), "{name}: {shown}");
            assert!(shown.starts_with(before) && shown.ends_with(after), "{name}: {shown}");
        }
    }
}

#[test]
fn what_is_substituted_has_the_case_of_the_key_and_no_encoding_leaves_the_key() {
    let (key, pseudonym) = ("sk-Live+4711/ab", "qv-Wmbx+0932/zt");
    let mut substitution = Redactor::default();
    substitution.hide_key(key, pseudonym);
    for (name, echo) in echoes(key) {
        let substituted = substitution.substitute_text(&format!("a {echo}."));
        assert!(!redactor(key).finds_in(substituted.as_bytes()), "{name}: {substituted}");
        assert!(substituted.starts_with("a ") && substituted.ends_with('.'), "{name}: {substituted}");
    }
    assert_eq!(substitution.substitute_text(key), pseudonym);
    assert_eq!(substitution.substitute_text(&key.to_ascii_uppercase()), pseudonym.to_ascii_uppercase());
    assert_eq!(substitution.substitute_text(&key.replace('+', " ")), pseudonym.replace('+', " "));
    assert_eq!(substitution.substitute_text(&key[1..]), pseudonym[1..]);
    let body = [b"\xff\x00", key.as_bytes(), b"\xfe"].concat();
    assert_eq!(substitution.substitute(&body), [b"\xff\x00", pseudonym.as_bytes(), b"\xfe"].concat());
}

#[test]
fn a_part_of_a_key_is_hidden_unless_it_is_a_word_or_short() {
    let redactor = redactor("sk-available-4711-qwertz");
    assert_eq!(
        redactor.redact("no key sk-avai..., lable-4711-qwe, status available"),
        "no key sk-avai..., (hidden), status available"
    );
    assert_eq!(redactor.redact("4711-qwertz and 11-qwert and -qwertz"), "(hidden) and (hidden) and -qwertz");
}

#[test]
fn a_note_shows_the_words_that_a_key_contains_and_no_key() {
    let redactor = redactor("sk-functional-4711").for_notes();
    assert_eq!(
        redactor.redact("the functional profile, with sk-functional-4711 as sk%2Dfunctional%2D4711"),
        "the functional profile, with ${KEY} as ${KEY}"
    );
}

#[test]
fn the_longer_of_two_secrets_is_found_and_the_one_in_the_right_case() {
    let mut redactor = Redactor::default();
    for (secret, replacement) in
        [("sk-12", "${CUT}"), ("sk-123", "${KEY}"), ("Sk-Live-1", "${LIVE}"), ("sK-lIVE-1", "${OTHER}")]
    {
        redactor.hide(secret, replacement);
    }
    assert_eq!(redactor.redact("Bearer sk-123x, sk-12; sk-123"), "Bearer ${KEY}x, ${CUT}; ${KEY}");
    assert_eq!(redactor.redact("Sk-Live-1 sK-lIVE-1 SK-LIVE-1"), "${LIVE} ${OTHER} ${LIVE}");
}

#[test]
fn a_short_key_is_found_in_its_own_case_and_in_no_encoding_that_words_may_be() {
    let redactor = redactor("Test");
    assert_eq!(redactor.redact("a test, a TEST, Test, %54est"), "a test, a TEST, ${KEY}, ${KEY}");
    let mut of_a_letter = Redactor::default();
    of_a_letter.hide("e", "${KEY}");
    of_a_letter.hide("sk-123", "${OTHER}");
    assert_eq!(of_a_letter.redact("Bearer e"), "B${KEY}ar${KEY}r ${KEY}");
    assert_eq!(of_a_letter.for_prose().redact("expected no sk-123"), "expected no ${OTHER}");
}

#[test]
fn bytes_that_are_not_utf_8_are_kept() {
    assert_eq!(redactor("sk-123").redact_bytes(b"\xff\x00sk-123\xfe"), b"\xff\x00${KEY}\xfe");
}

#[test]
fn no_part_of_a_key_remains_where_a_text_is_truncated() {
    let text = b"one sk-123 two sk-123 three";
    for at_most in 0..=text.len() {
        let (beginning, more) = redactor("sk-123").redact_beginning(text, at_most);
        let shown = String::from_utf8(beginning).expect("text");
        assert_eq!(more, at_most < text.len());
        assert!("one ${KEY} two ${KEY} three".starts_with(&shown), "{at_most}: {shown}");
    }
}

#[test]
fn a_key_shows_in_no_debug_output() {
    assert!(!format!("{:?}", redactor("sk-0451")).contains("0451"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_part_of_any_key_is_left_in_any_encoding_anywhere(
        // A key with what looks like an escape is another one once that is undone.
        key in r"[!-$'-\[\]-~]{12,40}",
        encoding in 0..34_usize,
        before in "[ -~]{0,12}",
        after in "[ -~]{0,12}",
    ) {
        let (name, echo) = echoes(&key).swap_remove(encoding);
        let shown = redactor(&key).redact(&format!("{before} {echo} {after}"));
        for read in std::iter::once(shown.clone().into_bytes()).chain(layers(shown.as_bytes(), |_| true).into_iter().map(|layer| layer.bytes)) {
            let read = String::from_utf8_lossy(&read).to_ascii_lowercase();
            for part in key.to_ascii_lowercase().as_bytes().windows(PART) {
                let part = String::from_utf8_lossy(part);
                prop_assert!(is_ordinary(&part) || !read.contains(&*part), "{name}: {part} of {key} is in {shown}");
            }
        }
    }
}

#[test]
fn a_secret_of_several_lines_or_beyond_ascii_is_found_in_encodings() {
    for secret in ["first line\nsecond line", "p\u{e4}ssw\u{f6}rt-4711"] {
        let mut redactor = Redactor::default();
        redactor.hide(secret, HIDDEN);
        let hex: String = secret.bytes().map(lower).collect();
        for text in [BASE64_STANDARD.encode(secret), hex] {
            assert!(redactor.finds_in(text.as_bytes()), "{text}");
        }
    }
}

#[test]
fn a_key_in_a_compressed_body_is_found_replaced_and_announced() {
    // The same JSON as gzip with and without a file name, and as zlib.
    for compressed in [
        "H4sIAAAAAAACA6tWykvMTVWyUgpKrVDSUUosyPROrQRyi7N1fTLLUnVNzA0NdROTklOUagGyIwP2KwAAAA==",
        "H4sICAAAAAAC/2EuanNvbgCrVspLzE1VslIKSq1Q0lFKLMj0Tq0EcouzdX0yy1J1TcwNDXUTk5JTlGoBsiMD9isAAAA=",
        "eJyrVspLzE1VslIKSq1Q0lFKLMj0Tq0EcouzdX0yy1J1TcwNDXUTk5JTlGoBI9gNKA==",
    ] {
        let body = BASE64_STANDARD.decode(compressed).expect("base64");
        let redactor = redactor("sk-Live-4711-abcd");
        let with = |inside: &[u8]| [b"before \x1f\x8b\x08 ", inside, b" after"].concat();
        for body in [&body[..], &body[..body.len() - 6]] {
            let found = announced(&with(body));
            assert!(found.iter().any(|found| found.value == "sk-Live-4711-abcd"), "{compressed}: {found:?}");
            let shown = redactor.redact_bytes(&with(body));
            assert!(shown.starts_with(&with(b"${KEY}")[..17]), "{shown:?}");
        }
        let mut substitution = Redactor::default();
        substitution.hide_key("sk-Live-4711-abcd", "qv-Wmbx-0932-ztuv");
        let substituted = substitution.substitute(&with(&body));
        assert!(!redactor.finds_in(&substituted) && substituted.ends_with(b" after"), "{substituted:?}");
    }
}
