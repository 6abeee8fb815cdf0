//! The mistakes of a first run: what is said of each, and how the program ends.

use std::path::PathBuf;

use animal_store_reference::tls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::candidate::{Candidate, KEY, Nature};
use crate::command_line::{conform, text};
use crate::support::check;

/// What the mistakes are made with.
struct Stage {
    candidate: Candidate,
    /// A port on which nothing listens.
    silent: String,
    /// A website.
    site: String,
    /// A server with a certificate of its own making, and the file that would make it trusted.
    secure: String,
    authority: PathBuf,
    folder: PathBuf,
}

/// Starts a server that gives every request this answer.
async fn answering(head: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer =
                format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            let _request = stream.read(&mut [0; 4096]).await;
            let _gone = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/v1")
}

/// Starts a server with a certificate that nobody trusts yet, which knows no key.
async fn secure(authority: &std::path::Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let acceptor = tls::self_signed(Some(address.ip()), authority).expect("a certificate");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _request = stream.read(&mut [0; 4096]).await;
            let _gone =
                stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
            let _gone = stream.shutdown().await;
        }
    });
    format!("https://{address}/v1")
}

impl Stage {
    async fn set() -> Stage {
        let folder: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "mistakes"].iter().collect();
        std::fs::create_dir_all(&folder).expect("a folder");
        let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("an address");
        let authority = folder.join("authority.pem");
        std::fs::write(folder.join("notes.txt"), "no certificate").expect("a file");
        Stage {
            candidate: Candidate::start_on_port(Nature::default()).await,
            silent: format!("http://{nobody}/v1"),
            site: answering("200 OK\r\nContent-Type: text/html", "<h1>Welcome</h1>").await,
            secure: secure(&authority).await,
            authority,
            folder,
        }
    }

    /// What the program says to these arguments, and how it ends.
    async fn transcript(&self, args: &[&str]) -> String {
        let output = conform(args).await;
        assert_eq!(text(&output.stdout), "", "{args:?}");
        let shown: Vec<String> = args
            .iter()
            .map(|arg| if arg.contains([' ', '\n']) { format!("{arg:?}") } else { (*arg).to_owned() })
            .collect();
        let code = output.status.code().expect("it ends by itself");
        let stderr = text(&output.stderr);
        for word in ["os error", "Err(", "Error {", "Some(", "panicked"] {
            assert!(!stderr.contains(word), "{args:?} says {word}: {stderr}");
        }
        let transcript = format!("$ conform {}\n{stderr}[exit {code}]\n", shown.join(" "));
        self.redacted(&transcript)
    }

    /// The text without what differs from run to run.
    fn redacted(&self, text: &str) -> String {
        let mut text = text.replace(&self.folder.display().to_string(), "FOLDER").replace(KEY, "KEY");
        for (url, name) in [
            (&self.candidate.base_url, "PORT"),
            (&self.silent, "SILENT"),
            (&self.site, "SITE"),
            (&self.secure, "SECURE"),
        ] {
            let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
            text = text.replace(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{name}"));
        }
        text
    }
}

#[tokio::test]
async fn each_mistake_is_reported_with_its_reason_and_what_to_type_next() {
    let stage = Stage::set().await;
    let url = stage.candidate.base_url.as_str();
    let root = url.trim_end_matches("/v1");
    let as_https = url.replace("http:", "https:");
    let as_http = stage.secure.replace("https:", "http:");
    let (no_version, elsewhere, too_deep) = (root.to_owned(), format!("{root}/v2"), format!("{url}/pets"));
    let missing = format!("json={}", stage.folder.join("notes.txt").join("report.json").display());
    let junk = stage.folder.join("notes.txt").display().to_string();
    let authority = stage.authority.display().to_string();
    let (with_scheme, with_line_break) = (format!("Bearer {KEY}"), format!("{KEY}\n"));
    let key = ["--api-key", KEY];
    let at = |url: &str, more: &[&str]| -> Vec<String> {
        ["--base-url", url].iter().chain(&key).chain(more).map(|arg| (*arg).to_owned()).collect()
    };
    let with_key = |key: &str| -> Vec<String> { ["--base-url", url, "--api-key", key].map(str::to_owned).to_vec() };
    let words = |args: &[&str]| -> Vec<String> { args.iter().map(|arg| (*arg).to_owned()).collect() };
    for (name, code, args) in [
        ("unknown-host", 3, at("http://animals.invalid/v1", &[])),
        ("nothing-listens", 3, at(&stage.silent, &[])),
        ("no-version", 3, at(&no_version, &[])),
        ("another-version", 3, at(&elsewhere, &[])),
        ("too-deep", 3, at(&too_deep, &[])),
        ("website", 3, at(&stage.site, &[])),
        ("wrong-key", 3, with_key("another")),
        ("key-with-scheme", 2, with_key(&with_scheme)),
        ("key-with-line-break", 2, with_key(&with_line_break)),
        ("no-key", 2, words(&["--base-url", url])),
        ("no-target", 2, words(&[])),
        ("https-for-http", 3, at(&as_https, &[])),
        ("http-for-https", 3, at(&as_http, &[])),
        ("self-signed", 3, at(&stage.secure, &[])),
        ("self-signed-and-trusted", 3, at(&stage.secure, &["--ca-cert", &authority])),
        ("no-certificate", 2, at(&stage.secure, &["--ca-cert", &junk])),
        ("no-such-certificate", 2, at(&stage.secure, &["--ca-cert", "none.pem"])),
        ("no-proxy", 3, at(url, &["--proxy", stage.silent.trim_end_matches("/v1")])),
        ("wrong-proxy", 2, at(url, &["--proxy", "proxy:"])),
        ("no-socket", 3, at(url, &["--unix-socket", "none.sock"])),
        ("socket-without-base-url", 2, words(&["--unix-socket", "none.sock"])),
        ("wrong-plan", 2, at(url, &["--plan", "gold"])),
        ("unwritable-report", 3, at(url, &["--report", &missing])),
        ("misspelt-option", 2, at(url, &["--proflie", "full"])),
        ("misspelt-requirement", 2, at(url, &["--only", "list.aray"])),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let transcript = stage.transcript(&args).await;
        assert!(transcript.ends_with(&format!("[exit {code}]\n")), "{transcript}");
        check(&format!("mistake-{name}"), &transcript);
    }
}
