//! Notes about the options of a run, which change no verdict; and the check whether the stated plan can be that of the key.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::layout::capitalized;
use crate::options::Options;
use crate::probes::near_misses::Amount;
use crate::probes::plan::plan;
use animal_store_rules::catalogue::plan::{PLANS, Plan, PlanLimits};
use animal_store_rules::history::History;
use animal_store_rules::limits::{KeyLimits, Limiter};
use animal_store_rules::near_misses::{self as table, NearMiss, near_misses};
use animal_store_rules::trace::answerer::{self, Doubt};
use animal_store_rules::trace::exchange::{Exchange, MAX_BODY, Outcome};
use animal_store_rules::trace::knowledge::{Answerer, Extent};

/// The note on a category that the service may not know, because it refused every valid animal of the run.
#[must_use]
pub(super) fn unknown_category(history: &History<'_>) -> Option<String> {
    let category = history.context.category_id;
    let mut statuses: Vec<Option<u16>> = Vec::new();
    for (entry, body) in history.creates() {
        let is_of_run = body.draft().is_some_and(|draft| draft.category_id == Some(category));
        if is_of_run && body.is_plain() && entry.key().is_some() {
            statuses.push(entry.status());
        }
    }
    let is_refused = statuses.contains(&Some(400)) && !statuses.contains(&Some(201));
    is_refused.then(|| {
        format!(
            "every animal of category {category} was refused, even valid ones: if the service knows only certain categories, name one with --category-id"
        )
    })
}

/// The note on responses that only other clients of a key explain, with the requirements that are broken if there are none.
#[must_use]
pub(super) fn undecided_by_others(limiter: &Limiter<'_>) -> Option<String> {
    let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in limiter.keys().iter().flat_map(KeyLimits::explained_by_others) {
        if let Some(first) = finding.entries.first() {
            broken.entry(finding.requirement()).or_insert(first.exchange.number);
        }
    }
    let broken: Vec<String> = broken.iter().map(|(id, number)| format!("{id} (exchange {number})")).collect();
    (!broken.is_empty()).then(|| {
        format!(
            "taken for the use of a key by other clients: {}; if only this run uses the keys, give --exclusive-key, and these are judged",
            broken.join(", ")
        )
    })
}

/// The note on near misses that the run did not send, if a larger plan or another profile sends more: `near misses: 110 of 876 sent`, with the
/// families that the others belong to.
#[must_use]
pub(super) fn unsent_near_misses(exchanges: &[Exchange], options: &Options) -> Option<String> {
    let is_whole = options.judging.scope.profile.creates()
        && options.judging.scope.only.is_empty()
        && options.judging.earlier.is_none();
    let sent: BTreeSet<usize> = exchanges.iter().filter_map(|sent| table::index_of_step(&sent.step)).collect();
    let unsent: Vec<&NearMiss> =
        near_misses().iter().enumerate().filter(|(index, _)| !sent.contains(index)).map(|(_, row)| row).collect();
    if !is_whole || sent.is_empty() || unsent.is_empty() {
        return None;
    }
    let mut families: BTreeMap<&str, usize> = BTreeMap::new();
    unsent.iter().for_each(|row| *families.entry(row.family).or_default() += 1);
    let mut families: Vec<(&str, usize)> = families.into_iter().collect();
    families.sort_by_key(|(_, count)| Reverse(*count));
    let families: Vec<String> = families.into_iter().map(|(name, count)| format!("{count} of {name}")).collect();
    let by_pro = unsent.iter().filter(|row| Amount::Most.includes(row)).count();
    let pro = if by_pro > 0 { format!("a Pro key sends {by_pro} of them, ") } else { String::new() };
    let all =
        if options.judging.scope.profile.exhausts() { "a Business key or --profile deep" } else { "a Business key" };
    let (sent, rows) = (sent.len(), near_misses().len());
    Some(format!("near misses: {sent} of {rows} sent; not sent: {}; {pro}{all} nearly all", families.join(", ")))
}

/// The mean response time from which a run may need more requests than planned.
const SLOW: Duration = Duration::from_millis(500);

/// The note on requests with the key beyond the plan of the run, where responses are slow.
#[must_use]
pub(super) fn more_than_planned(history: &History<'_>, limiter: &Limiter<'_>, options: &Options) -> Option<String> {
    let keyed: Vec<&Exchange> =
        history.entries.iter().filter(|entry| entry.key().is_some()).map(|entry| entry.exchange).collect();
    let lasted = keyed.iter().map(|exchange| exchange.received_at.duration_since(exchange.sent_at).unsigned_abs());
    let mean = lasted.sum::<Duration>() / u32::try_from(keyed.len().max(1)).unwrap_or(u32::MAX);
    let planned = plan(options, limiter.plan_limits(0), None).keyed;
    let is_slow = mean >= SLOW && keyed.len() > planned && history.context.extent == Extent::Run;
    is_slow.then(|| {
        format!(
            "{} requests with the key, and not about {planned}: a response takes {:.1} s, so that requests which are sent one after the other \
             do not use up the limit of a minute, and further ones have to",
            keyed.len(),
            mean.as_secs_f64()
        )
    })
}

/// The note on requests that were repeated because the kept connection had ended, with their number and methods.
#[must_use]
pub(super) fn lost_with_connections(exchanges: &[Exchange]) -> Option<String> {
    let is_lost = |exchange: &&Exchange| {
        exchange.known.answerer == Answerer::Nobody && Doubt::of(exchange, true) == Some(Doubt::KeptConnection)
    };
    let lost: Vec<&str> = exchanges.iter().filter(is_lost).map(|exchange| exchange.request.method.as_str()).collect();
    let methods: Vec<&str> = lost.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let subject = match lost.len() {
        0 => return None,
        1 => "1 request was".to_owned(),
        count => format!("{count} requests were"),
    };
    Some(format!(
        "{subject} repeated on another connection ({}), because the one that was kept open ended without a response",
        methods.join(", ")
    ))
}

/// The note on requests that the service did not answer at first, with the cause: `1 of 142 requests: intermediary (nginx answered 502)`.
#[must_use]
pub(super) fn transient_failures(exchanges: &[Exchange]) -> Option<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for exchange in answerer::transient(exchanges) {
        let reason = match &exchange.outcome {
            Outcome::Response(response) => {
                format!("intermediary ({} answered {})", answerer::name_of(response), response.status)
            }
            Outcome::Failed(failure) => format!("no response ({})", failure.detail),
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let all = exchanges.len();
    let parts: Vec<String> =
        reasons.into_iter().map(|(reason, count)| format!("{count} of {all} requests: {reason}")).collect();
    (!parts.is_empty()).then(|| format!("not answered by the service, and not judged: {}", parts.join("; ")))
}

/// The note on bodies in a content coding that the judge does not decode.
#[must_use]
pub(super) fn unreadable_codings(exchanges: &[Exchange]) -> Option<String> {
    let responses = exchanges.iter().filter_map(Exchange::response);
    let codings: Vec<&str> = responses.filter_map(|response| response.unreadable_coding()).collect();
    let names: BTreeSet<&str> = codings.iter().copied().collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    (!codings.is_empty()).then(|| {
        format!(
            "the bodies of {} of {} responses are not judged, because they are encoded (Content-Encoding: {names}) although no \
             request accepts more than gzip: judge the service without what compresses them",
            codings.len(),
            exchanges.len()
        )
    })
}

/// The note on bodies that the judge did not read, because they are too long.
#[must_use]
pub(super) fn long_bodies(exchanges: &[Exchange]) -> Option<String> {
    let responses = exchanges.iter().filter_map(Exchange::response);
    let count = responses.filter(|response| response.is_too_long()).count();
    (count > 0).then(|| {
        format!(
            "the bodies of {count} of {} responses are not judged, because each is longer than {} MiB, or in chunks with long \
             extensions: judge the service with smaller animals, with fewer, or without what extends its chunks",
            exchanges.len(),
            MAX_BODY / 1024 / 1024
        )
    })
}

/// The least limit in responses to the main key that the named plan does not have.
#[must_use]
pub(super) fn unlike_plan(limiter: &Limiter<'_>, options: &Options) -> Option<Contradiction> {
    let plan = options.judging.plan.as_ref()?;
    let answers = limiter.key(0)?.answers();
    let limits: BTreeSet<u64> = answers.iter().map(|answer| answer.window.limit).collect();
    limits.into_iter().find_map(|limit| contradiction(plan, limit))
}

/// A limit that the named plan does not have.
pub(super) struct Contradiction {
    pub(super) text: String,
    /// Whether another plan has the limit, so that the named plan is not that of the key.
    pub(super) is_of_another_plan: bool,
}

fn contradiction(plan: &Plan, limit: u64) -> Option<Contradiction> {
    let PlanLimits { per_minute, per_day } = plan.plan_limits()?;
    if limit == per_minute || limit == per_day {
        return None;
    }
    let others: Vec<(&str, &str)> = PLANS
        .iter()
        .filter_map(|(name, plan_limits)| match limit {
            figure if figure == plan_limits.per_minute => Some((*name, "minute")),
            figure if figure == plan_limits.per_day => Some((*name, "day")),
            _ => None,
        })
        .collect();
    let text = match others[..] {
        [] => format!(
            "--plan {plan}, but the responses report a limit of {limit}, which no plan has: is this an Enterprise key (--plan enterprise=RPM,RPD)?"
        ),
        [(name, unit)] => {
            format!(
                "--plan {plan}, but the responses report a limit of {limit} per {unit}: is this a {} key?",
                capitalized(name)
            )
        }
        _ => {
            let keys: Vec<String> =
                others.iter().map(|(name, unit)| format!("{} ({unit})", capitalized(name))).collect();
            format!(
                "--plan {plan}, but the responses report a limit of {limit}: is this a key of another plan, {}?",
                keys.join(" or ")
            )
        }
    };
    Some(Contradiction { text, is_of_another_plan: !others.is_empty() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::trace::exchange::{Failure, FailureKind, Request, Response};
    use animal_store_rules::trace::knowledge::Knowledge;
    use jiff::Timestamp;

    fn exchange(place: usize, method: &str, answerer: Answerer, outcome: Outcome) -> Exchange {
        Exchange {
            number: place + 1,
            probe: "test".into(),
            step: String::new(),
            request: Request::new(method, "/pets").kept(),
            outcome,
            sent_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            known: Knowledge { answerer, ..Knowledge::default() },
        }
    }

    fn failed(kind: FailureKind) -> Outcome {
        Outcome::Failed(Failure { kind, detail: "too late".to_owned() })
    }

    #[test]
    fn what_was_lost_with_kept_connections_is_counted_with_its_methods() {
        let lost =
            |(place, method): (usize, &&str)| exchange(place, method, Answerer::Nobody, failed(FailureKind::Closed));
        let note = |methods: &[&str]| lost_with_connections(&methods.iter().enumerate().map(lost).collect::<Vec<_>>());
        assert_eq!(note(&[]), None);
        assert!(
            note(&["POST"]).is_some_and(|note| note.starts_with("1 request was repeated on another connection (POST)"))
        );
        assert!(
            note(&["POST", "GET"])
                .is_some_and(|note| note.starts_with("2 requests were") && note.contains("(GET, POST)"))
        );
    }

    #[test]
    fn near_misses_that_were_not_sent_are_counted_with_what_sends_them() {
        let options = Options::new("http://127.0.0.1:1/v1", "sk-1").expect("usable options");
        let rows = near_misses();
        let sent = |row: &NearMiss| {
            let sent = exchange(0, "GET", Answerer::Service, failed(FailureKind::Timeout));
            Exchange { step: row.step(table::Target::List), ..sent }
        };
        let note = |rows: &[NearMiss]| unsent_near_misses(&rows.iter().map(sent).collect::<Vec<_>>(), &options);
        let some = note(&rows[..5]).expect("a note");
        assert!(some.starts_with(&format!("near misses: 5 of {} sent; not sent: ", rows.len())), "{some}");
        let pro = rows[5..].iter().filter(|row| Amount::Most.includes(row)).count();
        let senders = format!("; a Pro key sends {pro} of them, a Business key or --profile deep nearly all");
        assert!(pro > 100 && some.ends_with(&senders), "{some}");
        assert_eq!((note(&[]), note(rows)), (None, None));
    }

    #[test]
    fn transient_failures_are_counted_by_who_answered() {
        let headers = vec![("server".to_owned(), "nginx".to_owned())];
        let response = Response { status: 502, headers, body: Vec::new(), cut: false };
        let exchanges = [
            exchange(0, "GET", Answerer::Intermediary, Outcome::Response(response)),
            exchange(1, "GET", Answerer::Nobody, failed(FailureKind::Timeout)),
            exchange(2, "GET", Answerer::Nobody, failed(FailureKind::Closed)),
            exchange(3, "GET", Answerer::Service, failed(FailureKind::Timeout)),
        ];
        let note = transient_failures(&exchanges).expect("a note");
        assert!(
            note.contains(
                "1 of 4 requests: intermediary (nginx answered 502); 1 of 4 requests: no response (too late)"
            )
        );
        assert_eq!(transient_failures(&exchanges[2..]), None);
    }

    #[test]
    fn a_plan_that_contradicts_the_headers_gets_a_note() {
        let note = |plan: &str, limit| contradiction(&plan.parse().unwrap(), limit).map(|found| found.text);
        assert_eq!(
            note("pro", 60).unwrap(),
            "--plan pro, but the responses report a limit of 60 per minute: is this a Free key?"
        );
        assert_eq!(
            note("business", 10_000).unwrap(),
            "--plan business, but the responses report a limit of 10000 per day: is this a Pro key?"
        );
        assert!(
            note("pro", 1_000).unwrap().ends_with("is this a key of another plan, Free (day) or Business (minute)?")
        );
        assert!(note("free", 77).unwrap().contains("enterprise=RPM,RPD"));
        let is_of_another =
            |plan: &str, limit| contradiction(&plan.parse().unwrap(), limit).unwrap().is_of_another_plan;
        assert!(is_of_another("pro", 60) && is_of_another("enterprise=5,9", 1_000) && !is_of_another("free", 77));
        for (plan, limit) in [("free", 60), ("free", 1_000), ("enterprise", 77), ("enterprise=5,9", 9)] {
            assert_eq!(note(plan, limit), None, "{plan} {limit}");
        }
    }
}
