//! A run against a container image: the container is started before the run, its log is added to a report that needs it, and
//! it is removed whatever happens.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{ImageInspect, PortBinding};
use testcontainers::bollard::query_parameters::RemoveContainerOptionsBuilder;
use testcontainers::core::IntoContainerPort;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt, TestcontainersError};
use tokio::sync::Mutex;

use animal_store_conform::image::{Container, Image};
use animal_store_conformance::redaction::{HIDDEN, Redactor, printable, redactor};
use animal_store_conformance::report::{Implementation, Report};
use animal_store_conformance::{Interrupt, Options, Verdict};
use animal_store_secrets::{LEAST_SECRET, is_credential};

use crate::ready::{self, NotReady};
use crate::{engine, log};

/// The label of the containers, by which those of killed runs can be found: after SIGKILL, nothing removes them.
const LABEL: &str = "animal-store.candidate";

/// The maximum time that an engine may take to create and start a container, with pulling the image.
const START: Duration = Duration::from_mins(5);

/// The maximum time that an engine may take to remove a container.
const REMOVAL: Duration = Duration::from_secs(30);

/// The interval between two attempts to remove a container that the engine is busy with.
const INTERVAL: Duration = Duration::from_millis(50);

/// The container of a run, which may not have been started yet.
pub(crate) struct ImageRun {
    docker: Docker,
    /// The name of the container.
    name: String,
    image: Image,
    redactor: Redactor,
    /// Locked while the engine creates and starts the container, so that it is not removed before it exists.
    creating: Arc<Mutex<()>>,
    /// The container, once it is ready. Dropping it removes the container, and [`ImageRun::removal`] makes sure of that.
    container: Option<ContainerAsync<GenericImage>>,
}

/// Finds a container engine, for a container of this image.
pub(crate) fn prepare(options: &Options, image: Image) -> BoxFuture<'_, Result<Box<dyn Container>, String>> {
    Box::pin(async move {
        let docker = engine::connect().await?;
        let name = format!("conform-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let mut redactor = redactor(options);
        for (name, value) in &image.env {
            if value.len() >= LEAST_SECRET && is_credential(name) {
                redactor.hide(value, HIDDEN);
            }
        }
        let run = ImageRun { docker, name, image, redactor, creating: Arc::default(), container: None };
        Ok(Box::new(run) as Box<dyn Container>)
    })
}

impl Container for ImageRun {
    fn start<'a>(&'a mut self, interrupt: &'a Interrupt) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            let container = {
                let mut creation = pin!(self.create());
                tokio::select! {
                    () = interrupt.raised() => {
                        // A pull may take minutes and ends with its request. A container that is being created is waited for: an engine may
                        // go on creating it after the request was given up, and it could not be removed then.
                        if self.docker.inspect_image(&self.image.name.to_string()).await.is_ok() {
                            drop(creation.await);
                        }
                        return Ok(None);
                    }
                    created = &mut creation => created?,
                }
            };
            let base_url = tokio::select! {
                () = interrupt.raised() => return Ok(None),
                ready = self.base_url_once_ready(&container) => ready?,
            };
            self.container = Some(container);
            Ok(Some(base_url))
        })
    }

    fn removal(&self) -> BoxFuture<'static, Result<(), String>> {
        let (docker, name, creating) = (self.docker.clone(), self.name.clone(), Arc::clone(&self.creating));
        Box::pin(async move {
            let _created = creating.lock().await;
            let removed = tokio::time::timeout(REMOVAL, async {
                loop {
                    let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
                    match docker.remove_container(&name, Some(options)).await {
                        // Removed now, or it does not exist.
                        Ok(()) | Err(Error::DockerResponseServerError { status_code: 404, .. }) => return Ok(()),
                        // The engine is busy with the container: it is being removed already, or has just been started.
                        Err(Error::DockerResponseServerError { status_code: 409, .. }) => {
                            tokio::time::sleep(INTERVAL).await;
                        }
                        Err(error) => return Err(error.to_string()),
                    }
                }
            });
            let late = |_| Err(format!("the container still exists after {} s", REMOVAL.as_secs()));
            let removed = removed.await.unwrap_or_else(late);
            removed.map_err(|problem| format!("cannot remove the container {name}: {problem}"))
        })
    }

    fn add_to<'a>(&'a self, report: &'a mut Report) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            report.target.image = Some(self.image.name.to_string());
            let inspected = self.docker.inspect_image(&self.image.name.to_string()).await;
            let mut learnt = inspected.map(implementation).unwrap_or_default();
            for text in [&mut learnt.name, &mut learnt.version].into_iter().flatten() {
                *text = self.clean(text);
            }
            let given = std::mem::take(&mut report.target.implementation);
            report.target.implementation = given.or(learnt);
            if report.verdict != Verdict::Conforms {
                report.candidate_log = Some(self.clean(&log::tail(&self.docker, &self.name).await));
            }
        })
    }

    fn log_tail(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let log = self.clean(&log::tail(&self.docker, &self.name).await);
            log.lines().fold("  The last lines of its log:".to_owned(), |text, line| text + "\n  | " + line)
        })
    }
}

impl ImageRun {
    /// A text of the engine or the container that may be shown.
    fn clean(&self, text: &str) -> String {
        printable(&self.redactor.redact(text))
    }

    fn refused(&self, detail: &str) -> String {
        format!("cannot start the image {}: {}", self.image.name, self.clean(detail))
    }

    /// Creates a container of the image and starts it, after pulling the image if it is not there.
    async fn create(&self) -> Result<ContainerAsync<GenericImage>, String> {
        let _creating = self.creating.lock().await;
        match tokio::time::timeout(START, request(&self.image, &self.name).start()).await {
            Ok(started) => started.map_err(|error| self.refused(&error.to_string())),
            Err(_) => Err(self.refused(&format!("the container engine took longer than {} s", START.as_secs()))),
        }
    }

    /// Waits until the container is ready, and returns the base URL of its API.
    async fn base_url_once_ready(&self, container: &ContainerAsync<GenericImage>) -> Result<String, String> {
        let Image { name, port, ready, patience, path, .. } = &self.image;
        let not_ready = match origin(container, *port).await {
            Ok(origin) => match ready::wait(&self.docker, &self.name, &self.image, &origin).await {
                Ok(()) => return Ok(format!("{origin}{path}")),
                Err(not_ready) => not_ready,
            },
            // A container that exited at once has no port any more.
            Err(error) => match ready::exit_code(&self.docker, &self.name).await {
                Some(code) => NotReady::Ended(code),
                None => return Err(self.refused(&error.to_string())),
            },
        };
        let problem = match not_ready {
            NotReady::Ended(code) => {
                let code = code.map_or_else(|| "unknown".to_owned(), |code| code.to_string());
                format!("the container of {name} exited with code {code} before it was ready")
            }
            NotReady::Late => format!(
                "the container of {name} was not ready within {} s: waited for {ready} on port {port}\n  Check that it listens on 0.0.0.0 \
                 and that --container-port is right. See also --ready, and ready_timeout in the table [container] of conform.toml",
                patience.as_secs()
            ),
        };
        let log = self.clean(&log::tail(&self.docker, &self.name).await);
        let heading = if log.is_empty() { "Its log is empty." } else { "Its last lines:" };
        Err(log.lines().fold(format!("{problem}\n  {heading}"), |text, line| text + "\n  | " + line))
    }
}

fn request(image: &Image, name: &str) -> ContainerRequest<GenericImage> {
    let port = image.port;
    let mut request = GenericImage::new(image.name.repository.clone(), image.name.tag.clone())
        .with_exposed_port(port.tcp())
        .with_container_name(name)
        .with_label(LABEL, env!("CARGO_PKG_VERSION"));
    for (name, value) in &image.env {
        request = request.with_env_var(name, value);
    }
    if !image.args.is_empty() {
        request = request.with_cmd(image.args.clone());
    }
    // The engine and this program share a loopback interface if the socket of the engine is a file, and this program is not in a container
    // itself.
    let is_elsewhere = std::env::var("DOCKER_HOST").is_ok_and(|host| !host.starts_with("unix:"));
    if !is_elsewhere && !Path::new("/.dockerenv").exists() {
        // Only this machine needs to reach it.
        request = request.with_host_config_modifier(move |host| {
            let loopback = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(String::new()) };
            host.publish_all_ports = Some(false);
            host.port_bindings = Some([(format!("{port}/tcp"), Some(vec![loopback]))].into());
        });
    }
    request
}

/// The origin at which the container's port is reached.
async fn origin(container: &ContainerAsync<GenericImage>, port: u16) -> Result<String, TestcontainersError> {
    let (host, port) = (container.get_host().await?.to_string(), container.get_host_port_ipv4(port).await?);
    // The port is published on 127.0.0.1 only, and localhost may also resolve to ::1.
    let host = if host == "localhost" { "127.0.0.1" } else { &host };
    Ok(format!("http://{host}:{port}"))
}

/// The implementation in an image, as far as the labels tell that the OCI image specification defines.
fn implementation(image: ImageInspect) -> Implementation {
    let labels = image.config.and_then(|config| config.labels).unwrap_or_default();
    let label = |name: &str| labels.get(&format!("org.opencontainers.image.{name}")).filter(|value| !value.is_empty());
    let mut known = Implementation::default();
    known.name = label("title").cloned();
    known.version = label("version").cloned();
    known
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
        assert_eq!(implementation(image).title().as_deref(), Some("Pets 1.2"));
        assert_eq!(implementation(ImageInspect::default()), Implementation::default());
    }
}
