//! The page on the specification that reports link to.

/// The file in the repository that describes the specification in the words of this project.
pub(super) const FILE: &str = "conformance/docs/specification.md";

/// The address of the page, or `None` until the publisher has put a name into the address of the repository.
pub(super) fn page() -> Option<String> {
    page_in(env!("CARGO_PKG_REPOSITORY"))
}

fn page_in(repository: &str) -> Option<String> {
    (!repository.contains("YOUR_ORG")).then(|| format!("{repository}/blob/main/{FILE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_link_to_a_page_once_the_project_has_an_address() {
        assert_eq!(page_in("https://github.com/YOUR_ORG/judge"), None);
        let page = page_in("https://github.com/acme/judge");
        assert_eq!(page.as_deref(), Some("https://github.com/acme/judge/blob/main/conformance/docs/specification.md"));
    }
}
