//! Request targets with characters that belong percent-encoded, such as a raw quotation mark. Clients send them, and it is up to the server
//! what to make of them, but the parser refuses them: between the two streams, a character for private use stands for each.

/// The first of the characters that stand for bytes.
const FIRST: u32 = 0xE000;

/// The characters of ASCII that the parser refuses somewhere in a target.
const REFUSED: &[u8] = b"\"<>`";

/// The target of the request line with which these bytes begin, if they begin with a whole one.
fn target(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    let line = bytes.iter().take(MOST).position(|byte| *byte == b'\r')?;
    let method = bytes[..line].iter().position(|byte| *byte == b' ')?;
    let end = bytes[..line].iter().rposition(|byte| *byte == b' ')?;
    let is_request = bytes[..method].iter().all(u8::is_ascii_uppercase) && bytes[end + 1..line].starts_with(b"HTTP/1.");
    (is_request && method > 0 && method < end).then_some(method + 1..end)
}

/// The maximum length of a request line that is changed, in bytes.
const MOST: usize = 16 * 1024;

/// These bytes with stand-ins in the request line, if it needs any.
pub(super) fn with_stand_ins(bytes: &[u8]) -> Option<Vec<u8>> {
    let place = target(bytes)?;
    let sent = &bytes[place.clone()];
    let is_text = std::str::from_utf8(sent).is_ok();
    let needs_one = |byte: u8| REFUSED.contains(&byte) || !byte.is_ascii() && !is_text;
    sent.iter().any(|byte| needs_one(*byte)).then(|| {
        let mut changed = bytes[..place.start].to_vec();
        for byte in sent {
            match char::from_u32(FIRST + u32::from(*byte)).filter(|_| needs_one(*byte)) {
                Some(stand_in) => changed.extend(stand_in.encode_utf8(&mut [0; 4]).bytes()),
                None => changed.push(*byte),
            }
        }
        changed.extend_from_slice(&bytes[place.end..]);
        changed
    })
}

/// A target with the bytes in place of their stand-ins, if it has any.
pub(super) fn without_stand_ins(target: &[u8]) -> Option<Vec<u8>> {
    let is_stand_in = |c: &char| (FIRST..FIRST + 0x100).contains(&u32::from(*c));
    let text = std::str::from_utf8(target).ok().filter(|text| text.chars().any(|c| is_stand_in(&c)))?;
    let mut restored = Vec::with_capacity(target.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(FIRST)) {
            Ok(byte) => restored.push(byte),
            Err(_) => restored.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Some(restored)
}

/// The head of a request with the bytes of its target in place of their stand-ins, if it has any.
pub(super) fn restored(bytes: &[u8]) -> Option<Vec<u8>> {
    let place = target(bytes)?;
    let target = without_stand_ins(&bytes[place.clone()])?;
    Some([&bytes[..place.start], &target, &bytes[place.end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_parser_refuses_has_a_stand_in_until_it_is_sent_on() {
        for sent in [
            &b"/v1/pets?name=\"Rex\"&a=<b>"[..],
            b"/v1/`<\"",
            b"/v1/pets?name=R\xe9x",
            "/v1/pets?name=Zo\u{eb}\"".as_bytes(),
        ] {
            let head = [b"GET ", sent, b" HTTP/1.1\r\nIf-Match: \"x\"\r\n\r\n"].concat();
            let changed = with_stand_ins(&head).expect("a change");
            assert!(changed.ends_with(b" HTTP/1.1\r\nIf-Match: \"x\"\r\n\r\n"));
            let place = target(&changed).expect("a target");
            let parsed = std::str::from_utf8(&changed[place.clone()]).expect("text").parse::<hyper::Uri>();
            assert!(parsed.is_ok(), "{parsed:?}");
            assert_eq!(without_stand_ins(&changed[place]).expect("stand-ins"), sent);
        }
        for other in [&b"GET /v1/pets?a=%22 HTTP/1.1\r\n\r\n"[..], b"{\"a\": \"b\"}\r\n", b"If-Match: \"x\"\r\n"] {
            assert_eq!(with_stand_ins(other), None);
        }
    }
}
