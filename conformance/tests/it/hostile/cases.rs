//! What hostile and hopeless servers do: a name, and what becomes of each connection.

use std::sync::Arc;

use super::server::{Asked, Behaviour, Peer};

/// One way to be hostile.
pub(super) struct Case {
    /// What it does, for the snapshot.
    pub name: &'static str,
    /// How long an answer may take, in seconds.
    pub timeout: &'static str,
    /// What it does.
    pub behaviour: Arc<Behaviour>,
}

fn case(
    name: &'static str,
    behaviour: impl Fn(&Asked, &mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> Case {
    Case { name, timeout: "1", behaviour: Arc::new(behaviour) }
}

/// With more time for each answer: mebibytes take theirs on a machine that is busy with other things.
fn patient(case: Case) -> Case {
    Case { timeout: "15", ..case }
}

/// Always the same bytes.
fn bytes(name: &'static str, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Case {
    case(name, move |_, peer| peer.send(bytes.as_ref()))
}

/// Always 200 with this body and lawful headers.
fn body(name: &'static str, body: impl AsRef<[u8]> + Send + Sync + 'static) -> Case {
    patient(case(name, move |_, peer| peer.answer("200 OK", "", body.as_ref())))
}

/// Always this status with an Error, and fields of one's own.
fn refusal(name: &'static str, status: &'static str, fields: &'static str) -> Case {
    case(name, move |_, peer| {
        let error = format!(r#"{{"code":"no","message":"no","status":{}}}"#, &status[..3]);
        peer.answer(status, fields, error)
    })
}

/// An empty catalogue at first, so that the run begins, and something else from then on.
fn later(
    name: &'static str,
    behaviour: impl Fn(&Asked, &mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> Case {
    case(
        name,
        move |asked, peer| if asked.before < 3 { peer.answer("200 OK", "", "[]") } else { behaviour(asked, peer) },
    )
}

/// What a server may do to its connections.
pub(super) fn connections() -> Vec<Case> {
    vec![
        case("says nothing", |_, peer| peer.say_nothing()),
        later("says nothing after three answers", |_, peer| peer.say_nothing()),
        case("hangs up", |_, _| Ok(())),
        later("hangs up after three answers", |_, _| Ok(())),
        case("drips a status line", |_, peer| peer.drip(b"HTTP/1.1 200 OK")),
        later("drips header fields after three answers", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\n").and_then(|()| peer.drip(b"a: b\r\n"))
        }),
        later("drips a body after three answers", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").and_then(|()| peer.drip(b" "))
        }),
        patient(case("sends a body without end", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[")?;
            peer.send_for_ever([b' '; 65_536])
        })),
        patient(case("sends chunks without end", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")?;
            peer.send_for_ever(format!("4000\r\n{}\r\n", " ".repeat(0x4000)))
        })),
        case("sends a chunk extension without end", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;")?;
            peer.send_for_ever([b'x'; 65_536])
        }),
        case("sends trailers without end", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n")?;
            peer.send_for_ever("x-trailer: and another one\r\n")
        }),
        case("sends header fields without end", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\n")?;
            peer.send_for_ever("x-field: and another one\r\n")
        }),
        case("sends one header field without end", |_, peer| {
            peer.send("HTTP/1.1 200 OK\r\nx-field: ")?;
            peer.send_for_ever([b'x'; 65_536])
        }),
        case("says 100 Continue for ever", |_, peer| peer.repeat("HTTP/1.1 100 Continue\r\n\r\n")),
        case("gives early hints for ever", |_, peer| {
            peer.repeat("HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n")
        }),
    ]
}

/// What is no HTTP, or lies about itself.
pub(super) fn messages() -> Vec<Case> {
    const GZIP_BOMB: &[u8] = include_bytes!("bomb.gz.gz");
    vec![
        bytes("announces an exabyte", "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000000000\r\n\r\n[]"),
        bytes("announces two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n[]"),
        bytes("announces less than it sends", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n[]"),
        bytes(
            "announces a chunk of an exabyte",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n[]",
        ),
        bytes("sends noise", (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>()),
        bytes("answers as a TLS server", b"\x15\x03\x01\x00\x02\x02\x46"),
        bytes("answers in HTTP/2", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
        bytes("answers in HTTP/0.9", "[]"),
        bytes("answers with status 99999", "HTTP/1.1 99999 No\r\ncontent-length: 0\r\n\r\n"),
        bytes("switches protocols", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n[]"),
        bytes(
            "puts control characters into a header",
            "HTTP/1.1 200 OK\r\nx-a: \x1b[31m\x07\r\ncontent-length: 2\r\n\r\n[]",
        ),
        case("compresses 200 MiB twice", |_, peer| {
            peer.answer("200 OK", "content-encoding: gzip, gzip\r\n", GZIP_BOMB)
        }),
    ]
}

/// Bodies that a reader might choke on.
pub(super) fn bodies() -> Vec<Case> {
    const MEBIBYTE: usize = 1 << 20;
    vec![
        body("sends bytes that are no UTF-8", [b"[\"", &[0xff, 0xfe, 0xc0, 0x80][..], b"\"]"].concat()),
        body("sends UTF-16", "\u{feff}[]".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        body("nests a million arrays", "[".repeat(MEBIBYTE)),
        body("nests objects", r#"{"a":"#.repeat(200_000)),
        body("lists four million empty arrays", format!("[{}[]]", "[],".repeat(2 * MEBIBYTE + MEBIBYTE / 2))),
        body("sends a million members", format!("[{{{}\"z\":0}}]", r#""a":0,"#.repeat(MEBIBYTE))),
        body("sends NaN and infinities", r#"[{"id":NaN,"name":"a","categoryId":Infinity}]"#),
        body("sends numbers beyond every type", r#"[{"id":1e999999999,"name":"a","categoryId":-1e-999999999}]"#),
        body(
            "sends a number of 100,000 digits",
            format!(r#"[{{"id":{},"name":"a","categoryId":1}}]"#, "9".repeat(100_000)),
        ),
        body(
            "sends a string of 7 MiB",
            format!(r#"[{{"id":1,"name":"{}","categoryId":1}}]"#, "x".repeat(7 * MEBIBYTE)),
        ),
        body("sends escapes of half a character", r#"[{"id":1,"name":"\ud800","categoryId":1}]"#),
        body("sends nothing", ""),
        body("sends 8 MiB of spaces", " ".repeat(8 * MEBIBYTE)),
    ]
}

/// Answers that are refusals and nothing else, and headers that lie.
pub(super) fn refusals() -> Vec<Case> {
    vec![
        refusal("always 401", "401 Unauthorized", ""),
        refusal("always 403", "403 Forbidden", ""),
        refusal("always 500", "500 Internal Server Error", ""),
        refusal("always 503 with a Retry-After of a day", "503 Service Unavailable", "retry-after: 86400\r\n"),
        refusal("always 429 without Retry-After", "429 Too Many Requests", ""),
        refusal("always 429 with Retry-After 0", "429 Too Many Requests", "retry-after: 0\r\n"),
        refusal("always 429 with a Retry-After of centuries", "429 Too Many Requests", "retry-after: 9999999999\r\n"),
        later("429 with a Retry-After of centuries after three answers", |_, peer| {
            peer.answer("429 Too Many Requests", "retry-after: 9999999999\r\n", "")
        }),
        bytes(
            "rate-limit headers beyond every type",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-ratelimit-limit: 99999999999999999999999\r\n\
             x-ratelimit-remaining: -99999999999999999999999\r\nx-ratelimit-reset: 99999999999999999999999\r\n\
             content-length: 2\r\nconnection: close\r\n\r\n[]",
        ),
        bytes(
            "a reset in the last second of int64",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-ratelimit-limit: 1\r\nx-ratelimit-remaining: 0\r\n\
             x-ratelimit-reset: 9223372036854775807\r\ndate: Fri, 31 Dec 9999 23:59:59 GMT\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]",
        ),
        case("every header a hundred times", |_, peer| {
            let fields = "x-ratelimit-limit: 60\r\nx-ratelimit-remaining: 7\r\nretry-after: 1\r\ncontent-type: text/html\r\n\
                          date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
            peer.answer("200 OK", &fields.repeat(15), "[]")
        }),
        case("a header of 60 KiB", |_, peer| {
            peer.answer("200 OK", &format!("x-long: {}\r\n", "x".repeat(60 * 1024)), "[]")
        }),
        case("redirects to itself", |asked, peer| {
            peer.answer("302 Found", &format!("location: {}\r\n", asked.target), "")
        }),
        later("redirects to itself after three answers", |asked, peer| {
            peer.answer("307 Temporary Redirect", &format!("location: {}\r\n", asked.target), "")
        }),
    ]
}

/// Text that acts on a terminal, a browser, a continuous-integration log or a spreadsheet, wherever an answer has text.
pub(super) const AWKWARD: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}gnp.exe\u{2066}\u{0}\r::error::x\n::add-mask::y\
                                  </script><script>alert(1)</script><img src=x onerror=alert(1)>`|@everyone ]]>&amp;=cmd()";

/// Awkward text in every field that has text.
pub(super) fn text() -> Vec<Case> {
    let json = serde_json::to_string(AWKWARD).expect("a string is JSON");
    let (raw_list, raw_error) = (AWKWARD.to_owned(), AWKWARD.to_owned());
    let pet = format!(r#"{{"id":1,"name":{json},"categoryId":{json},"status":{json},{json}:{json}}}"#);
    let error = format!(r#"{{"code":{json},"message":{json},"status":{json},{json}:[{json}]}}"#);
    let list = format!("[{pet}]");
    vec![
        case("awkward text in every member", move |asked, peer| match (asked.method.as_str(), asked.target.as_str()) {
            ("POST", _) => peer.answer("201 Created", "", &pet),
            (_, target) if target.starts_with("/v1/pets/") => peer.answer("404 Not Found", "", &error),
            _ => peer.answer("200 OK", "", &list),
        }),
        later("awkward text instead of JSON", move |_, peer| peer.answer("200 OK", "", &raw_list)),
        later("awkward text instead of an error", move |_, peer| {
            peer.answer("400 Bad", "location: </script>\u{85}\u{9b}31m\r\nx-\u{2028}: 1\r\n", &raw_error)
        }),
        later("markup and bytes beyond ASCII in every header field", |_, peer| {
            let fields = "retry-after: </script><b>\r\nwww-authenticate: \u{9b}31m::error::\r\nlocation: javascript:alert(1)\r\n\
                          x-frame: \u{202e}evil\r\n";
            peer.answer("401 </script>", fields, "")
        }),
    ]
}
