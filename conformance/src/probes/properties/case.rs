//! A generated request, without a name, a category and a key.

use crate::probes::replaced;
use crate::probes::session::Session;
use animal_store_rules::near_misses::with_another_character;
use animal_store_rules::trace::exchange::Request;
use animal_store_secrets::LEAST_DISTINCT;

/// The placeholder for a new plain name.
pub(super) const NAME: &str = "@NAME@";

/// The placeholder for the category of the options.
pub(super) const CATEGORY: &str = "@CATEGORY@";

/// A generated request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Case {
    /// `POST /pets` with this body, in which [`NAME`] and [`CATEGORY`] are filled in.
    Create(Vec<u8>),
    /// `GET /pets` with this query.
    List(String),
    /// `GET /pets/{petId}` with this path value.
    Get(String),
    /// A request without a valid key: the number of the operation, and the change of the key.
    Keyless(usize, Mutation),
}

/// A change of a valid key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mutation {
    /// The key is omitted.
    Absent,
    /// The key is replaced by another token.
    Other(String),
    /// This text is appended to the key.
    Suffix(String),
    /// This text is put before the key.
    Prefix(String),
    /// The key is shortened to this percentage of its length.
    Cut(usize),
    /// The character at this percentage of its length is changed.
    Changed(usize),
    /// The key is sent under another scheme, or under none.
    Scheme(&'static str),
}

impl Case {
    /// Returns true if a server, even a broken one, could create an animal for the request.
    pub(super) fn creates(&self) -> bool {
        matches!(self, Case::Create(_) | Case::Keyless(3 | 4, _))
    }

    /// The request, and whether it is sent with a valid key.
    pub(super) fn request(&self, session: &mut Session<'_>) -> (Request, bool) {
        match self {
            Case::Create(template) => (Request::new("POST", "/pets").json(fill(template, session)), true),
            Case::List(query) => (Request::new("GET", "/pets").query(query.as_str()), true),
            Case::Get(id) => (Request::new("GET", format!("/pets/{id}")), true),
            Case::Keyless(operation, mutation) => {
                let request = match operation {
                    0 => Request::new("GET", "/pets"),
                    1 => Request::new("GET", "/store/orders"),
                    2 => Request::new("GET", "/pets/1"),
                    3 => Request::new("POST", "/pets")
                        .json(fill(br#"{"name":"@NAME@","categoryId":@CATEGORY@}"#, session)),
                    4 => Request::new("POST", "/pets").json(fill(br#"{"name":"@NAME@"}"#, session)),
                    _ => Request::new("GET", "/pets").query("limit=0"),
                };
                let key = session.key();
                (mutation.apply(request, key.reveal()), false)
            }
        }
    }
}

fn fill(template: &[u8], session: &mut Session<'_>) -> Vec<u8> {
    // The placeholders are ASCII, so replacing them bytewise changes nothing else, not even invalid UTF-8.
    let category = session.trace().context.category_id.to_string();
    let filled = replaced(template, CATEGORY.as_bytes(), category.as_bytes());
    if filled.windows(NAME.len()).any(|window| window == NAME.as_bytes()) {
        let name = session.fresh_name();
        replaced(&filled, NAME.as_bytes(), name.as_bytes())
    } else {
        filled
    }
}

impl Mutation {
    fn apply(&self, request: Request, key: &str) -> Request {
        // A key is ASCII.
        let index = |percent: usize| (key.len() - 1) * percent.min(100) / 100;
        let token = match self {
            Mutation::Absent => return request,
            Mutation::Other(token) => token.clone(),
            Mutation::Suffix(suffix) => format!("{key}{suffix}"),
            Mutation::Prefix(prefix) => format!("{prefix}{key}"),
            // A shorter token may be a part of any text by chance, in which it would then be hidden.
            Mutation::Cut(percent) => key[..index(*percent).max(LEAST_DISTINCT).min(key.len() - 1)].to_owned(),
            Mutation::Changed(percent) => with_another_character(key, index(*percent)),
            Mutation::Scheme("") => return request.authorization(key),
            Mutation::Scheme(scheme) => return request.authorization(format!("{scheme} {key}")),
        };
        request.authorization(format!("Bearer {token}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mutation_leaves_the_key_valid() {
        let key = "sk-Key1";
        for mutation in [
            Mutation::Absent,
            Mutation::Cut(0),
            Mutation::Cut(100),
            Mutation::Changed(0),
            Mutation::Changed(100),
            Mutation::Suffix("x".to_owned()),
            Mutation::Prefix("x".to_owned()),
            Mutation::Scheme(""),
            Mutation::Scheme("Basic"),
        ] {
            let request = mutation.apply(Request::new("GET", "/pets"), key);
            assert_ne!(request.authorization.as_deref(), Some("Bearer sk-Key1"), "{mutation:?}");
        }
    }
}
