//! What the proxy passes on is what was sent, also where HTTP makes that hard; and what it does not pass on, it explains.

use std::time::Duration;

use animal_store_rules::verdict::Status;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::command_line::{command, text};
use crate::proxy::{Running, connected, echo, empty_store, failed, raw_server, read_until, sent, statuses};

const LIST: &str = "GET /v1/pets?END HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_length_beside_chunks_does_not_cut_the_response() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n24\r\n0123456789abcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n";
    let (base_url, received) = raw_server(response).await;
    let running = Running::start(&base_url, |_| {}).await;
    let answer = sent(&running, LIST).await.to_ascii_lowercase();
    assert!(answer.contains("0123456789abcdefghijklmnopqrstuvwxyz"), "{answer}");
    assert!(!answer.contains("content-length") && answer.contains("transfer-encoding: chunked"), "{answer}");
    received.await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_a_client_might_misread_gets_502_and_is_no_finding() {
    for (method, response) in [
        ("HEAD", &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n"[..]),
        ("GET", b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: pets\r\n\r\n"),
    ] {
        let (base_url, _received) = raw_server(response).await;
        let running = Running::start(&base_url, |_| {}).await;
        let answer = sent(&running, &LIST.replacen("GET", method, 1)).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{method}: {answer}");
        assert_eq!(failed(&running.report().await), [""; 0]);
    }
}

/// A server that reads the head of one request, sends some bytes, and reads the rest before it sends the other bytes.
async fn server_in_two_steps(
    first: &'static str,
    then: &'static str,
    last: &'static str,
) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let head = read_until(&mut stream, "\r\n\r\n").await;
        stream.write_all(first.as_bytes()).await.expect("the proxy");
        let rest = if last.is_empty() { String::new() } else { read_until(&mut stream, last).await };
        stream.write_all(then.as_bytes()).await.expect("the proxy");
        head + &rest
    });
    (base_url, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn interim_responses_come_from_the_server() {
    let done = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let (base_url, served) = server_in_two_steps("HTTP/1.1 100 Continue\r\n\r\n", done, "BODY").await;
    let running = Running::start(&base_url, |_| {}).await;
    let mut stream = connected(&running).await;
    let head =
        "POST /v1/pets HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("the proxy");
    assert_eq!(read_until(&mut stream, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"BODY").await.expect("the proxy");
    assert!(read_until(&mut stream, "{}").await.starts_with("HTTP/1.1 201 "));
    assert!(served.await.expect("no panic").ends_with("BODY"));

    let refused = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    let (base_url, _served) = server_in_two_steps(refused, "", "").await;
    let running = Running::start(&base_url, |_| {}).await;
    let mut stream = connected(&running).await;
    stream.write_all(head.as_bytes()).await.expect("the proxy");
    assert!(read_until(&mut stream, "{}").await.starts_with("HTTP/1.1 413 "), "without 100");

    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </pets>; rel=preload\r\n\r\n";
    let (base_url, _served) = server_in_two_steps(hints, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "").await;
    let running = Running::start(&base_url, |_| {}).await;
    let answer = sent(&running, LIST).await;
    assert!(answer.starts_with(hints) && answer.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_half_closed_connections_and_a_missing_host_pass() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n2\r\n[]\r\n0\r\nx-sum: 7\r\n\r\n";
    let (base_url, received) = raw_server(chunked).await;
    let running = Running::start(&base_url, |_| {}).await;
    let mut stream = connected(&running).await;
    let asked = "GET /v1/pets?END HTTP/1.1\r\nTE: trailers\r\nConnection: TE, close\r\n\r\n";
    stream.write_all(asked.as_bytes()).await.expect("the proxy");
    stream.shutdown().await.expect("the proxy");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("the proxy");
    assert!(answer.to_ascii_lowercase().contains("\r\n0\r\nx-sum: 7\r\n\r\n"), "{answer}");
    let received = received.await.expect("no panic").to_ascii_lowercase();
    assert!(received.contains("te: trailers") && !received.contains("host:"), "{received}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_belongs_percent_encoded_passes_as_it_is() {
    let (base_url, received) = raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]").await;
    let running = Running::start(&base_url, |_| {}).await;
    let line = "GET /v1/pets?name=\"<Rex>\"&x=%22END HTTP/1.1\r\n";
    let answer = sent(&running, &format!("{line}Host: h\r\nConnection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let received = received.await.expect("no panic");
    assert!(received.starts_with(line), "{received}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coding_below_the_chunks_is_kept_and_not_judged() {
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\n\x1f\x8b\x08\r\n0\r\n\r\n";
    let (base_url, received) = raw_server(response).await;
    let running = Running::start(&base_url, |_| {}).await;
    let authority = running.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut stream = TcpStream::connect(authority).await.expect("the proxy");
    stream.write_all(LIST.as_bytes()).await.expect("the proxy");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("the proxy");
    let answer = String::from_utf8_lossy(&answer).to_ascii_lowercase();
    assert!(answer.contains("transfer-encoding: gzip, chunked"), "{answer}");
    received.await.expect("no panic");
    let report = running.report().await;
    assert_eq!(statuses(&report)["list.array"].0, Status::NotExercised);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_chunks_is_passed_on_whatever_the_method_is() {
    let running = Running::start(&echo().await, |_| {}).await;
    for method in ["GET", "DELETE", "POST"] {
        let request = format!(
            "{method} /v1/any HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        );
        let answer = sent(&running, &request).await.to_ascii_lowercase();
        assert!(answer.starts_with("http/1.1 200") && answer.contains("abc"), "{method}: {answer}");
        assert!(answer.contains("transfer-encoding: chunked"), "{method}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_upload_is_no_silent_server() {
    let running = Running::start(&echo().await, |settings| settings.timeout = Duration::from_secs(2)).await;
    let authority = running.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let mut stream = TcpStream::connect(authority).await.expect("the proxy");
    let head = "POST /v1/any HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc";
    stream.write_all(head.as_bytes()).await.expect("the proxy");
    // The client is to send more all the while, so nothing can be awaited instead.
    tokio::time::sleep(Duration::from_secs(3)).await;
    stream.write_all(b"def").await.expect("the proxy");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("the proxy");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("abcdef"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_are_none_are_the_fault_of_the_client() {
    let running = Running::start(&echo().await, |_| {}).await;
    let broken = "POST /v1/pets HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n";
    let answer = sent(&running, broken).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(failed(&running.report().await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn used_as_an_ordinary_proxy_it_serves_its_own_host_and_explains_the_rest() {
    let base_url = empty_store().await;
    let running = Running::start(&base_url, |_| {}).await;
    for own in [&base_url, &running.base_url] {
        let answer = sent(&running, &format!("GET {own}/pets HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{own}: {answer}");
    }
    let foreign = "GET http://other.example/v1/pets HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n";
    let answer = sent(&running, foreign).await;
    assert!(answer.starts_with("HTTP/1.1 421") && answer.contains("other.example"), "{answer}");
    let tunnel = "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\nConnection: close\r\n\r\n";
    let answer = sent(&running, tunnel).await;
    assert!(answer.starts_with("HTTP/1.1 501") && answer.contains("base URL"), "{answer}");
    assert_eq!(running.report().await.requests, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_elsewhere_is_the_reason_that_is_given() {
    let asks = r#"exec curl --silent --noproxy '*' --output /dev/null "$CONFORM_PROXY_URL/pets""#;
    let app = axum::Router::new().route("/v1/pets", axum::routing::get(|| async { "[]" }));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let unversioned = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let output =
        command(&["proxy", "--to", &unversioned, "--", "sh", "-c", asks]).output().await.expect("the program starts");
    let err = text(&output.stderr);
    assert_eq!((output.status.code(), err.contains("does --to lack /v1?")), (Some(3), true), "{err}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn everything_that_the_command_started_ends_with_the_proxy() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let starts =
        r#"sleep 600 & echo $! > "$0"; curl --silent --noproxy '*' "$CONFORM_PROXY_URL/pets" > /dev/null; exit 7"#;
    let base_url = empty_store().await;
    let args = ["proxy", "--to", &base_url, "--side", "server", "--", "sh", "-c", starts];
    let output = command(&args).arg(&pid).output().await.expect("the program starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("the command ended with exit code 7"), "{out}{err}");
    assert_eq!(output.status.code(), Some(if out.starts_with("VIOLATES") { 1 } else { 3 }), "{out}{err}");
    let pid = std::fs::read_to_string(pid).expect("a number");
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_far_beyond_64_kib_is_refused_whoever_sends_it() {
    for (size, status) in [(60, "200"), (200, "431")] {
        let (base_url, _received) = raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]").await;
        let running = Running::start(&base_url, |_| {}).await;
        let long = "a".repeat(size * 1024);
        let head =
            format!("GET /v1/pets HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Long: {long}\r\nX-Last: END\r\n\r\n");
        let answer = sent(&running, &head).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{size} KiB of a client: {answer}");
    }
    for (size, status) in [(60, "200"), (200, "502")] {
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Long: {}\r\n\r\n[]", "a".repeat(size * 1024));
        let (base_url, _received) = raw_server(response.leak().as_bytes()).await;
        let running = Running::start(&base_url, |_| {}).await;
        let answer = sent(&running, LIST).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{size} KiB of the server: {answer}");
        assert_eq!(failed(&running.report().await).iter().filter(|id| *id == "service.complete-answer").count(), 0);
    }
}

/// The resident memory of a process, in MiB.
#[cfg(target_os = "linux")]
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process that runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_clients_that_read_nothing_take_little_memory() {
    use tokio::io::AsyncBufReadExt;
    const BODY: usize = 8 * 1024 * 1024;
    static PIECE: [u8; 64 * 1024] = [b' '; 64 * 1024];
    /// The program takes up to 20 MiB, the copies of bodies up to 64 MiB, and each connection two buffers of 64 KiB on either side.
    const MOST: u64 = 20 + 64 + 300 * 4 * 64 / 1024;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                read_until(&mut stream, "\r\n\r\n").await;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n");
                stream.write_all(head.as_bytes()).await?;
                for _ in 0..BODY / PIECE.len() {
                    stream.write_all(&PIECE).await?;
                }
                Ok::<_, std::io::Error>(())
            });
        }
    });
    let args = ["proxy", "--to", &base_url, "--", "sh", "-c", "echo \"$CONFORM_PROXY_URL\"; exec sleep 60"];
    let mut proxy =
        command(&args).stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn().expect("the program starts");
    let output = proxy.stdout.take().expect("a pipe");
    let proxy_url = tokio::io::BufReader::new(output).lines().next_line().await.expect("a pipe").expect("a line");
    let address = proxy_url.trim_start_matches("http://").trim_end_matches("/v1").parse().expect("an address");
    let mut clients = Vec::new();
    for _ in 0..300 {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4 * 1024).expect("a small buffer");
        let mut client = socket.connect(address).await.expect("the proxy");
        client.write_all(b"GET /v1/pets HTTP/1.1\r\nHost: h\r\n\r\n").await.expect("the proxy");
        clients.push(client);
    }
    let process = proxy.id().expect("a process that runs");
    let mut most = 0;
    for _ in 0..30 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        most = most.max(resident(process));
    }
    assert!(most < MOST, "{most} MiB");
}
