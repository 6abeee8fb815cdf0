//! The options of `--image`, and the table `[container]` of conform.toml.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::usage_error::UsageError;
use crate::image::{Image, ImageName, Ready};

/// The container to start.
#[derive(Clone, Debug, Args)]
pub(super) struct ContainerArguments {
    /// Container image to judge: started for the run and removed afterwards
    #[arg(long, value_name = "NAME[:TAG]", help_heading = "Target")]
    pub image: Option<ImageName>,

    /// Port on which the container listens
    #[arg(long, value_name = "PORT", default_value_t = 8080, help_heading = "Target")]
    container_port: u16,

    /// Environment variable of the container; NAME alone passes on its value (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]", value_delimiter = '\n', help_heading = "Target")]
    container_env: Vec<Variable>,

    /// Sign that the container is ready: a GET of this path returns 2xx, or its log contains TEXT [default: any response]
    #[arg(long, value_name = "PATH|log:TEXT", help_heading = "Target")]
    ready: Option<Ready>,

    /// The table `[container]`.
    #[arg(skip)]
    pub table: ContainerTable,
}

/// The settings of a container that have no option.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ContainerTable {
    /// The arguments of the container, instead of the arguments of the image.
    args: Vec<String>,
    /// The path of the API in the container, with the version segment.
    #[serde(deserialize_with = "path")]
    path: String,
    /// The maximum time to wait until the container is ready, in seconds.
    ready_timeout: u64,
}

impl Default for ContainerTable {
    fn default() -> ContainerTable {
        ContainerTable { args: Vec::new(), path: "/v1".to_owned(), ready_timeout: 60 }
    }
}

impl ContainerArguments {
    /// These arguments, if there is an image, as options of a rerun command. The values of variables may be secret, so only their names are included: a
    /// rerun takes the values from its own environment.
    pub(super) fn given(&self) -> Vec<(&'static str, String)> {
        let Some(image) = &self.image else { return Vec::new() };
        let mut options = vec![("--image", image.to_string()), ("--container-port", self.container_port.to_string())];
        options.extend(self.container_env.iter().map(|variable| ("--container-env", variable.name.clone())));
        match &self.ready {
            None | Some(Ready::Answers) => {}
            Some(Ready::Path(path)) => options.push(("--ready", path.clone())),
            Some(Ready::Log(text)) => options.push(("--ready", format!("log:{text}"))),
        }
        options
    }

    /// The image to start, if any.
    pub(super) fn image(&self) -> Result<Option<Image>, UsageError> {
        let Some(name) = self.image.clone() else { return Ok(None) };
        let mut env = Vec::new();
        for Variable { name, value } in &self.container_env {
            let value = value.clone().map_or_else(|| std::env::var(name), Ok);
            env.push((name.clone(), value.map_err(|_| UsageError::NoVariable(name.clone()))?));
        }
        Ok(Some(Image {
            name,
            port: self.container_port,
            path: self.table.path.clone(),
            env,
            args: self.table.args.clone(),
            ready: self.ready.clone().unwrap_or_default(),
            patience: Duration::from_secs(self.table.ready_timeout),
        }))
    }
}

/// An environment variable for a container.
#[derive(Clone)]
pub(super) struct Variable {
    name: String,
    /// The value, or `None` to pass on the value from this program's environment.
    value: Option<String>,
}

impl fmt::Debug for Variable {
    /// Without the value: it may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=…", self.name)
    }
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Variable, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        if name.is_empty() {
            return Err("the name is missing: write NAME=VALUE".to_owned());
        }
        Ok(Variable { name: name.to_owned(), value })
    }
}

/// Reads a path without its trailing slash.
fn path<'de, D: Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    let text = String::deserialize(value)?;
    let path = text.trim_end_matches('/');
    if path.is_empty() || path.starts_with('/') && !path.contains(['?', '#', ' ']) {
        Ok(path.to_owned())
    } else {
        Err(D::Error::custom("a path must begin with a slash, such as /v1"))
    }
}
