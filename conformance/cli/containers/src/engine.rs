//! The engine that runs containers: Docker, or Podman behind Docker's interface.

use std::path::{Path, PathBuf};

use testcontainers::bollard::Docker;
use testcontainers::core::client::docker_client_instance;

/// The variable that names the engine's socket.
const DOCKER_HOST: &str = "DOCKER_HOST";

/// No container engine responds.
#[derive(Debug, thiserror::Error)]
#[error(
    "no container engine responds ({detail}): start Docker or Podman, or set DOCKER_HOST to the socket of the engine"
)]
pub(crate) struct NoEngine {
    detail: String,
}

/// The engine that `DOCKER_HOST` names, or one at the usual sockets of Docker and of Podman.
///
/// # Errors
///
/// [`NoEngine`] when none responds.
pub(crate) async fn connect() -> Result<Docker, NoEngine> {
    let error = match docker_client_instance().await {
        Ok(docker) => match docker.ping().await {
            Ok(_) => return Ok(docker),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    if std::env::var_os(DOCKER_HOST).is_none()
        && let Some(socket) = podman_socket()
    {
        return Err(restart_with(&socket));
    }
    Err(NoEngine { detail: error })
}

/// Podman's socket, of the user or of the system.
fn podman_socket() -> Option<PathBuf> {
    let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(|dir| Path::new(&dir).join("podman/podman.sock"));
    of_user.into_iter().chain([PathBuf::from("/run/podman/podman.sock")]).find(|socket| socket.exists())
}

/// Replaces this process by a new one of this program, with the socket in `DOCKER_HOST`. The client library reads nothing else, and a
/// running program cannot safely change its environment. Returns only if that fails.
fn restart_with(socket: &Path) -> NoEngine {
    use std::os::unix::process::CommandExt;
    let error = std::env::current_exe().map(|program| {
        let mut command = std::process::Command::new(program);
        command.args(std::env::args_os().skip(1)).env(DOCKER_HOST, format!("unix://{}", socket.display())).exec()
    });
    let error = error.unwrap_or_else(|error| error);
    NoEngine { detail: format!("cannot use the Podman socket {}: {error}", socket.display()) }
}
