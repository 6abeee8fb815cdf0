//! What the page shows, and that everybody can read it.

use std::collections::{HashMap, HashSet};

use super::*;

fn shown(host: &str, encrypted: bool) -> String {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_str(host).expect("a value"));
    Docs::new("/v1").page(&headers, encrypted).0
}

#[test]
fn the_page_shows_every_operation_and_shape_and_loads_nothing() {
    let page = shown("pets.example:8080", false);
    for operation in ["listPets", "createPet", "getPet", "listOrders"] {
        assert!(page.contains(&format!("<section id=\"{operation}\" ")), "{operation}");
    }
    for shape in ["Pet", "NewPet", "Pets", "PetStatus", "Error"] {
        assert!(page.contains(&format!("<h3 id=\"shape-{shape}\">")), "{shape}");
    }
    assert_eq!(page.matches("deprecated</span>").count(), 1);
    assert_eq!(page.matches("-d '{").count(), 1, "one example has a body");
    assert!(page.contains("experimental</span>") && page.contains("<code>limit</code><small>query, optional</small>"));
    assert!(page.contains("integer, 1 to 100, 20 by default"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("@import") && !page.contains("url("));
    let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default());
    for link in links.filter(|link| !link.starts_with("data:")) {
        assert!(link.starts_with(['#', '/']) && !link.starts_with("//"), "{link}");
    }
    assert_eq!(
        (page.matches("{&quot;").count(), page.matches("$ref").count()),
        (1, 0),
        "no raw JSON but in the example"
    );
}

#[test]
fn the_page_tells_everything_that_the_description_tells() {
    let page = shown("localhost", false);
    let document = crate::api::openapi::document("/v1");
    let (mut waiting, mut told) = (vec![("", &document)], 0);
    while let Some((name, value)) = waiting.pop() {
        match value {
            serde_json::Value::Object(members) => {
                for key in ["paths", "schemas", "properties", "responses", "headers"] {
                    for name in
                        members.get(key).and_then(|value| value.as_object()).into_iter().flat_map(|all| all.keys())
                    {
                        assert!(page.contains(&escape(name)), "{name}");
                    }
                }
                waiting.extend(members.iter().map(|(name, value)| (name.as_str(), value)));
            }
            serde_json::Value::Array(items) => waiting.extend(items.iter().map(|item| (name, item))),
            serde_json::Value::String(text) if ["description", "summary", "enum"].contains(&name) => {
                let is_shown =
                    page.contains(&escape(text)) || text == "This server" || text.contains("`Authorization: ");
                // The page has no place for the descriptions of tags.
                assert!(is_shown || document["tags"].to_string().contains(text.as_str()), "{text}");
                told += 1;
            }
            _ => {}
        }
    }
    assert!(told > 50, "{told}");
}

#[test]
fn examples_have_the_address_by_which_the_client_knows_the_server() {
    let page = shown("pets.example:8080", false);
    assert!(page.contains("Bearer $KEY\" http://pets.example:8080/v1/pets</code>") && !page.contains("@ORIGIN@"));
    assert!(shown("[::1]:8080", true).contains("https://[::1]:8080/v1/pets/1</code>"));
    for host in ["", "\"><script>", "a'b", "$(reboot)", "a b", "x;y", "`x`", "a&b"] {
        let page = shown(host, false);
        assert!(page.contains("http://localhost/v1/pets</code>"), "{host}");
        assert!(host.is_empty() || !page.contains(host), "{host}");
    }
    let without = Docs::new("").page(&HeaderMap::new(), false).0;
    assert!(without.contains(" http://localhost/pets</code>"));
}

#[test]
fn the_structure_is_one_that_a_keyboard_and_a_screen_reader_can_use() {
    let page = shown("localhost", false);
    for (mark, count) in [
        ("<html lang=\"en\">", 1),
        ("<title>", 1),
        ("<h1>", 1),
        ("<header>", 1),
        ("<main ", 1),
        ("<nav aria-label=", 1),
        ("<footer>", 1),
        ("name=\"viewport\"", 1),
    ] {
        assert_eq!(page.matches(mark).count(), count, "{mark}");
    }
    let count = |mark: &str| page.matches(mark).count();
    assert!(count("<table>") > 8 && count("<table>") == count("<caption>") && count("<table>") == count("</table>"));
    assert_eq!(count("<th scope="), count("<th "), "each heading of a table says what it heads");
    assert_eq!(count("<pre "), count("<pre tabindex=\"0\" role=\"group\" aria-label="), "what scrolls can be reached");
    assert_eq!(count("<section "), count(" aria-labelledby="));

    let ids: Vec<&str> = attributes(&page, "id");
    let known: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "no two ids are the same");
    for target in attributes(&page, "href").into_iter().filter_map(|link| link.strip_prefix('#')) {
        assert!(known.contains(target), "#{target} leads nowhere");
    }
    assert!(attributes(&page, "aria-labelledby").iter().all(|label| known.contains(label)));

    let levels: Vec<u32> = page.split("<h").skip(1).filter_map(|rest| rest.chars().next()?.to_digit(10)).collect();
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "no level of headings is left out: {levels:?}");
}

fn attributes<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let mark = format!(" {name}=\"");
    page.split(mark.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The colours of the style by their names, in light and in dark.
fn colours() -> [HashMap<&'static str, &'static str>; 2] {
    let (light, dark) = STYLE.split_once("prefers-color-scheme: dark").expect("two schemes");
    let read = |css: &'static str| {
        let lines = css.lines().filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": "));
        lines.collect::<HashMap<_, _>>()
    };
    [read(light), read(dark)]
}

/// The relative luminance of `#rrggbb` (WCAG 2.2).
fn luminance(colour: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

#[test]
fn text_contrasts_with_what_is_behind_it_in_light_and_in_dark() {
    for colours in colours() {
        assert_eq!(colours.len(), 8, "{colours:?}");
        for (text, back) in [
            ("text", "back"),
            ("quiet", "back"),
            ("link", "back"),
            ("text", "code"),
            ("link", "code"),
            ("mark-text", "mark-back"),
        ] {
            let (one, other) = (luminance(colours[text]), luminance(colours[back]));
            let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
            assert!(contrast >= 4.5, "{text} on {back}: {contrast:.2}");
        }
    }
}
