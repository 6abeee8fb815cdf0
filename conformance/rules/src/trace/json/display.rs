//! JSON as text, for sentences: compact, numbers and the order of members as they were read.

use std::fmt;

use super::Json;

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => value.fmt(f),
            Json::Number(number) => f.write_str(number.as_str()),
            Json::String(text) => quoted(f, text),
            Json::Array(items) => {
                f.write_str("[")?;
                items.iter().enumerate().try_for_each(|(at, item)| separated(f, at, |f| item.fmt(f)))?;
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                members.iter().enumerate().try_for_each(|(at, (name, value))| {
                    separated(f, at, |f| {
                        quoted(f, name)?;
                        write!(f, ":{value}")
                    })
                })?;
                f.write_str("}")
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "{}", serde_json::Value::from(text))
}

fn separated(
    f: &mut fmt::Formatter<'_>,
    at: usize,
    item: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if at > 0 {
        f.write_str(",")?;
    }
    item(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_it_was_read() {
        for text in [
            "null",
            "true",
            "1.0",
            "12345678901234567890123",
            r#""a \"b\" \u0001""#,
            "[]",
            r#"{"b":[1,{}],"a":"x","b":null}"#,
        ] {
            assert_eq!(Json::parse(text.as_bytes()).unwrap().to_string(), text);
        }
    }
}
