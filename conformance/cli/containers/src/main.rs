//! The program `conform` with `--image`. It is a package of its own because talking to a container engine takes as many crates as all the
//! rest.

mod engine;
mod image_run;
mod log;
mod ready;

fn main() -> std::process::ExitCode {
    animal_store_conform::start(Some(image_run::prepare))
}
