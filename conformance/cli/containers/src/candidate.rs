//! A candidate in a container: started for a run, and removed afterwards.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use testcontainers::bollard::models::PortBinding;
use testcontainers::bollard::query_parameters::RemoveContainerOptionsBuilder;
use testcontainers::bollard::{self, Docker};
use testcontainers::core::IntoContainerPort;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt, TestcontainersError};
use tokio::sync::Mutex;

use animal_store_conform::image::{Image, ImageName, Ready};
use animal_store_conformance::report::Implementation;

use crate::engine::{self, NoEngine};
use crate::ready::{self, NotReady};
use crate::{identity, log};

/// The label of the containers, by which those of killed runs can be found: after SIGKILL, nothing removes them.
const LABEL: &str = "animal-store.candidate";

/// The maximum time that an engine may take to create and start a container, with pulling the image.
const START: Duration = Duration::from_mins(5);

/// The maximum time that an engine may take to remove a container.
const REMOVAL: Duration = Duration::from_secs(30);

/// The interval between two attempts to remove a container that the engine is busy with.
const INTERVAL: Duration = Duration::from_millis(50);

/// The reason why the candidate could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// There is no container engine.
    #[error(transparent)]
    NoEngine(#[from] NoEngine),
    /// The engine reported an error.
    #[error("cannot start the image {image}: {detail}")]
    Refused { image: ImageName, detail: String },
    /// The process of the container exited.
    #[error("the container of {image} exited with code {code} before it was ready{log}")]
    Ended {
        image: ImageName,
        /// The exit code of the program.
        code: String,
        /// The end of its log.
        log: LastLines,
    },
    /// The container was not ready in time.
    #[error(
        "the container of {image} was not ready within {} s: waited for {ready} on port {port}\n  Check that it listens on 0.0.0.0 and that --container-port is right. See also --ready, and ready_timeout in the table [container] of conform.toml{log}",
        patience.as_secs()
    )]
    NotReady {
        image: ImageName,
        ready: Ready,
        port: u16,
        /// The maximum time to wait.
        patience: Duration,
        /// The end of its log.
        log: LastLines,
    },
}

/// The end of a log inside a message.
#[derive(Debug)]
pub(crate) struct LastLines(String);

impl std::fmt::Display for LastLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("\n  Its log is empty.");
        }
        f.write_str("\n  Its last lines:")?;
        self.0.lines().try_for_each(|line| write!(f, "\n  | {line}"))
    }
}

/// A container, which may not have been started yet.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    docker: Docker,
    name: String,
    /// Locked while the engine creates and starts the container, so that it is not removed before it exists.
    creating: Arc<Mutex<()>>,
}

/// A container that was created and started, and may not be ready. Dropping it removes the container.
#[derive(Debug)]
pub(crate) struct Created(ContainerAsync<GenericImage>);

/// A candidate that is ready. Dropping it removes the container; [`Candidate::remove`] makes sure of that.
#[derive(Debug)]
pub(crate) struct Running {
    /// The base URL of the candidate's API.
    pub(crate) base_url: String,
    _container: ContainerAsync<GenericImage>,
}

impl Candidate {
    /// Connects to a container engine. No container is started yet.
    ///
    /// # Errors
    ///
    /// [`NoEngine`] when none responds.
    pub(crate) async fn prepare() -> Result<Candidate, NoEngine> {
        let name = format!("conform-{}-{:08x}", std::process::id(), fastrand::u32(..));
        Ok(Candidate { docker: engine::connect().await?, name, creating: Arc::default() })
    }

    /// Creates a container of the image and starts it, after pulling the image if it is not there. `clean` makes the
    /// engine's messages printable.
    ///
    /// Poll it to its end unless the image is being pulled: an engine may go on creating the container after the request
    /// was given up, and it could not be removed then.
    ///
    /// # Errors
    ///
    /// [`StartError`], after which there may still be a container to remove.
    pub(crate) async fn create(&self, image: &Image, clean: impl Fn(&str) -> String) -> Result<Created, StartError> {
        let _creating = self.creating.lock().await;
        let refused = |detail: String| StartError::Refused { image: image.name.clone(), detail: clean(&detail) };
        match tokio::time::timeout(START, self.request(image).start()).await {
            Ok(started) => started.map(Created).map_err(|error| refused(error.to_string())),
            Err(_) => Err(refused(format!("the container engine took longer than {} s", START.as_secs()))),
        }
    }

    /// Returns true if the engine has the image, so that it need not be pulled.
    pub(crate) async fn has(&self, image: &ImageName) -> bool {
        self.docker.inspect_image(&image.to_string()).await.is_ok()
    }

    /// Waits until the container is ready. `clean` makes its log printable.
    ///
    /// # Errors
    ///
    /// [`StartError`], after which there may still be a container to remove.
    pub(crate) async fn wait(
        &self,
        Created(container): Created,
        image: &Image,
        clean: impl Fn(&str) -> String,
    ) -> Result<Running, StartError> {
        let refused = |detail: String| StartError::Refused { image: image.name.clone(), detail: clean(&detail) };
        let not_ready = match origin(&container, image.port).await {
            Ok(origin) => match ready::wait(&self.docker, &self.name, image, &origin).await {
                Ok(()) => {
                    return Ok(Running { base_url: format!("{origin}{}", image.path), _container: container });
                }
                Err(not_ready) => not_ready,
            },
            // A container that exited at once has no port any more.
            Err(error) => match ready::exit_code(&self.docker, &self.name).await {
                Some(code) => NotReady::Ended(code),
                None => return Err(refused(error.to_string())),
            },
        };
        let (name, log) = (image.name.clone(), LastLines(clean(&self.log().await)));
        Err(match not_ready {
            NotReady::Ended(code) => {
                let code = code.map_or_else(|| "unknown".to_owned(), |code| code.to_string());
                StartError::Ended { image: name, code, log }
            }
            NotReady::Late => {
                let (ready, port, patience) = (image.ready.clone(), image.port, image.patience);
                StartError::NotReady { image: name, ready, port, patience, log }
            }
        })
    }

    /// The implementation in the image, by its labels. It is empty if the engine does not know the image.
    pub(crate) async fn identity(&self, image: &ImageName) -> Implementation {
        match self.docker.inspect_image(&image.to_string()).await {
            Ok(inspected) => identity::of(inspected),
            Err(_) => Implementation::default(),
        }
    }

    /// The end of the container's log, or an empty text if it is not available.
    pub(crate) async fn log(&self) -> String {
        log::tail(&self.docker, &self.name).await
    }

    /// Removes the container and its anonymous volumes, running or not, if there is one.
    ///
    /// # Errors
    ///
    /// An error message, when the engine fails to.
    pub(crate) async fn remove(&self) -> Result<(), String> {
        let _created = self.creating.lock().await;
        let removed = tokio::time::timeout(REMOVAL, async {
            loop {
                let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
                match self.docker.remove_container(&self.name, Some(options)).await {
                    // Removed now, or it does not exist.
                    Ok(()) | Err(bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }) => {
                        return Ok(());
                    }
                    // The engine is busy with the container: it is being removed already, or has just been started.
                    Err(bollard::errors::Error::DockerResponseServerError { status_code: 409, .. }) => {
                        tokio::time::sleep(INTERVAL).await;
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
        });
        let removed =
            removed.await.unwrap_or_else(|_| Err(format!("the container still exists after {} s", REMOVAL.as_secs())));
        removed.map_err(|problem| format!("cannot remove the container {}: {problem}", self.name))
    }

    fn request(&self, image: &Image) -> ContainerRequest<GenericImage> {
        let port = image.port;
        let mut request = GenericImage::new(image.name.repository.clone(), image.name.tag.clone())
            .with_exposed_port(port.tcp())
            .with_container_name(&self.name)
            .with_label(LABEL, env!("CARGO_PKG_VERSION"));
        for (name, value) in &image.env {
            request = request.with_env_var(name, value);
        }
        if !image.args.is_empty() {
            request = request.with_cmd(image.args.clone());
        }
        if is_local() {
            // Only this machine needs to reach it.
            request = request.with_host_config_modifier(move |host| {
                let loopback = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(String::new()) };
                host.publish_all_ports = Some(false);
                host.port_bindings = Some([(format!("{port}/tcp"), Some(vec![loopback]))].into());
            });
        }
        request
    }
}

/// The origin at which the container's port is reached.
async fn origin(container: &ContainerAsync<GenericImage>, port: u16) -> Result<String, TestcontainersError> {
    let (host, port) = (container.get_host().await?.to_string(), container.get_host_port_ipv4(port).await?);
    // The port is published on 127.0.0.1 only, and localhost may also resolve to ::1.
    let host = if host == "localhost" { "127.0.0.1" } else { &host };
    Ok(format!("http://{host}:{port}"))
}

/// Returns true if the engine and this program share a loopback interface: the socket of the engine is a file, and this program is not
/// in a container itself.
fn is_local() -> bool {
    let elsewhere = std::env::var("DOCKER_HOST").is_ok_and(|host| !host.starts_with("unix:"));
    !elsewhere && !Path::new("/.dockerenv").exists()
}
