//! Waiting until a candidate is ready.

use std::time::Duration;

use testcontainers::bollard::Docker;
use testcontainers::bollard::query_parameters::InspectContainerOptions;

use animal_store_conform::image::{Image, Ready};
use animal_store_conformance::Transport;
use animal_store_conformance::http::Client;

use crate::log;

/// The interval between two polls.
const INTERVAL: Duration = Duration::from_millis(50);

/// The timeout of one poll.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The reason why a candidate is not ready.
pub(crate) enum NotReady {
    /// The process of the candidate exited, with this code if it is known.
    Ended(Option<i64>),
    /// The candidate runs, but was not ready in time.
    Late,
}

/// Waits until the candidate is ready, up to its timeout.
pub(crate) async fn wait(docker: &Docker, container: &str, image: &Image, origin: &str) -> Result<(), NotReady> {
    let ready = async {
        match &image.ready {
            Ready::Log(text) => {
                if log::holds(docker, container, text).await {
                    Ok(())
                } else {
                    // The log ends with the process.
                    Err(NotReady::Ended(exit_code(docker, container).await.flatten()))
                }
            }
            Ready::Answers => responds(docker, container, &format!("{origin}{}", image.path), |_| true).await,
            Ready::Path(path) => {
                responds(docker, container, &format!("{origin}{path}"), |status| (200..300).contains(&status)).await
            }
        }
    };
    tokio::time::timeout(image.patience, ready).await.unwrap_or(Err(NotReady::Late))
}

/// Polls until a response has an accepted status.
async fn responds(docker: &Docker, container: &str, url: &str, accepts: fn(u16) -> bool) -> Result<(), NotReady> {
    let mut transport = Transport::new(url.to_owned());
    transport.timeout = TIMEOUT;
    // A client for plain HTTP without a proxy can always be built.
    let Ok(client) = Client::new(transport) else { return Err(NotReady::Late) };
    loop {
        if client.poll(url).await.is_ok_and(|response| accepts(response.status)) {
            return Ok(());
        }
        if let Some(code) = exit_code(docker, container).await {
            return Err(NotReady::Ended(code));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The exit code of a container that no longer runs, if it is known, or `None` while the container runs.
pub(crate) async fn exit_code(docker: &Docker, container: &str) -> Option<Option<i64>> {
    let state = docker.inspect_container(container, None::<InspectContainerOptions>).await.ok()?.state?;
    (state.running == Some(false)).then_some(state.exit_code)
}
