//! Just enough HTTP/1.1 to write requests and to find where an answer ends.

use anyhow::{Context, ensure};

/// Where an answer's parts lie in a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) status: u16,
    /// Where the body begins.
    pub(crate) body: usize,
    /// Where the body ends.
    pub(crate) end: usize,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Takes an answer out of the buffer that `frame` describes.
    pub(crate) fn parse(buffer: &[u8], frame: Frame) -> anyhow::Result<Answer> {
        let head = std::str::from_utf8(&buffer[..frame.body]).context("the answer's head is not UTF-8")?;
        let headers = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Answer { status: frame.status, headers, body: buffer[frame.body..frame.end].to_vec() })
    }
}

/// A request without a body.
pub(crate) fn get(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n").into_bytes()
}

/// A request with a JSON body.
pub(crate) fn post(path: &str, key: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The answer at the beginning of `buffer`; none while it is incomplete.
pub(crate) fn frame(buffer: &[u8]) -> anyhow::Result<Option<Frame>> {
    let mut length = None;
    let mut line_start = 0;
    while let Some(line_length) = buffer[line_start..].iter().position(|&byte| byte == b'\n') {
        let line = buffer[line_start..line_start + line_length].trim_ascii_end();
        line_start += line_length + 1;
        if line.is_empty() {
            let length: usize =
                length.context("an answer has no Content-Length; this client reads no other framing")?;
            let end = line_start + length;
            return Ok((buffer.len() >= end).then_some(Frame { status: status(buffer)?, body: line_start, end }));
        }
        if length.is_none() {
            length = content_length(line)?;
        }
    }
    ensure!(buffer.len() < 64 * 1024, "the head of an answer does not end");
    Ok(None)
}

/// The status in the first line, `HTTP/1.1 200 OK`.
fn status(buffer: &[u8]) -> anyhow::Result<u16> {
    let digits = buffer.get(9..12).filter(|_| buffer.starts_with(b"HTTP/1.1 "));
    digits
        .and_then(|digits| std::str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .context("an answer does not begin with an HTTP/1.1 status line")
}

fn content_length(line: &[u8]) -> anyhow::Result<Option<usize>> {
    const NAME: &[u8] = b"content-length:";
    if line.len() <= NAME.len() || !line[..NAME.len()].eq_ignore_ascii_case(NAME) {
        return Ok(None);
    }
    let digits = line[NAME.len()..].trim_ascii();
    let length = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    length.map(Some).context("an answer's Content-Length is no number")
}

/// The value of the member `id` of a flat JSON object, without the cost of a parser.
pub(crate) fn id(body: &[u8]) -> Option<i64> {
    const MEMBER: &[u8] = b"\"id\":";
    let start = body.windows(MEMBER.len()).position(|window| window == MEMBER)? + MEMBER.len();
    let rest = body[start..].trim_ascii_start();
    let end = rest.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-').unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_its_length_says() {
        let buffer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]HTTP/1.1";
        let frame = frame(buffer).expect("a lawful answer").expect("a whole answer");
        assert_eq!(frame.status, 200);
        assert_eq!(&buffer[frame.body..frame.end], b"[]");
    }

    #[test]
    fn a_part_of_an_answer_is_no_answer_yet() {
        let whole = b"HTTP/1.1 201 Created\r\ncontent-length: 3\r\nx: y\r\n\r\nabc";
        for end in 0..whole.len() {
            assert_eq!(frame(&whole[..end]).expect("nothing wrong so far"), None, "{end} bytes");
        }
        assert!(frame(whole).expect("a lawful answer").is_some());
    }

    #[test]
    fn an_answer_without_a_length_is_refused() {
        assert!(frame(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(frame(b"HTTP/1.1 200 OK\r\ncontent-length: some\r\n\r\n").is_err());
    }

    #[test]
    fn headers_and_body_are_taken_apart() {
        let buffer = b"HTTP/1.1 404 Not Found\r\nX-A: b: c\r\ncontent-length: 1\r\n\r\n!";
        let frame = frame(buffer).expect("a lawful answer").expect("a whole answer");
        let answer = Answer::parse(buffer, frame).expect("UTF-8");
        assert_eq!(answer.status, 404);
        assert_eq!(answer.headers[0], ("x-a".to_owned(), "b: c".to_owned()));
        assert_eq!(answer.body, b"!");
    }

    #[test]
    fn ids_are_found_with_and_without_spaces() {
        assert_eq!(id(br#"{"id":17,"name":"a"}"#), Some(17));
        assert_eq!(id(br#"{"name":"a","id": -9223372036854775808}"#), Some(i64::MIN));
        assert_eq!(id(b"{}"), None);
    }
}
