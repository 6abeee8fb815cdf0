//! Notes about the options of a run, which change no verdict; and the check whether the stated plan can be that of the key.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::layout::{capitalized, counted};
use crate::options::Options;
use crate::probes::near_misses::Amount;
use crate::probes::session::EXHAUSTED_ALLOWANCE;
use animal_store_rules::catalogue::plan::{PLANS, Plan, PlanLimits};
use animal_store_rules::history::History;
use animal_store_rules::limits::{KeyLimits, Limiter};
use animal_store_rules::near_misses::{self as table, near_misses};
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::answerer::{self, Doubt};
use animal_store_rules::trace::exchange::{Exchange, MAX_BODY, Outcome};
use animal_store_rules::trace::knowledge::Answerer;
use animal_store_rules::verdict::{RequirementVerdict, Status};

/// The note on requirements that hold although they are listed as known to fail.
pub(super) fn mended(verdicts: &[RequirementVerdict], options: &Options) -> Option<String> {
    let mut mended = Vec::new();
    for verdict in verdicts {
        let id = verdict.requirement.id.as_str();
        let is_shown = verdict.selected && verdict.status == Status::Pass && verdict.reason.is_none();
        if is_shown && options.judging.known_failing.expects_failure(id) {
            mended.push(id);
        }
    }
    let (ids, verb) = (mended.join(", "), if mended.len() == 1 { "holds" } else { "hold" });
    (!mended.is_empty()).then(|| {
        format!("{ids} {verb} now, although known to fail: remove the entry, or let --write-known-failing do it")
    })
}

/// The note on a category that the service may not know, because it refused every valid animal of the run.
pub(super) fn unknown_category(history: &History<'_>) -> Option<String> {
    let category = history.context.category_id;
    let (mut is_refused, mut is_accepted) = (false, false);
    for (entry, body) in history.creates() {
        let is_of_run = body.draft().is_some_and(|draft| draft.category_id == Some(category));
        if is_of_run && body.is_plain() && entry.key().is_some() {
            is_refused |= entry.status() == Some(400);
            is_accepted |= entry.status() == Some(201);
        }
    }
    (is_refused && !is_accepted).then(|| {
        format!(
            "every animal of category {category} was refused, even valid ones: if the service knows only certain categories, name one with --category-id"
        )
    })
}

/// The note on responses that only other clients of a key explain, with the requirements that are broken if there are none.
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
/// families that the others belong to, and the allowance of callers without a key if it was too small for more.
pub(super) fn unsent_near_misses(trace: &Trace, options: &Options) -> Option<String> {
    let (scope, rows) = (&options.judging.scope, near_misses());
    let is_whole = scope.profile.creates() && scope.only.is_empty() && options.judging.earlier.is_none();
    let sent: BTreeSet<usize> = trace.exchanges.iter().filter_map(|sent| table::index_of_step(&sent.step)).collect();
    if !is_whole || sent.is_empty() || sent.len() == rows.len() {
        return None;
    }
    let (mut families, mut by_pro) = (BTreeMap::<&str, usize>::new(), 0);
    for (_, row) in rows.iter().enumerate().filter(|(index, _)| !sent.contains(index)) {
        *families.entry(row.family).or_default() += 1;
        by_pro += usize::from(Amount::Most.includes(row));
    }
    let mut families: Vec<(&str, usize)> = families.into_iter().collect();
    families.sort_by_key(|(_, count)| Reverse(*count));
    let families: Vec<String> = families.into_iter().map(|(name, count)| format!("{count} of {name}")).collect();
    let pro = if by_pro > 0 { format!("a Pro key sends {by_pro} of them, ") } else { String::new() };
    let all = if scope.profile.exhausts() { "a Business key or --profile deep" } else { "a Business key" };
    let (sent, rows) = (sent.len(), rows.len());
    let is_exhausted = trace.context.left_out.iter().any(|part| part.reason == EXHAUSTED_ALLOWANCE);
    let reason = if is_exhausted { format!(" ({EXHAUSTED_ALLOWANCE})") } else { String::new() };
    Some(format!(
        "near misses: {sent} of {rows} sent{reason}; not sent: {}; {pro}{all} nearly all",
        families.join(", ")
    ))
}

/// The note on requests that were repeated because the kept connection had ended, with their number and methods.
pub(super) fn lost_with_connections(exchanges: &[Exchange]) -> Option<String> {
    let is_lost = |exchange: &&Exchange| {
        exchange.known.answerer == Answerer::Nobody && Doubt::of(exchange, true) == Some(Doubt::KeptConnection)
    };
    let mut methods: Vec<&str> = exchanges.iter().filter(is_lost).map(|lost| lost.request.method.as_str()).collect();
    let lost = counted(methods.len(), "request");
    methods.sort_unstable();
    methods.dedup();
    (!methods.is_empty()).then(|| {
        format!(
            "repeated on another connection, because the one that was kept open ended without a response: {lost} ({})",
            methods.join(", ")
        )
    })
}

/// The note on requests that the service did not answer at first, with the cause: `1 of 142 requests: intermediary (nginx answered 502)`.
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

/// The note on bodies that are not judged: the judge does not decode their content coding, or does not read bodies of their length.
pub(super) fn unreadable_bodies(exchanges: &[Exchange]) -> Option<String> {
    let (mut codings, mut encoded, mut long) = (BTreeSet::new(), 0, 0);
    for response in exchanges.iter().filter_map(Exchange::response) {
        let coding = response.unreadable_coding();
        encoded += usize::from(coding.is_some());
        codings.extend(coding);
        long += usize::from(response.is_too_long());
    }
    let mut reasons = Vec::new();
    if encoded > 0 {
        let codings = Vec::from_iter(codings).join(", ");
        reasons.push(format!(
            "{encoded} are encoded (Content-Encoding: {codings}) although no request accepts more than gzip"
        ));
    }
    if long > 0 {
        let most = MAX_BODY / 1024 / 1024;
        reasons.push(format!("{long} are longer than {most} MiB, or in chunks with long extensions"));
    }
    let all = exchanges.len();
    (!reasons.is_empty()).then(|| format!("not judged, of the bodies of {all} responses: {}", reasons.join("; ")))
}

/// The least limit in responses to the main key that the named plan does not have, in words, and whether another plan has it, so that the
/// named plan is not that of the key.
pub(super) fn unlike_plan(limiter: &Limiter<'_>, options: &Options) -> Option<(String, bool)> {
    let plan = options.judging.plan.as_ref()?;
    let answers = limiter.key(0)?.answers();
    let limits: BTreeSet<u64> = answers.iter().map(|answer| answer.window.limit).collect();
    limits.into_iter().find_map(|limit| contradiction(plan, limit))
}

fn contradiction(plan: &Plan, limit: u64) -> Option<(String, bool)> {
    let has_limit = |limits: &PlanLimits| [limits.per_minute, limits.per_day].contains(&limit);
    if plan.plan_limits().is_none_or(|own| has_limit(&own)) {
        return None;
    }
    let others = PLANS.iter().filter(|(_, limits)| has_limit(limits));
    let others: Vec<String> = others.map(|(name, _)| capitalized(name)).collect();
    let advice = match &others[..] {
        [] => ", which no plan has: is this an Enterprise key (--plan enterprise=RPM,RPD)?".to_owned(),
        names => format!(": is this a {} key?", names.join(" or ")),
    };
    let text = format!("--plan {plan}, but the responses report a limit of {limit}{advice}");
    Some((text, !others.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::context;
    use animal_store_rules::near_misses::NearMiss;
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
        assert!(note(&["POST"]).is_some_and(|note| note.ends_with(": 1 request (POST)")));
        assert!(note(&["POST", "GET"]).is_some_and(|note| note.ends_with(": 2 requests (GET, POST)")));
    }

    #[test]
    fn near_misses_that_were_not_sent_are_counted_with_what_sends_them() {
        let options = Options::new("http://127.0.0.1:1/v1", "sk-1").expect("usable options");
        let rows = near_misses();
        let sent = |row: &NearMiss| {
            let sent = exchange(0, "GET", Answerer::Service, failed(FailureKind::Timeout));
            Exchange { step: row.step(table::Target::List), ..sent }
        };
        let note = |rows: &[NearMiss]| {
            let trace = Trace { context: context(&options), exchanges: rows.iter().map(sent).collect() };
            unsent_near_misses(&trace, &options)
        };
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
        let note = |plan: &str, limit| contradiction(&plan.parse().unwrap(), limit);
        let of_free = "--plan pro, but the responses report a limit of 60: is this a Free key?".to_owned();
        assert_eq!(note("pro", 60), Some((of_free, true)));
        let of_two = note("pro", 1_000).unwrap();
        assert!(of_two.0.ends_with("is this a Free or Business key?") && of_two.1);
        let of_none = note("free", 77).unwrap();
        assert!(of_none.0.contains("enterprise=RPM,RPD") && !of_none.1);
        for (plan, limit) in [("free", 60), ("free", 1_000), ("enterprise", 77), ("enterprise=5,9", 9)] {
            assert_eq!(note(plan, limit), None, "{plan} {limit}");
        }
    }
}
