//! Recorded traffic: how much more processor time the judge takes for an exchange in a recording that is ten times as long.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use animal_store_conformance::recorded::{Terms, judge};
use animal_store_rules::catalogue::scope::Side;
use animal_store_rules::trace::Context;
use animal_store_rules::trace::knowledge::Extent;
use animal_store_traffic::{Head, Writer, lines};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Bench;
use super::load;

/// How many exchanges the recordings have.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// The parts that grow with the length of a recording.
const GROWING: [&str; 5] = ["windows", "animals", "refusals", "keys", "copies"];
/// The time of the first exchange: a whole minute.
const BEGINNING: Timestamp = Timestamp::constant(1_780_315_200, 0);

/// Measures recordings of each part that grows.
pub(super) fn measure(bench: &mut Bench<'_>) -> anyhow::Result<()> {
    for growing in GROWING {
        let mut costs = [0.0; SIZES.len()];
        for (cost, size) in costs.iter_mut().zip(SIZES) {
            let path = bench.folder.join("recorded.jsonl");
            let mut file = BufWriter::new(File::create(&path)?);
            let writer = Writer { name: "bench".to_owned(), version: String::new() };
            let head = Head::of(&Context::new(Extent::Conversation, "http://127.0.0.1:1/v1"), writer);
            file.write_all(lines::head_line(&head).as_bytes())?;
            for number in 0..size {
                writeln!(file, "{}", exchange(growing, number))?;
            }
            file.into_inner()?;
            // Each size has as much work as the largest one, so that all are measured equally well.
            let (spent, ()) = load::measure("self", || {
                for _ in 0..SIZES[2] / size {
                    judge(std::slice::from_ref(&path), &Terms { side: Some(Side::Both), ..Terms::default() })?;
                }
                Ok(())
            })?;
            *cost = spent.processor.as_secs_f64() * 1_000_000.0 / SIZES[2] as f64;
        }
        let [short, middle, long] = costs;
        let what = format!("judging: an exchange with many {growing}, in a recording that is ten times as long");
        let note = format!("({short:.0} µs of 1,000, {middle:.0} µs of 10,000, {long:.0} µs of 100,000)");
        bench.show(&what, &[f64::max(middle / short, long / middle)], 0.0..1.5, &note);
    }
    Ok(())
}

/// An exchange by its number from 0: a list without animals, unless the growing part asks for another one.
fn exchange(growing: &str, number: usize) -> Value {
    let new = json!({"name": format!("Rex {}", number / 2), "categoryId": 1, "status": "sold"});
    let mut pet = new.clone();
    pet["id"] = json!(number / 2);
    let list = || ("GET", "/pets".to_owned(), String::new(), 200, json!([]));
    let refusal = json!({"code": "", "message": "", "status": 429});
    let (milliseconds, key, (method, path, sent, status, body)) = match growing {
        "windows" => (60_000, 0, list()),
        "refusals" => (62_000, 0, ("GET", "/pets".to_owned(), String::new(), 429, refusal)),
        "keys" => (10, number, list()),
        "copies" => (10, 0, list()),
        _ if number.is_multiple_of(2) => (10, 0, ("POST", "/pets".to_owned(), new.to_string(), 201, pet)),
        _ => (10, 0, ("GET", format!("/pets/{}", number / 2), String::new(), 200, pet)),
    };
    // Copies of one answer report one window of a day, and what remained of it then.
    let is_copy = growing == "copies";
    let sent_at = BEGINNING + SignedDuration::from_millis(milliseconds * number as i64);
    let mut headers = json!([
        ["content-type", "application/json"],
        ["date", sent_at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()],
        ["x-ratelimit-limit", "1000000"],
        ["x-ratelimit-remaining", (if is_copy { 9 } else { 1_000_000 - number }).to_string()],
        [
            "x-ratelimit-reset",
            (if is_copy { BEGINNING.as_second() + 43_200 } else { sent_at.as_second() / 60 * 60 + 60 }).to_string()
        ],
        ["retry-after", "61"],
    ]);
    if status != 429 {
        headers.as_array_mut().map(Vec::pop);
    }
    json!({
        "sent_at": sent_at.to_string(),
        "received_at": (sent_at + SignedDuration::from_millis(2)).to_string(),
        "request": {
            "method": method, "path": path, "authorization": format!("Bearer live-{key}-key"),
            "content_type": "application/json", "body": sent,
        },
        "response": {"status": status, "headers": headers, "body": body.to_string()},
    })
}
