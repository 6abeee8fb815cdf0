//! The identity of an image: the labels that the OCI image specification defines, and its digest.

use std::collections::HashMap;

use testcontainers::bollard::models::ImageInspect;

use animal_store_conformance::report::{Digest, Implementation};

/// The implementation in an image, as far as the engine's description of the image tells.
pub(super) fn of(image: ImageInspect) -> Implementation {
    let labels = image.config.and_then(|config| config.labels).unwrap_or_default();
    // The digest of the manifest, by which a registry knows the image; an image that was never pushed has only that of its
    // configuration.
    let pushed = image.repo_digests.unwrap_or_default();
    let mut digests =
        pushed.iter().filter_map(|name| name.split_once('@').map(|(_, digest)| digest)).chain(image.id.as_deref());
    let mut known = Implementation::default();
    known.name = label(&labels, "title");
    known.version = label(&labels, "version");
    known.url = label(&labels, "url").or_else(|| label(&labels, "source"));
    known.digest = digests.find_map(|digest| digest.parse::<Digest>().ok());
    known
}

fn label(labels: &HashMap<String, String>, name: &str) -> Option<String> {
    labels.get(&format!("org.opencontainers.image.{name}")).filter(|value| !value.is_empty()).cloned()
}

#[cfg(test)]
mod tests {
    use testcontainers::bollard::models::ImageConfig;

    use super::*;

    #[test]
    fn labels_and_the_digest_of_the_manifest_identify_an_image() {
        let labels = [("title", "Pets"), ("version", "1.2"), ("source", "https://example.com/pets"), ("url", "")];
        let labels = labels.map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()));
        let config = ImageConfig { labels: Some(labels.into()), ..ImageConfig::default() };
        let id = format!("sha256:{}", "1".repeat(64));
        let image = ImageInspect { config: Some(config), id: Some(id.clone()), ..ImageInspect::default() };
        let known = of(image.clone());
        assert_eq!(known.title().as_deref(), Some("Pets 1.2"));
        assert_eq!(known.url.as_deref(), Some("https://example.com/pets"));
        assert_eq!(known.digest.map(|digest| digest.to_string()), Some(id));
        let manifest = format!("sha256:{}", "2".repeat(64));
        let pushed = ImageInspect { repo_digests: Some(vec![format!("registry.example/pets@{manifest}")]), ..image };
        assert_eq!(of(pushed).digest.map(|digest| digest.to_string()), Some(manifest));
    }

    #[test]
    fn an_image_without_labels_is_unknown() {
        assert_eq!(of(ImageInspect::default()), Implementation::default());
    }
}
