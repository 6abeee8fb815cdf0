//! Patterns of names, in which `*` stands for any text.

/// Returns true if a name begins with a pattern, in which `*` stands for any text.
pub(crate) fn begins(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else { return false };
    parts.all(|part| {
        let found = rest.find(part);
        rest = found.map_or(rest, |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

/// Returns true if a name contains a pattern, in which `*` stands for any text.
pub(crate) fn contains(pattern: &str, name: &str) -> bool {
    begins(&format!("*{pattern}"), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_beginning_in_which_stars_stand_for_any_text() {
        let name = "list.limit-default.fifty";
        for pattern in ["", "list", "list.limit-default.fifty", "*", "*fifty", "list.*.fi", "*limit*fifty"] {
            assert!(begins(pattern, name), "{pattern}");
        }
        for pattern in ["fifty", "list.*.ten", "*fifty*limit", "list.limit-default.fifty-one"] {
            assert!(!begins(pattern, name), "{pattern}");
        }
        assert!(contains("limit*fi", name) && !contains("limit*ten", name));
    }
}
