//! `conform`: judges an Animal Store server by the specification.

fn main() -> std::process::ExitCode {
    animal_store_conform::start(None)
}
