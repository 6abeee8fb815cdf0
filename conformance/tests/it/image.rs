//! `--image` before anything is started. What follows needs an engine, and is tested with the images of the products.

use crate::command_line::{conform, text};

#[tokio::test]
async fn a_plan_names_the_image_and_starts_nothing() {
    let output = conform(&["--image", "pets:1.2", "--api-key", "k", "--dry-run"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\nimage pets:1.2 · "), "{}", text(&output.stdout));
}

#[tokio::test]
async fn an_image_that_cannot_be_meant_is_wrong_usage() {
    let address = ["--base-url", "http://127.0.0.1:1/v1"];
    for (args, hint) in [
        (&["--image", "pets", "--api-key", "k", address[0], address[1]][..], "mutually exclusive"),
        (&["--image", "pets"], "CONFORM_API_KEY"),
        (&["--image", "pets:", "--api-key", "k"], "NAME:TAG"),
        (&["--image", "pets", "--api-key", "k", "--ready", "healthz"], "/healthz"),
        (&["--image", "pets", "--api-key", "k", "--container-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE=VALUE"),
    ] {
        let output = conform(args).await;
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(hint), "{args:?}: {}", text(&output.stderr));
    }
}

#[tokio::test]
async fn a_program_without_the_part_for_containers_says_how_to_get_it() {
    let output = conform(&["--image", "pets", "--api-key", "k"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cargo xtask conform --image"), "{}", text(&output.stderr));
}
