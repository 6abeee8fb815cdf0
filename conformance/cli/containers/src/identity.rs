//! The implementation in an image, by the labels that the OCI image specification defines.

use std::collections::HashMap;

use testcontainers::bollard::models::ImageInspect;

use animal_store_conformance::report::Implementation;

/// The implementation in an image, as far as the engine's description of the image tells.
pub(crate) fn of(image: ImageInspect) -> Implementation {
    let labels = image.config.and_then(|config| config.labels).unwrap_or_default();
    let mut known = Implementation::default();
    known.name = label(&labels, "title");
    known.version = label(&labels, "version");
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
    fn labels_identify_an_image() {
        let labels = [("title", "Pets"), ("version", "1.2")];
        let labels = labels.map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()));
        let config = ImageConfig { labels: Some(labels.into()), ..ImageConfig::default() };
        let image = ImageInspect { config: Some(config), ..ImageInspect::default() };
        assert_eq!(of(image).title().as_deref(), Some("Pets 1.2"));
        assert_eq!(of(ImageInspect::default()), Implementation::default());
    }
}
