//! Servers in container images: the image to start, the condition for its readiness, and what a program offers that starts it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use futures_util::future::BoxFuture;

use animal_store_conformance::report::Report;
use animal_store_conformance::{Interrupt, Options};

/// The container of an image while its server is judged. The package `animal-store-containers` implements it, so that the judge alone is
/// compiled without the client of a container engine.
pub trait Container: Send + Sync {
    /// Starts the container, waits until it is ready, and returns the base URL of its API, or `None` when interrupted. The error is a
    /// message for people.
    fn start<'a>(&'a mut self, interrupt: &'a Interrupt) -> BoxFuture<'a, Result<Option<String>, String>>;

    /// Removes the container. The future does not borrow `self`; its error is a message for people.
    fn removal(&self) -> BoxFuture<'static, Result<(), String>>;

    /// Names the image in a report, and adds the end of the container's log unless the verdict is `conforms`.
    fn add_to<'a>(&'a self, report: &'a mut Report) -> BoxFuture<'a, ()>;

    /// The end of the container's log, for a message.
    fn log_tail(&self) -> BoxFuture<'_, String>;
}

/// Finds a container engine for an image. The error is a message for people.
pub type Prepare = fn(&Options, Image) -> BoxFuture<'_, Result<Box<dyn Container>, String>>;

/// An image to start.
#[derive(Clone, Debug)]
pub struct Image {
    /// The name of the image.
    pub name: ImageName,
    /// The port on which the program listens in the container.
    pub port: u16,
    /// The path of the API, such as `/v1`.
    pub path: String,
    /// The environment variables of the container.
    pub env: Vec<(String, String)>,
    /// The arguments instead of those of the image, or none to keep those.
    pub args: Vec<String>,
    /// The condition for readiness.
    pub ready: Ready,
    /// The maximum time to wait for readiness.
    pub patience: Duration,
}

/// The name of an image and its tag or digest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ImageName {
    /// Everything before the last colon: `registry.example:5000/team/pets`, or `pets@sha256`.
    pub repository: String,
    /// The part after the colon; `latest` by default.
    pub tag: String,
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)
    }
}

impl FromStr for ImageName {
    type Err = String;

    fn from_str(text: &str) -> Result<ImageName, String> {
        // A colon before a slash belongs to the port of a registry.
        let (repository, tag) = match text.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, tag),
            _ => (text, "latest"),
        };
        let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        if plain(repository) && plain(tag) && !text.starts_with('-') {
            Ok(ImageName { repository: repository.to_owned(), tag: tag.to_owned() })
        } else {
            Err("an image must have the form NAME or NAME:TAG, such as pets:1.2".to_owned())
        }
    }
}

/// The condition on which a candidate is ready to be judged.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Ready {
    /// The candidate responds at its base URL, with any status.
    #[default]
    Answers,
    /// A GET of this path, from the root of the server, returns 2xx.
    Path(String),
    /// The log of the container contains this text.
    Log(String),
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ready::Answers => f.write_str("a response"),
            Ready::Path(path) => write!(f, "2xx on GET {path}"),
            Ready::Log(text) => write!(f, "{text:?} in its log"),
        }
    }
}

impl FromStr for Ready {
    type Err = String;

    fn from_str(text: &str) -> Result<Ready, String> {
        match text.strip_prefix("log:") {
            Some("") => Err("the text is missing: write log:TEXT, such as log:listening".to_owned()),
            Some(wanted) => Ok(Ready::Log(wanted.to_owned())),
            None if text.starts_with('/') => Ok(Ready::Path(text.to_owned())),
            None => Err("expected a path such as /healthz, or a text of the log such as log:listening".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_an_image_is_what_follows_the_last_colon_unless_that_is_a_port() {
        let read = |text: &str| text.parse::<ImageName>().map(|name| (name.repository, name.tag));
        let parts = |repository: &str, tag: &str| Ok((repository.to_owned(), tag.to_owned()));
        assert_eq!(read("pets"), parts("pets", "latest"));
        assert_eq!(read("pets:1.2"), parts("pets", "1.2"));
        assert_eq!(read("registry.example:5000/team/pets"), parts("registry.example:5000/team/pets", "latest"));
        assert_eq!(read("registry.example:5000/pets:2"), parts("registry.example:5000/pets", "2"));
        assert_eq!(read("pets@sha256:0f"), parts("pets@sha256", "0f"));
        for wrong in ["", ":1", "pets:", "two words", "--rm"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn readiness_is_a_path_or_a_text_of_the_log() {
        assert_eq!("/healthz".parse(), Ok(Ready::Path("/healthz".to_owned())));
        assert_eq!("log:listening on".parse(), Ok(Ready::Log("listening on".to_owned())));
        assert!("healthz".parse::<Ready>().is_err() && "log:".parse::<Ready>().is_err());
    }
}
