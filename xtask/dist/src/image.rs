//! `cargo xtask image`: the products as container images with nothing in them but the program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;

use crate::products::{self, DIST, JUDGE, PRODUCTS, Product, Programs};

/// How each Dockerfile begins, for a folder that has the files of each platform in a folder of the platform's name.
const BEGINNING: &str = "FROM scratch
ARG TARGETPLATFORM
COPY --chown=65532:65532 $TARGETPLATFORM /
USER 65532:65532
";

/// The rest of the Dockerfile of the reference server; that of the laboratory differs in the name of the program.
///
/// The health check is the program's own: the image has no shell and no other program. Keys are issued in the running
/// container, `docker exec NAME /reference keys issue --plan free`, or given to it in `ANIMAL_STORE_KEYS`.
const OF_REFERENCE: &str = r#"ENV ANIMAL_STORE_DB=/data/animal-store.sqlite TMPDIR=/data
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s CMD ["/reference", "health"]
ENTRYPOINT ["/reference"]
CMD ["serve", "--listen", "0.0.0.0:8080"]
"#;

/// The rest of the Dockerfile of the judge. Reports can be written to `/reports`.
const OF_JUDGE: &str = r#"VOLUME ["/reports"]
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
    let target = products::host()?;
    anyhow::ensure!(products::is_linux(&target), "images hold programs for Linux, and this is {target}");
    let engine = engine(options.engine.clone())?;
    let programs = match &options.programs {
        Some(folder) => Programs::built_in(folder)?,
        None => Programs::build(&options.profile)?,
    };
    let tags = options.tag.as_ref().map_or_else(|| vec![env!("CARGO_PKG_VERSION"), "latest"], |tag| vec![tag]);
    for product in PRODUCTS {
        let context = tempfile::tempdir().context("no folder for what goes into the image")?;
        let platform = collect(product, &programs, context.path())?;
        if options.programs.is_some() {
            for library in programs.libraries(product)? {
                let copy = context.path().join(&platform).join(library.strip_prefix("/").unwrap_or(&library));
                std::fs::create_dir_all(copy.parent().context("a library is in a folder")?)?;
                std::fs::copy(&library, copy)?;
            }
        }
        let names: Vec<String> = tags.iter().map(|tag| format!("{}:{tag}", product.package)).collect();
        let mut build = Command::new(&engine);
        // Engines set this argument themselves, except old ones.
        build.args(["build", "--quiet", "--build-arg", &format!("TARGETPLATFORM={platform}")]);
        build.args(names.iter().flat_map(|name| ["--tag", name])).arg(context.path());
        xtask::output(&mut build)?;
        println!("{}", names.join(" "));
    }
    Ok(ExitCode::SUCCESS)
}

/// The instructions for a product's image.
fn dockerfile(product: Product) -> String {
    let rest = if product.program == JUDGE.program { OF_JUDGE } else { OF_REFERENCE };
    BEGINNING.to_owned() + &rest.replace("/reference\"", &format!("/{}\"", product.program))
}

/// Adds the files of a product's image, for the platform that it was built for, to a folder. Returns the platform, which is the name of
/// the folder with these files, such as `linux/amd64`.
///
/// Machines of different architectures fill the same folder, and one command makes the image of all of them:
/// `docker buildx build --platform linux/amd64,linux/arm64 images/conform`.
pub(crate) fn collect(product: Product, programs: &Programs, folder: &Path) -> anyhow::Result<String> {
    let platform = format!("linux/{}", architecture(&programs.target));
    let files = folder.join(&platform);
    std::fs::create_dir_all(files.join(product.writable))?;
    std::fs::copy(programs.path(product), files.join(product.program))?;
    std::fs::write(folder.join("Dockerfile"), dockerfile(product))?;
    Ok(platform)
}

/// The architecture of a target triple, as container images call it.
fn architecture(target: &str) -> &str {
    match target.split('-').next().unwrap_or(target) {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_made_from_nothing_and_run_as_nobody() {
        for product in PRODUCTS {
            let dockerfile = dockerfile(product);
            assert!(dockerfile.starts_with("FROM scratch\n"), "nothing may be pulled");
            assert!(dockerfile.contains("\nUSER 65532:65532\n"));
            assert!(dockerfile.contains(&format!("\nENTRYPOINT [\"/{}\"]\n", product.program)));
        }
    }

    #[test]
    fn platforms_have_the_names_of_container_images() {
        let triples = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu"];
        assert_eq!(triples.map(architecture), ["amd64", "arm64", "riscv64gc"]);
    }
}
