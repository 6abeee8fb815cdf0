//! Sentences of findings, with their values: "{} with Remaining {} of {}", and 200, 61 and 60.
//!
//! A rule states values. Only [`fmt::Display`] makes a text of them, and nothing reads that text again: two findings are of one kind if
//! their sentences differ in values only.

use std::fmt;

use crate::trace::json::Json;

/// A sentence whose marks `{}` stand for its values, in order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sentence {
    text: &'static str,
    values: Vec<Value>,
}

/// A value in a sentence.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A status code. Findings with different status codes are of different kinds.
    Status(u16),
    /// A number: a count, a figure, an identifier, or a time in seconds.
    Number(i128),
    /// A text that differs from case to case, such as a member or the value of a header field.
    Text(String),
    /// A word of the API or of the judge, such as the name of an operation. Findings with different words are of different kinds.
    Word(&'static str),
    /// Further sentences, separated by commas.
    Sentences(Vec<Sentence>),
}

impl Sentence {
    /// A sentence with as many values as it has marks.
    pub fn new(text: &'static str, values: Vec<Value>) -> Sentence {
        debug_assert_eq!(text.matches("{}").count(), values.len(), "{text}");
        Sentence { text, values }
    }

    /// Returns true if two sentences are of one kind: they differ at most in numbers and in texts.
    pub fn is_alike(&self, other: &Sentence) -> bool {
        self.text == other.text && self.values.iter().zip(&other.values).all(|(one, other)| one.is_alike(other))
    }
}

impl Value {
    fn is_alike(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Number(_), Value::Number(_)) | (Value::Text(_), Value::Text(_)) => true,
            (Value::Sentences(one), Value::Sentences(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_alike(other))
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.text.split("{}");
        f.write_str(parts.next().unwrap_or_default())?;
        for (value, part) in self.values.iter().zip(parts) {
            write!(f, "{value}{part}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Status(status) => write!(f, "{status}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
            Value::Word(word) => f.write_str(word),
            Value::Sentences(sentences) => sentences.iter().enumerate().try_for_each(|(place, sentence)| {
                let comma = if place == 0 { "" } else { ", " };
                write!(f, "{comma}{sentence}")
            }),
        }
    }
}

impl From<&'static str> for Sentence {
    fn from(text: &'static str) -> Sentence {
        Sentence { text, values: Vec::new() }
    }
}

macro_rules! values {
    ($($from:ty: |$it:ident| $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($it: $from) -> Value {
                $value
            }
        })*
    };
}

values! {
    &'static str: |word| Value::Word(word);
    String: |text| Value::Text(text);
    &Json: |json| Value::Text(json.to_string());
    Sentence: |sentence| Value::Sentences(vec![sentence]);
    Vec<Sentence>: |sentences| Value::Sentences(sentences);
    u16: |number| Value::Number(number.into());
    i32: |number| Value::Number(number.into());
    u32: |number| Value::Number(number.into());
    i64: |number| Value::Number(number.into());
    u64: |number| Value::Number(number.into());
    usize: |number| Value::Number(number as i128);
}

/// Makes a [`Sentence`]: `sentence!("Remaining {} of {}", remaining, limit)`.
macro_rules! sentence {
    ($text:literal $(, $value:expr)* $(,)?) => {
        $crate::sentence::Sentence::new($text, vec![$($crate::sentence::Value::from($value)),*])
    };
}
pub(crate) use sentence;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_replaced_by_its_value() {
        assert_eq!(sentence!("{} of {}, {}", 7_u64, 60_u64, "in all").to_string(), "7 of 60, in all");
        let nested: Vec<Sentence> = vec!["no id".into(), sentence!("name is {}", "{}".to_owned())];
        assert_eq!(sentence!("404: {}", nested).to_string(), "404: no id, name is {}");
        assert_eq!(Sentence::from("nothing").to_string(), "nothing");
    }

    #[test]
    fn numbers_and_texts_make_no_kind_and_status_codes_and_words_do() {
        let found = |status, remaining: u64, text: &str, word| {
            sentence!("{} with {}: {}, {}", Value::Status(status), remaining, text.to_owned(), word)
        };
        let one = found(200, 7, "a", "list");
        assert!(one.is_alike(&found(200, 8, "b", "list")));
        for other in [found(201, 7, "a", "list"), found(200, 7, "a", "get"), "with".into()] {
            assert!(!one.is_alike(&other), "{other}");
        }
    }
}
