//! Layout of bodies: JSON with a line for each member or item; only white space is added.

use serde::de::IgnoredAny;

/// The maximum length of a body on one line.
const LINE: usize = 88;

/// The body with its outermost members or items on lines of their own, when it is JSON too long for a line, also when the
/// judge has truncated it. Any other body is not changed, because the defect of invalid JSON must remain visible.
pub(super) fn laid_out(body: &str) -> String {
    let text = body.rfind('…').map_or(body, |cut| &body[..cut]);
    let is_json = match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => text.len() == body.len(),
        Err(error) => error.is_eof() && text.len() < body.len(),
    };
    if is_json && body.chars().count() > LINE && !body.contains('\n') { broken_up(body) } else { body.to_owned() }
}

fn broken_up(body: &str) -> String {
    let mut out = String::with_capacity(body.len() + 256);
    let (mut depth, mut in_text, mut escaped, mut after_break) = (0_usize, false, false, false);
    for c in body.chars() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        if after_break && c == ' ' {
            continue;
        }
        after_break = false;
        if matches!(c, '}' | ']') {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                out.push('\n');
            }
        }
        out.push(c);
        in_text = c == '"';
        if matches!(c, '{' | '[') {
            depth += 1;
        }
        if depth == 1 && matches!(c, '{' | '[' | ',') {
            out.push_str("\n  ");
            after_break = true;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_line_for_each_item() {
        let pet = r#"{"id":9007199254740993,"name":"a, [b] {c} \" d","categoryId":1.0}"#;
        assert_eq!(laid_out(&format!("[{pet}, {pet}]")), format!("[\n  {pet},\n  {pet}\n]"));
    }

    #[test]
    fn a_list_that_was_cut_has_them_too() {
        let pet = r#"{"id":1,"name":"Rex","categoryId":1,"status":"available"}"#;
        let body = format!("[{pet},{pet},{{\"id… (6000 bytes in all)");
        assert_eq!(laid_out(&body), format!("[\n  {pet},\n  {pet},\n  {{\"id… (6000 bytes in all)"));
    }

    #[test]
    fn what_is_no_json_or_short_stays_as_it_is() {
        let long = format!("{{\"name\": {}", "x".repeat(LINE));
        for body in ["", "{}", r#"{"code":"bad","message":"no","status":400}"#, "<h1>a, {b}</h1>", &long] {
            assert_eq!(laid_out(body), body);
        }
    }
}
