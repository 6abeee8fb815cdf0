//! Header fields as they were sent, copied in one piece; they are parsed later, on the thread that judges.

use hyper::header::HeaderMap;

/// Lines of a name in lower case, a colon and a value. No name has a colon, and no value a line feed.
#[derive(Debug)]
pub(super) struct Fields(Vec<u8>);

impl Fields {
    /// The memory that the fields take, in bytes.
    pub(super) fn size(headers: &HeaderMap) -> usize {
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 2).sum()
    }

    /// Copies the fields. A slice of a message would keep all of its buffer alive.
    pub(super) fn of(headers: &HeaderMap) -> Fields {
        let mut lines = Vec::with_capacity(Fields::size(headers));
        for (name, value) in headers {
            lines.extend_from_slice(name.as_str().as_bytes());
            lines.push(b':');
            lines.extend_from_slice(value.as_bytes());
            lines.push(b'\n');
        }
        Fields(lines)
    }

    /// The names and values; characters that are not UTF-8 are replaced.
    pub(super) fn texts(&self) -> impl Iterator<Item = (String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let lines = self.0.split(|byte| *byte == b'\n');
        lines.filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((text(&line[..colon]), text(&line[colon + 1..])))
        })
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn fields_are_the_same_after_they_were_copied() {
        let mut headers = HeaderMap::new();
        headers.append("x-empty", HeaderValue::from_static(""));
        headers.append("x-time", HeaderValue::from_static("12:30:00 and more: a"));
        headers.append("x-time", HeaderValue::from_static("again"));
        headers.append("x-bytes", HeaderValue::from_bytes(b"a\xffb").expect("a value"));
        let fields: Vec<(String, String)> = Fields::of(&headers).texts().collect();
        let shown: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected =
            [("x-empty", ""), ("x-time", "12:30:00 and more: a"), ("x-time", "again"), ("x-bytes", "a\u{fffd}b")];
        assert_eq!(shown, expected);
    }
}
