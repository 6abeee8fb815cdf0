//! The options of `--image`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::usage_error::UsageError;
use crate::container::{Image, ImageName, Ready};

/// The container to start.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Container")]
pub(super) struct ContainerArguments {
    /// Container image to judge: started for the run and removed afterwards
    #[arg(long, value_name = "NAME[:TAG]", env = "CONFORM_IMAGE", help_heading = "Target")]
    pub image: Option<ImageName>,

    /// Port on which the container listens
    #[arg(long, value_name = "PORT", env = "CONFORM_CONTAINER_PORT", default_value_t = 8080)]
    container_port: u16,

    /// Path of the API in the container, with the version segment
    #[arg(long, value_name = "PATH", env = "CONFORM_CONTAINER_PATH", default_value = "/v1", value_parser = path)]
    container_path: String,

    /// Environment variable of the container, as NAME=VALUE, or NAME to pass on the value from this environment (repeatable; in
    /// the variable, one per line)
    #[arg(
        long,
        value_name = "NAME[=VALUE]",
        env = "CONFORM_CONTAINER_ENV",
        hide_env_values = true,
        value_delimiter = '\n'
    )]
    container_env: Vec<Variable>,

    /// Argument for the container, instead of the arguments of the image (repeatable; in the variable, one per line)
    #[arg(long, value_name = "ARG", env = "CONFORM_CONTAINER_ARG", allow_hyphen_values = true, value_delimiter = '\n')]
    container_arg: Vec<String>,

    /// Sign that the container is ready: a GET of this path, from the root of the server, returns 2xx, or its log contains TEXT
    /// [default: it responds to any request]
    #[arg(long, value_name = "PATH|log:TEXT", env = "CONFORM_READY")]
    ready: Option<Ready>,

    /// Maximum time to wait until the container is ready, in seconds
    #[arg(long, value_name = "SECONDS", env = "CONFORM_READY_TIMEOUT", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    ready_timeout: u64,
}

impl ContainerArguments {
    /// These arguments, if there is an image, as options of a rerun command. The values of variables may be secret, so only their names are included: a
    /// rerun takes the values from its own environment.
    pub(super) fn given(&self) -> Vec<(&'static str, String)> {
        let Some(image) = &self.image else { return Vec::new() };
        let mut options = vec![("--image", image.to_string()), ("--container-port", self.container_port.to_string())];
        options.push(("--container-path", self.container_path.clone()));
        options.extend(self.container_env.iter().map(|variable| ("--container-env", variable.name.clone())));
        options.extend(self.container_arg.iter().map(|argument| ("--container-arg", argument.clone())));
        match &self.ready {
            None | Some(Ready::Answers) => {}
            Some(Ready::Path(path)) => options.push(("--ready", path.clone())),
            Some(Ready::Log(text)) => options.push(("--ready", format!("log:{text}"))),
        }
        options.push(("--ready-timeout", self.ready_timeout.to_string()));
        options
    }

    /// The image to start, if any.
    pub(super) fn image(&self) -> Result<Option<Image>, UsageError> {
        let Some(name) = self.image.clone() else { return Ok(None) };
        Ok(Some(Image {
            name,
            port: self.container_port,
            path: self.container_path.clone(),
            env: self.container_env.iter().map(Variable::read).collect::<Result<_, _>>()?,
            args: self.container_arg.clone(),
            ready: self.ready.clone().unwrap_or_default(),
            patience: Duration::from_secs(self.ready_timeout),
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

impl Variable {
    fn read(&self) -> Result<(String, String), UsageError> {
        let value = self.value.clone().map_or_else(|| std::env::var(&self.name), Ok);
        let value = value.map_err(|_| UsageError::NoVariable(self.name.clone()))?;
        Ok((self.name.clone(), value))
    }
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

fn path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    if path.is_empty() || path.starts_with('/') && !path.contains(['?', '#', ' ']) {
        Ok(path.to_owned())
    } else {
        Err("a path must begin with a slash, such as /v1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        container: ContainerArguments,
    }

    fn image(args: &[&str]) -> Option<Image> {
        Line::try_parse_from([&["conform"], args].concat())
            .expect("a usable line")
            .container
            .image()
            .expect("usable variables")
    }

    #[test]
    fn without_an_image_no_container_is_started() {
        assert!(image(&["--container-port", "80"]).is_none());
    }

    #[test]
    fn an_image_alone_is_enough() {
        let image = image(&["--image", "pets"]).expect("an image");
        assert_eq!((image.port, image.path.as_str(), image.ready), (8080, "/v1", Ready::Answers));
        assert!(image.args.is_empty() && image.env.is_empty());
    }

    #[test]
    fn arguments_and_variables_keep_their_order_and_special_characters() {
        let args =
            ["--image", "pets:2", "--container-arg", "--dev", "--container-arg", "a=b c", "--container-env", "A=b=c"];
        let image = image(&args).expect("an image");
        assert_eq!(image.args, ["--dev", "a=b c"]);
        assert_eq!(image.env, [("A".to_owned(), "b=c".to_owned())]);
    }

    #[test]
    fn a_variable_that_is_not_set_cannot_be_passed_on() {
        let read = |text: &str| text.parse::<Variable>().expect("a variable").read();
        assert!(matches!(read("NO_SUCH_VARIABLE_ANYWHERE"), Err(UsageError::NoVariable(_))));
        assert!(read("PATH").is_ok_and(|(_, value)| !value.is_empty()));
        assert!("=x".parse::<Variable>().is_err());
    }
}
