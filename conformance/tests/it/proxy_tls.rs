//! The proxy in front of a server that is reached with TLS.

use std::path::Path;

use animal_store_reference::Embedded;
use animal_store_reference::tls;
use reqwest::StatusCode;
use tokio::net::{TcpListener, TcpStream};

use crate::command_line::{command, text};
use crate::proxy::{Running, failed, http_client, reference};

/// Serves a server with TLS, by a certificate of its own making; its base URL. The file makes it trusted.
async fn with_tls(server: &Embedded, authority: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let acceptor = tls::self_signed(Some(address.ip()), authority).expect("a certificate");
    let behind = server.base_url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut server = TcpStream::connect(behind).await.expect("the server");
                let _ended = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    format!("https://{address}/v1")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_issuer_is_not_trusted_gets_its_clients_502_and_no_finding() {
    let (server, folder) = (reference("").await, tempfile::tempdir().expect("a folder"));
    let base_url = with_tls(&server, &folder.path().join("ca.pem")).await;
    let running = Running::start(&base_url, |_| {}).await;
    let asked = http_client().get(format!("{}/pets", running.base_url)).bearer_auth(server.api_key());
    let response = asked.send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    let body = response.text().await.expect("a body");
    assert_eq!(body, "conform proxy: the certificate is self-signed, or its issuer is not trusted\n");
    assert_eq!(failed(&running.report().await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_takes_the_file_of_the_issuer() {
    let (server, folder) = (reference("").await, tempfile::tempdir().expect("a folder"));
    let authority = folder.path().join("ca.pem");
    let base_url = with_tls(&server, &authority).await;
    let client = r#"exec "$0" --base-url "$CONFORM_PROXY_URL" --api-key "$KEY" --profile read-only --only list.array"#;
    let options =
        ["proxy", "--to", &base_url, "--only", "list.array", "--ca-cert", authority.to_str().expect("a path")];
    let mut program = command(&options);
    program.args(["--", "sh", "-c", client, env!("CARGO_BIN_EXE_conform")]).env("KEY", server.api_key());
    let output = program.output().await.expect("the program starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let verdict = format!("requirements selected, by --only list.array)  the server and its clients at {base_url}");
    assert!(out.contains(&verdict), "{out}{err}");
}
