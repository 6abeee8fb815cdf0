//! Whom the judge trusts where the system names nobody, as in a container image that holds nothing but this program.

use tokio::process::Command;

use crate::command_line::text;

#[tokio::test]
async fn a_system_without_ca_certificates_can_judge_over_https() {
    let output = Command::new(env!("CARGO_BIN_EXE_conform"))
        .args(["--base-url", "https://127.0.0.1:1/v1", "--api-key", "k"])
        .env("SSL_CERT_FILE", "/no-such-file")
        .env("SSL_CERT_DIR", "/no-such-folder")
        .output()
        .await
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("Check that the server is running"), "{}", text(&output.stderr));
}
