//! `cargo xtask image`: the products as container images with nothing in them but the program.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;

use crate::metadata::Metadata;
use crate::products::{DIST, JUDGE, LAB, PRODUCTS, Product, Programs};

/// The Dockerfile of the reference server; that of the laboratory differs in the name of the program.
///
/// The health check is the program's own: the image has no shell and no other program. Keys are issued in the running
/// container, `docker exec NAME /reference keys issue --plan free`, or given to it in `ANIMAL_STORE_KEYS`.
const OF_REFERENCE: &str = r#"FROM scratch
COPY --chown=65532:65532 . /
USER 65532:65532
ENV ANIMAL_STORE_DB=/data/animal-store.sqlite TMPDIR=/data
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["/reference", "health"]
ENTRYPOINT ["/reference"]
CMD ["serve", "--listen", "0.0.0.0:8080"]
"#;

/// The Dockerfile of the judge. Reports can be written to `/reports`.
const OF_JUDGE: &str = r#"FROM scratch
COPY --chown=65532:65532 . /
USER 65532:65532
VOLUME ["/reports"]
WORKDIR /reports
ENTRYPOINT ["/conform"]
"#;

/// The arguments of `cargo xtask image`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask image
  docker run --rm -p 8080:8080 -v animals:/data -e ANIMAL_STORE_KEYS=free=my-key animal-store-reference
  docker run --rm -e CONFORM_API_KEY animal-store-conform --base-url https://pets.example/v1")]
pub(crate) struct Options {
    /// The tag of all images, instead of the version and `latest`
    #[arg(long)]
    tag: Option<String>,
    /// The cargo profile to build with; `dev` builds quickly, and programs ten times as large
    #[arg(long, default_value = DIST)]
    profile: String,
    /// Take the programs from this folder instead of building static ones, with the shared libraries that they load
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    programs: Option<PathBuf>,
    /// The program that builds images, `docker` or `podman` [default: the first of them that is there]
    #[arg(long, value_name = "PROGRAM", env = "CONTAINER_ENGINE")]
    engine: Option<OsString>,
}

/// Builds all images. Nothing is pulled.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let engine = engine(options.engine.clone())?;
    let programs = match &options.programs {
        Some(folder) => Programs::built_in(folder)?,
        None => Programs::build(&options.profile)?,
    };
    let metadata = Metadata::read(&programs.target)?;
    for product in PRODUCTS {
        let context = tempfile::tempdir().context("no folder for what goes into the image")?;
        std::fs::copy(programs.path(product), context.path().join(product.program))?;
        // The programs that are built here are static.
        let libraries = if options.programs.is_some() { programs.libraries(product)? } else { Vec::new() };
        for library in libraries {
            let copy = context.path().join(library.strip_prefix("/").unwrap_or(&library));
            std::fs::create_dir_all(copy.parent().context("a library is in a folder")?)?;
            std::fs::copy(&library, copy)?;
        }
        std::fs::create_dir(context.path().join(writable_folder(product)))?;
        let version = &metadata.member(product.package)?.version;
        let tags = options.tag.as_ref().map_or_else(|| vec![version.as_str(), "latest"], |tag| vec![tag.as_str()]);
        let names: Vec<String> = tags.iter().map(|tag| format!("{}:{tag}", name(product))).collect();
        build(&engine, &dockerfile(product), context.path(), &names)?;
        println!("{}", names.join(" "));
    }
    Ok(ExitCode::SUCCESS)
}

/// The instructions for a product's image.
fn dockerfile(product: Product) -> String {
    if product == JUDGE {
        OF_JUDGE.to_owned()
    } else {
        OF_REFERENCE.replace("/reference", &format!("/{}", product.program))
    }
}

/// The instructions for a product's image of several platforms, from a folder that has the files of each in a folder of the
/// platform's name, such as `linux/amd64`.
pub(crate) fn for_platforms(product: Product) -> String {
    dockerfile(product)
        .replace(" . /\n", " $TARGETPLATFORM /\n")
        .replace("FROM scratch\n", "FROM scratch\nARG TARGETPLATFORM\n")
}

/// The folder in a product's image that its user may write to.
pub(crate) fn writable_folder(product: Product) -> &'static str {
    if product == JUDGE { "reports" } else { "data" }
}

/// The name of a product's image, without a tag.
fn name(product: Product) -> String {
    if product == LAB { "animal-store-lab".to_owned() } else { format!("animal-store-{}", product.program) }
}

/// The program to build images with.
fn engine(named: Option<OsString>) -> anyhow::Result<OsString> {
    let answers = |program: &OsString| {
        let quiet = Command::new(program).arg("info").stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    };
    let candidates = named.map_or_else(|| vec!["docker".into(), "podman".into()], |program| vec![program]);
    candidates.into_iter().find(answers).context("no container engine answers: start Docker or Podman")
}

/// Builds an image from a folder. The instructions come on standard input, so that they are no part of it.
fn build(engine: &OsString, dockerfile: &str, context: &Path, names: &[String]) -> anyhow::Result<()> {
    let mut command = Command::new(engine);
    command.args(["build", "--quiet", "--file", "-"]);
    for name in names {
        command.args(["--tag", name]);
    }
    let command = command.arg(context).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("could not start {}", engine.display()))?;
    child.stdin.take().context("its standard input is a pipe")?.write_all(dockerfile.as_bytes())?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{} build of {} failed: {said}", engine.display(), names.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_made_from_nothing_and_run_as_nobody() {
        for dockerfile in PRODUCTS.map(dockerfile) {
            assert!(dockerfile.starts_with("FROM scratch\n"), "nothing may be pulled");
            assert!(dockerfile.contains("\nUSER 65532:65532\n"));
        }
    }

    #[test]
    fn an_image_of_several_platforms_copies_the_files_of_each() {
        for product in PRODUCTS {
            let dockerfile = for_platforms(product);
            assert!(dockerfile.starts_with("FROM scratch\nARG TARGETPLATFORM\n"), "{dockerfile}");
            assert!(dockerfile.contains("\nCOPY --chown=65532:65532 $TARGETPLATFORM /\n"), "{dockerfile}");
        }
    }
}
