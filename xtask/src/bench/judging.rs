//! The rows of recorded traffic: how much longer an exchange takes in a recording that is ten times as long.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

use animal_store_conformance::recorded::{Terms, judge};
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::trace::Context;
use animal_store_rules::trace::exchange::{Exchange, Outcome, Request, Response};
use animal_store_rules::trace::knowledge::{Extent, Knowledge};
use animal_store_rules::trace::recording::{Head, Writer, lines};
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Session;
use super::stats::{Bound, Summary};
use super::table::{Row, Unit};

/// How many exchanges the recordings have.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The time of the first exchange: a whole minute.
const BEGINNING: i64 = 1_780_315_200;

/// What an exchange of a recording is, by its number from 0.
type Nth = fn(usize) -> Recorded;

/// What grows with the length of a recording, and the exchanges that make it grow.
const GROWING: [(&str, Nth); 4] = [
    ("windows", |number| Recorded { after: 60_000 * number as i64, ..Recorded::list(number) }),
    ("animals", |number| Recorded {
        method: if number.is_multiple_of(2) { "POST" } else { "GET" },
        path: if number.is_multiple_of(2) { "/pets".to_owned() } else { format!("/pets/{}", number / 2) },
        status: if number.is_multiple_of(2) { 201 } else { 200 },
        body: json!({"id": number / 2, "name": format!("Rex {}", number / 2), "categoryId": 1, "status": "sold"}),
        ..Recorded::list(number)
    }),
    ("refusals", |number| Recorded {
        after: 62_000 * number as i64,
        status: 429,
        body: json!({"code": "limited", "message": "Too many requests", "status": 429}),
        ..Recorded::list(number)
    }),
    ("keys", |number| Recorded { key: format!("live-{number}-key"), ..Recorded::list(number) }),
];

/// What the exchanges of the recordings differ in.
struct Recorded {
    /// Milliseconds since the first.
    after: i64,
    key: String,
    method: &'static str,
    path: String,
    status: u16,
    body: Value,
}

impl Recorded {
    /// A list of no animals.
    fn list(number: usize) -> Recorded {
        Recorded {
            after: 10 * number as i64,
            key: "live-key-of-all".to_owned(),
            method: "GET",
            path: "/pets".to_owned(),
            status: 200,
            body: json!([]),
        }
    }

    fn exchange(self, number: usize) -> anyhow::Result<Exchange> {
        let sent_at = Timestamp::from_second(BEGINNING)? + SignedDuration::from_millis(self.after);
        let mut request = Request::new(self.method, self.path).authorization(format!("Bearer {}", self.key));
        if self.method == "POST" {
            let mut sent = self.body.clone();
            sent.as_object_mut().context("a body without members")?.remove("id");
            request = request.json(sent.to_string());
        }
        let fields = [
            ("content-type", "application/json".to_owned()),
            ("date", sent_at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()),
            ("x-ratelimit-limit", "1000000".to_owned()),
            ("x-ratelimit-remaining", (1_000_000 - number).to_string()),
            ("x-ratelimit-reset", (sent_at.as_second() / 60 * 60 + 60).to_string()),
        ];
        let retry_after = (self.status == 429).then(|| ("retry-after", "61".to_owned()));
        let headers = fields.into_iter().chain(retry_after).map(|(name, value)| (name.to_owned(), value)).collect();
        let body = self.body.to_string().into_bytes();
        Ok(Exchange {
            number,
            probe: "".into(),
            step: String::new(),
            case: None,
            request,
            outcome: Outcome::Response(Response { status: self.status, headers, body, cut: false }),
            sent_at,
            received_at: sent_at + SignedDuration::from_millis(2),
            known: Knowledge::default(),
        })
    }
}

/// A row for each of what grows.
pub(crate) fn judging_rows(session: &Session) -> anyhow::Result<Vec<Row>> {
    GROWING.into_iter().map(|(what, nth)| row(session.folder.path(), what, nth)).collect()
}

fn row(folder: &Path, what: &str, nth: Nth) -> anyhow::Result<Row> {
    let costs = SIZES.iter().map(|size| cost(folder, nth, *size)).collect::<anyhow::Result<Vec<f64>>>()?;
    let growth: Vec<f64> = costs.windows(2).map(|pair| pair[1] / pair[0]).collect();
    let largest = growth.iter().copied().fold(0.0, f64::max);
    let mut note = format!("judge, many {what}: an exchange takes");
    for (size, cost) in SIZES.iter().zip(&costs) {
        // Writing to a string cannot fail.
        let _ = write!(note, " {cost:.0} µs of {size},");
    }
    Ok(Row {
        what: format!("time of an exchange with many {what}, in a recording ten times as long"),
        measured: None,
        figure: Summary::of(&growth)
            .map(|summary| Summary { median: largest, ..summary })
            .context("nothing was judged")?,
        unit: Unit::Ratio,
        bound: Bound::Below(1.5),
        notes: vec![note.trim_end_matches(',').to_owned()],
    })
}

/// Microseconds for each exchange of a recording with this many.
fn cost(folder: &Path, nth: Nth, size: usize) -> anyhow::Result<f64> {
    let path = folder.join("recorded.jsonl");
    let mut file = BufWriter::new(std::fs::File::create(&path)?);
    let context = Context::new(Extent::Conversation, "http://127.0.0.1:1/v1");
    let writer = Writer { name: "bench".to_owned(), version: String::new() };
    file.write_all(lines::head_line(&Head::of(&context, writer)).as_bytes())?;
    for number in 0..size {
        file.write_all(lines::line(&nth(number).exchange(number + 1)?).as_bytes())?;
    }
    file.into_inner()?;
    let terms = Terms { side: Some(Side::Both), ..Terms::default() };
    let start = Instant::now();
    judge(&[path], &terms)?;
    Ok(start.elapsed().as_secs_f64() * 1_000_000.0 / size as f64)
}
