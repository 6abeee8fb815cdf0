//! The engine that runs containers: Docker, or Podman behind Docker's interface.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use testcontainers::bollard::Docker;
use testcontainers::core::client::docker_client_instance;

/// The variable that names the engine's socket.
const DOCKER_HOST: &str = "DOCKER_HOST";

/// The engine that `DOCKER_HOST` names, or one at the usual sockets of Docker and of Podman. The error is a message for people.
pub(crate) async fn connect() -> Result<Docker, String> {
    let mut detail = match docker_client_instance().await {
        Ok(docker) => match docker.ping().await {
            Ok(_) => return Ok(docker),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    if std::env::var_os(DOCKER_HOST).is_none() {
        // Podman's socket, of the user or of the system.
        let of_user = std::env::var_os("XDG_RUNTIME_DIR").map(|dir| Path::new(&dir).join("podman/podman.sock"));
        let mut sockets = of_user.into_iter().chain([PathBuf::from("/run/podman/podman.sock")]);
        if let Some(socket) = sockets.find(|socket| socket.exists()) {
            // The client library reads nothing but the variable, and a running program cannot safely change its environment. So a new
            // process of this program replaces this one, unless that fails.
            let failed = std::env::current_exe().map(|program| {
                let mut command = std::process::Command::new(program);
                let host = format!("unix://{}", socket.display());
                command.args(std::env::args_os().skip(1)).env(DOCKER_HOST, host).exec()
            });
            let error = failed.unwrap_or_else(|error| error);
            detail = format!("cannot use the Podman socket {}: {error}", socket.display());
        }
    }
    Err(format!(
        "no container engine responds ({detail}): start Docker or Podman, or set DOCKER_HOST to the socket of the engine"
    ))
}
