//! Exponential backoff: over a run of refusals the client waits longer and longer.
//!
//! Jitter hides the growth from one wait to the next, so single waits prove nothing. The most irregular lawful policy is full
//! jitter: each wait is drawn evenly between nothing and a bound that doubles until it reaches a cap, which is at least twice the
//! first bound. A client is accused only where that policy would hardly ever produce what the trace shows.

use super::{of_key, waiting};
use crate::facts::Facts;
use crate::history::Entry;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};
use crate::tolerance::Tolerance;

pub(crate) const RULES: &[Rule] = &[Rule::new("client.backoff", backoff).needing(Needs::WAITS)];

/// A client with full jitter is accused less often than this, over all the refusals of a key.
const UNLIKELY: f64 = 1e-5;

/// Recorded times are no more exact than this, in seconds.
const RESOLUTION: f64 = 0.002;

fn backoff(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // Who retries after other errors as well may have come to a cap before the first refusal. Where the trace begins, it shows no
    // more than that, unless it has everything that was sent with the key.
    let begins = !history.is_sample();
    for key in 0..history.context.keys.len() {
        let entries = of_key(history, key);
        // Where a client is seen to have several requests under way at a time, each may back off by itself, and the waits between
        // their refusals are nobody's.
        if !entries.is_sorted_by(|one, next| one.precedes(next)) {
            continue;
        }
        let runs: Vec<(&[&Entry<'_>], Vec<f64>)> =
            refusals(&entries, begins).into_iter().filter_map(|run| waits(run).map(|waits| (run, waits))).collect();
        let likelihoods = runs.iter().map(|(_, waits)| likelihood(waits)).collect::<Vec<_>>();
        // One wait that grew shows that the client backs off, whatever jitter did to the others.
        if runs.iter().any(|(_, waits)| grows(waits)) {
            judgement.hold();
        } else if likelihoods.iter().product::<f64>() < UNLIKELY {
            let Some((run, waits)) = runs.iter().max_by_key(|(run, _)| run.len()) else { continue };
            let listed: Vec<String> = waits.iter().take(6).map(|wait| format!("{wait:.2}")).collect();
            judgement.fail(
                run,
                "waits that grow from one refusal to the next",
                format!("{} refusals in a row, with waits of {} s between them", run.len(), listed.join(", ")),
            );
        }
    }
    if judgement.judged == 0 {
        let unseen = "no client received three 429 responses in a row to sequential requests, with a wait that it chose itself \
                      between them";
        judgement.unseen = Some(unseen.to_owned());
    }
}

/// Three or more refusals in a row, each received before the next request was sent. Where several requests are under way at a
/// time, it is not known which wait belongs to which. The first of them follows an answer that nobody retries after, or begins the
/// trace, where that counts.
fn refusals<'e, 'h, 't>(entries: &'e [&'h Entry<'t>], begins: bool) -> Vec<&'e [&'h Entry<'t>]> {
    let mut end = 0;
    let runs = entries
        .chunk_by(|one, next| one.status() == Some(429) && next.status() == Some(429) && one.precedes(next))
        .map(|run| {
            end += run.len();
            (end - run.len(), run)
        });
    let is_first = |at: usize| match at.checked_sub(1) {
        None => begins,
        Some(before) => matches!(entries[before].status(), Some(200..=428 | 430..=499)),
    };
    let runs = runs.filter(|(at, run)| run.len() >= 3 && run[0].status() == Some(429) && is_first(*at));
    runs.map(|(_, run)| run).collect()
}

/// The waits between the refusals in seconds, beyond what `Retry-After` dictates. A client that does not wait for it chooses
/// the whole wait itself; one that waits for exactly that has chosen nothing, and nothing can be said of it.
fn waits(run: &[&Entry<'_>]) -> Option<Vec<f64>> {
    let pairs = || run.iter().zip(&run[1..]);
    let whole = |one: &Entry<'_>, next: &Entry<'_>| {
        next.exchange.sent_at.duration_since(one.exchange.received_at).as_secs_f64().max(0.0)
    };
    let dictated = |one: &Entry<'_>| {
        let wait = waiting::until(one)?.duration_since(one.exchange.received_at).as_secs_f64();
        Some(wait.max(0.0))
    };
    let slack = Tolerance::CLIENT_SLACK.duration().as_secs_f64();
    let obeys = pairs().all(|(one, next)| dictated(one).is_none_or(|wait| whole(one, next) + slack >= wait));
    if !obeys {
        return Some(pairs().map(|(one, next)| whole(one, next)).collect());
    }
    let follows = |(one, next): (&&Entry<'_>, &&Entry<'_>)| {
        dictated(one).is_some_and(|wait| wait > 0.0 && whole(one, next) - wait < slack)
    };
    if pairs().any(follows) {
        return None;
    }
    Some(pairs().map(|(one, next)| whole(one, next) - dictated(one).unwrap_or(0.0)).collect())
}

/// Whether a later wait is clearly longer than the first.
fn grows(waits: &[f64]) -> bool {
    let (first, later) = (waits[0], &waits[1..]);
    later.iter().any(|wait| *wait > first * 1.5 + RESOLUTION)
}

/// How likely waits like these are under full jitter, at most: as even as they are, or as far from growing.
fn likelihood(waits: &[f64]) -> f64 {
    let (first, later) = (waits[0].max(RESOLUTION), &waits[1..]);
    // Each later bound is at least twice the first wait, and the wait had to fall this close to the first, on either side.
    let even: f64 = later.iter().map(|wait| ((wait - first).abs().max(RESOLUTION) / first).min(1.0)).product();
    // No later wait went beyond the first: for a first wait of the part u of its bound, each did with the probability u / 2.
    let never_longer = if later.iter().all(|wait| *wait <= first) {
        let later = i32::try_from(later.len()).unwrap_or(i32::MAX);
        0.5_f64.powi(later) / (f64::from(later) + 1.0)
    } else {
        1.0
    };
    even.min(never_longer)
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    /// Refusals without a usable `Retry-After`, with these waits between them in milliseconds.
    fn refused(waits: &[i64]) -> TraceBuilder {
        let refused = |builder: TraceBuilder| builder.list(429, 0, 60);
        waits.iter().fold(refused(TraceBuilder::new()), |builder, wait| refused(builder.wait_millis(*wait)))
    }

    fn broken(builder: TraceBuilder) -> bool {
        builder.client_broken().contains(&"client.backoff")
    }

    #[test]
    fn the_same_wait_each_time_is_no_backoff() {
        assert!(broken(refused(&[1000, 1003, 1001])));
        assert!(broken(refused(&[1000; 8])));
        assert!(broken(refused(&[3; 30])), "a client that sends again at once");
        assert!(!broken(refused(&[1000, 1003])), "two waits alike are within what jitter does");
    }

    #[test]
    fn waits_that_fall_are_no_backoff() {
        assert!(broken(refused(&[9000, 5000, 7000, 4000, 8000, 3000, 2000, 6000, 1000, 900, 800, 850, 870, 900, 840])));
    }

    #[test]
    fn waits_that_grow_are_backoff() {
        assert!(!broken(refused(&[1000, 2000, 4000])));
        assert!(!broken(refused(&[500, 1000, 2000, 2000, 2000, 2000, 2000, 2000, 2000])), "a cap");
        assert_eq!(refused(&[1000, 2000, 4000]).client_judged("client.backoff"), 1);
    }

    #[test]
    fn a_client_that_follows_retry_after_has_chosen_no_wait() {
        let refused = |builder: TraceBuilder| builder.list(429, 0, 60).retry_after("5");
        let follows = (0..6).fold(refused(TraceBuilder::new()), |builder, _| refused(builder.wait(5)));
        assert_eq!(follows.client_judged("client.backoff"), 0);
        let constant_beyond = (0..6).fold(refused(TraceBuilder::new()), |builder, _| refused(builder.wait(9)));
        assert!(broken(constant_beyond));
    }

    #[test]
    fn a_thousand_clients_with_jitter_are_not_accused() {
        let mut random = SplitMix(7);
        for seed in 0..1000 {
            let base = 100.0 + 900.0 * random.unit();
            let cap = base * f64::from(2 << (seed % 6));
            let full = seed % 2 == 0;
            let waits: Vec<i64> = (0..2 + seed % 12)
                .map(|attempt| {
                    let bound = (base * 2_f64.powi(attempt)).min(cap);
                    let wait = if full { bound * random.unit() } else { bound / 2.0 * (1.0 + random.unit()) };
                    #[expect(clippy::cast_possible_truncation, reason = "waits are a few minutes at most")]
                    let wait = wait as i64;
                    wait
                })
                .collect();
            assert!(!broken(refused(&waits)), "seed {seed}: {waits:?}");
        }
    }

    /// SplitMix64: enough for tests, and the same everywhere.
    struct SplitMix(u64);

    impl SplitMix {
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
            let unit = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
            unit
        }
    }
}
