//! The waits of a session whose server answers by a script, on a simulated clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use animal_store_rules::catalogue::plan::PlanLimits;
use animal_store_rules::trace::Context;
use animal_store_rules::trace::exchange::Request;
use animal_store_rules::trace::keys::ApiKey;
use animal_store_rules::trace::knowledge::Extent;
use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::super::{Session, Stop};
use crate::events::Event;
use crate::http::client::Client;
use crate::http::clock::Clock;
use crate::interrupt::Interrupt;
use crate::options::Options;

/// What the server answers.
#[derive(Clone, Copy)]
enum Answer {
    /// 200, with this many requests remaining of a minute that ends in this many seconds.
    Admitted(u64, i64),
    /// 429, with `Retry-After` if there is one.
    Refused(Option<u64>),
    /// 429, with nothing remaining of a window that ends in this many seconds.
    Exhausted(i64),
    /// 401: the key is not known.
    Unknown,
}

use Answer::{Admitted, Exhausted, Refused, Unknown};

/// The plan of the key.
const LIMITS: PlanLimits = PlanLimits { per_minute: 60, per_day: 1_000 };

/// Serves these answers, one for each connection, and then no more.
async fn serve(answers: &[Answer], clock: Clock) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut answers: VecDeque<Answer> = answers.iter().copied().collect();
    tokio::spawn(async move {
        while let (Some(answer), Ok((mut stream, _))) = (answers.pop_front(), listener.accept().await) {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a request"));
            }
            let window = |remaining: u64, left: i64| {
                let (limit, reset) = (LIMITS.per_minute, clock.now().as_second() + left);
                format!(
                    "X-RateLimit-Limit: {limit}\r\nX-RateLimit-Remaining: {remaining}\r\nX-RateLimit-Reset: {reset}"
                )
            };
            let lines = match answer {
                Admitted(remaining, left) => format!("200 OK\r\n{}", window(remaining, left)),
                Exhausted(left) => format!("429 Too Many Requests\r\n{}", window(0, left)),
                Refused(Some(seconds)) => format!("429 Too Many Requests\r\nRetry-After: {seconds}"),
                Refused(None) => "429 Too Many Requests".to_owned(),
                Unknown => "401 Unauthorized".to_owned(),
            };
            let response = format!("HTTP/1.1 {lines}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(response.as_bytes()).await.expect("an open connection");
        }
    });
    format!("http://{address}/v1")
}

/// What came of some requests: the status of each answer or why the run ended, and the waits in whole seconds.
#[derive(Debug, PartialEq)]
struct Outcome {
    statuses: Vec<Option<u16>>,
    stop: Option<Stop>,
    waits: Vec<u64>,
}

/// Asks so many times, one after the other, or the last so many together.
async fn outcome(answers: &[Answer], alone: usize, together: usize) -> Outcome {
    let clock = Clock::stepping_from(Timestamp::constant(1_780_315_200, 0));
    let base_url = serve(answers, clock.clone()).await;
    let mut options = Options::new(&base_url, "sk-Test-Key-0001").expect("an address and a key");
    let client = Client::new(options.transport.clone()).expect("a client");
    let waits = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&waits);
    let listener = move |event: &Event| {
        if let Event::Waiting { time, .. } = event {
            heard.lock().expect("no other panic").push(time.as_secs());
        }
    };
    (options.seed, options.budget.max_requests, options.budget.max_duration) = (7, 100, Duration::from_hours(1));
    let context = context(base_url, options.api_key.clone());
    let mut session = Session::new(&options, context, &client, &listener, clock, Interrupt::default());
    let request = || Request::new("GET", "/pets");
    let (mut statuses, mut stop) = (Vec::new(), None);
    for _ in 0..alone {
        match session.ask(request()).await {
            Ok(exchange) => statuses.push(exchange.status()),
            Err(reason) => {
                stop = Some(reason);
                break;
            }
        }
    }
    if together > 0 {
        match session.ask_together((0..together).map(|_| request()).collect()).await {
            Ok(exchanges) => statuses.extend(exchanges.into_iter().map(super::Exchange::status)),
            Err(reason) => stop = Some(reason),
        }
    }
    drop(session);
    let waits = waits.lock().expect("no other panic").clone();
    Outcome { statuses, stop, waits }
}

fn context(base_url: String, key: ApiKey) -> Context {
    Context { keys: vec![key].into(), plan_limits: Some(LIMITS), ..Context::new(Extent::Run, base_url) }
}

fn ok(statuses: &[u16], waits: &[u64]) -> Outcome {
    Outcome { statuses: statuses.iter().copied().map(Some).collect(), stop: None, waits: waits.to_vec() }
}

#[tokio::test]
async fn a_refusal_is_waited_for_as_it_announces_and_the_request_repeated() {
    for seconds in [0, 7, 60] {
        let answers = [Refused(Some(seconds)), Admitted(59, 60)];
        assert_eq!(outcome(&answers, 1, 0).await, ok(&[200], &[seconds + 2]));
    }
}

#[tokio::test]
async fn from_the_second_refusal_in_a_row_a_minute_is_waited_at_least() {
    let answers = [Refused(Some(1)), Refused(Some(1)), Refused(Some(80)), Admitted(59, 60)];
    assert_eq!(outcome(&answers, 1, 0).await, ok(&[200], &[3, 62, 82]));
}

#[tokio::test]
async fn a_refusal_that_announces_nothing_is_waited_for_a_moment_and_then_a_minute() {
    let answers = [Refused(None), Refused(None), Admitted(59, 60)];
    assert_eq!(outcome(&answers, 1, 0).await, ok(&[200], &[1, 62]));
}

#[tokio::test]
async fn after_three_waits_in_vain_the_run_ends() {
    let expected = Outcome { statuses: vec![], stop: Some(Stop::StaysLimited(Duration::ZERO)), waits: vec![3, 62, 62] };
    assert_eq!(outcome(&[Refused(Some(1)); 5], 1, 0).await, expected);
}

#[tokio::test]
async fn a_refused_key_gets_three_spaced_requests_and_goes_on_if_it_is_accepted_again() {
    let revoked = outcome(&[Admitted(59, 60), Unknown, Unknown, Unknown, Unknown], 2, 0).await;
    assert!(matches!(revoked.stop, Some(Stop::Access(_))), "{revoked:?}");
    assert_eq!((revoked.statuses, revoked.waits), (vec![Some(200)], vec![1, 2, 4]));
    let answers = [Admitted(59, 60), Unknown, Admitted(58, 60), Admitted(57, 60)];
    assert_eq!(outcome(&answers, 3, 0).await, ok(&[200, 401, 200], &[1]));
}

#[tokio::test]
async fn a_limit_of_a_day_is_told_from_one_of_a_minute_that_does_not_end() {
    let stop = outcome(&[Exhausted(40_000); 5], 1, 0).await.stop;
    assert!(matches!(stop, Some(Stop::Exhausted(_))), "{stop:?}");
    assert!(Stop::StaysLimited(Duration::from_secs(40_000)).to_string().ends_with("Retry-After names a minute"));
    assert!(!Stop::StaysLimited(Duration::from_secs(40)).to_string().contains("day"));
}

#[tokio::test]
async fn the_end_of_a_short_ban_is_awaited_and_every_later_wait_is_a_minute_at_least() {
    let ban = Refused(Some(300));
    // A first refusal is no ban.
    let stop = Some(Stop::Exhausted(Duration::from_secs(302)));
    assert_eq!(outcome(&[ban], 1, 0).await, Outcome { statuses: vec![], stop, waits: vec![] });
    let answers = [Refused(Some(1)), ban, Admitted(0, -1), Refused(Some(1)), Admitted(59, 60)];
    assert_eq!(outcome(&answers, 2, 0).await, ok(&[200, 200], &[3, 302, 62]));
    // Three bans are awaited, and a longer one is not.
    let [refused, admitted] = [Refused(Some(1)), Admitted(0, -1)];
    let answers = [refused, ban, admitted, ban, admitted, ban, admitted, ban];
    let stop = Some(Stop::Exhausted(Duration::from_secs(302)));
    let expected = Outcome { statuses: vec![Some(200); 3], stop, waits: vec![3, 302, 302, 302] };
    assert_eq!(outcome(&answers, 4, 0).await, expected);
    let stop = Some(Stop::Exhausted(Duration::from_secs(402)));
    let expected = Outcome { statuses: vec![], stop, waits: vec![3] };
    assert_eq!(outcome(&[refused, Refused(Some(400))], 1, 0).await, expected);
}

#[tokio::test]
async fn a_ban_whose_end_only_the_reset_announces_is_awaited_before_the_next_request() {
    let answers = [Admitted(50, 50), Refused(Some(5)), Exhausted(121), Admitted(59, 60)];
    assert_eq!(outcome(&answers, 3, 0).await, ok(&[200, 429, 200], &[7, 122]));
}

#[tokio::test]
async fn a_refusal_while_much_remains_is_repeated_once_and_the_next_one_after_a_moment() {
    let [promised, early] = [Admitted(50, 50), Refused(Some(5))];
    assert_eq!(outcome(&[promised, early, early], 2, 0).await, ok(&[200, 429], &[7]));
    let answers = [promised, early, promised, early, promised];
    assert_eq!(outcome(&answers, 3, 0).await, ok(&[200, 200, 200], &[7, 1]));
    // Where little remains, somebody else may have used it.
    let answers = [Admitted(5, 50), early, early, Admitted(59, 60)];
    assert_eq!(outcome(&answers, 2, 0).await, ok(&[200, 200], &[7, 62]));
}

#[tokio::test]
async fn the_reset_of_an_exhausted_window_is_awaited_unless_that_was_in_vain_before() {
    let exhausted = Admitted(0, 20);
    let answers = [exhausted, exhausted, exhausted, exhausted];
    assert_eq!(outcome(&answers, 4, 0).await, ok(&[200; 4], &[21]));
    let answers = [exhausted, Admitted(59, 60), exhausted, Admitted(59, 60)];
    assert_eq!(outcome(&answers, 4, 0).await, ok(&[200; 4], &[21, 21]));
}

#[tokio::test]
async fn requests_together_wait_for_room_and_heed_the_longest_refusal_without_a_repetition() {
    let answers = [Admitted(4, 20), Admitted(59, 60), Admitted(58, 60)];
    assert_eq!(outcome(&answers, 1, 2).await, ok(&[200; 3], &[21]));
    let answers = [Admitted(50, 20), Refused(Some(7)), Refused(Some(9))];
    let Outcome { statuses, stop, waits } = outcome(&answers, 1, 2).await;
    assert_eq!((statuses, stop, waits), (vec![Some(200), Some(429), Some(429)], None, vec![11]));
}
