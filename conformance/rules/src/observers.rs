//! Observers: what the candidate chose where the specification leaves a choice. None of them can fail a candidate.

use std::collections::BTreeSet;

use crate::history::{Animal, Case, Docket};
use crate::request::{Access, CreateBody, Debate, Operation, Parameter, PetId};
use crate::rules::server::refusals::{RetryAfter, read_retry_after};
use crate::rules::{Observer, answered};
use crate::trace::json::Json;
use crate::trace::rate_limit::Window;

pub(crate) const OBSERVERS: &[Observer] = &[
    Observer { id: "service.https", observe: |d| Some(d.context.base_url.split(':').next()?.to_owned()) },
    Observer { id: "service.environments", observe: |_| None },
    Observer { id: "pet.status-default", observe: status_default },
    Observer { id: "pet.name-constraints", observe: |d| debated(d, Debate::Name, "an unusual name") },
    Observer { id: "pet.categories", observe: |d| debated(d, Debate::Category, "another category") },
    Observer { id: "pet.extra-members", observe: extra_members },
    Observer { id: "pet.status-transitions", observe: |_| None },
    Observer { id: "list.limit-out-of-range", observe: limit_out_of_range },
    Observer { id: "list.unknown-status", observe: unknown_status },
    Observer { id: "list.order", observe: order },
    Observer { id: "list.pagination", observe: pagination },
    Observer { id: "create.unknown-members", observe: |d| debated(d, Debate::UnknownMember, "an unknown member") },
    Observer { id: "create.client-id", observe: |d| debated(d, Debate::ClientId, "an id in the body") },
    Observer { id: "create.null-status", observe: |d| debated(d, Debate::NullStatus, "status null") },
    Observer { id: "create.integral-number", observe: |d| debated(d, Debate::IntegralNumber, "7.0 for 7") },
    Observer { id: "create.content-type", observe: content_type },
    Observer { id: "get.malformed-id-status", observe: malformed_id_status },
    Observer { id: "orders.answer", observe: orders },
    Observer { id: "auth.challenge", observe: challenge },
    Observer { id: "auth.scheme-case", observe: scheme_case },
    Observer { id: "auth.key-lifecycle", observe: |_| None },
    Observer { id: "events.none", observe: |_| None },
    Observer { id: "errors.codes", observe: codes },
    Observer { id: "headers.window", observe: window },
    Observer { id: "headers.refused-count", observe: refused_count },
    Observer { id: "headers.anonymous", observe: anonymous },
    Observer { id: "quota.retry-after-form", observe: retry_after_form },
    Observer { id: "quota.body", observe: limited_body },
    Observer { id: "quota.ban", observe: |_| None },
    Observer { id: "quota.backoff", observe: |_| None },
    Observer { id: "versioning.deprecation-signals", observe: deprecation_signals },
    Observer { id: "versioning.interface-description", observe: |_| None },
    Observer { id: "versioning.stability", observe: |_| None },
    Observer { id: "versioning.policy", observe: |_| None },
];

/// The distinct items, joined; nothing if there are none.
fn distinct(items: impl Iterator<Item = String>) -> Option<String> {
    let items: BTreeSet<String> = items.collect();
    (!items.is_empty()).then(|| items.into_iter().collect::<Vec<_>>().join("; "))
}

/// How creations fared about which exactly this was debatable.
fn debated(docket: &Docket<'_>, debate: Debate, what: &str) -> Option<String> {
    distinct(
        docket
            .creates()
            .filter(|(_, body)| matches!(body, CreateBody::NewPet(_, debates) if *debates == [debate]))
            .filter_map(|(case, _)| keyed_status(case))
            .map(|status| if status == 201 { format!("{what} is accepted") } else { format!("{what} gets {status}") }),
    )
}

/// The status of an answer to a valid key, if not 429.
fn keyed_status(case: &Case<'_>) -> Option<u16> {
    case.key().and(case.status()).filter(|status| *status != 429)
}

fn status_default(docket: &Docket<'_>) -> Option<String> {
    distinct(docket.creations.iter().filter(|creation| creation.sent.status.is_none()).filter_map(|creation| {
        let animals = docket.cases[creation.case].animals();
        Some(match animals.first()?.0.get("status") {
            None => "stays absent".to_owned(),
            Some(Json::String(status)) => format!("becomes {status}"),
            Some(other) => format!("becomes {}", other.kind()),
        })
    }))
}

fn extra_members(docket: &Docket<'_>) -> Option<String> {
    let known = ["id", "name", "categoryId", "status"];
    let mut shown = docket.cases.iter().flat_map(Case::animals).peekable();
    shown.peek()?;
    let extra = shown.filter_map(|animal| match animal.0 {
        Json::Object(members) => Some(members),
        _ => None,
    });
    let extra = extra.flatten().map(|(name, _)| name.clone()).filter(|name| !known.contains(&name.as_str()));
    Some(distinct(extra).unwrap_or_else(|| "none".to_owned()))
}

fn limit_out_of_range(docket: &Docket<'_>) -> Option<String> {
    distinct(docket.lists().filter_map(|(case, query)| {
        let Parameter::Debatable(text) = &query.limit else { return None };
        let status = keyed_status(case)?;
        Some(match status {
            200 => format!("limit={text} gets {} animals", case.animals().len()),
            status => format!("limit={text} gets {status}"),
        })
    }))
}

fn unknown_status(docket: &Docket<'_>) -> Option<String> {
    distinct(docket.lists().filter_map(|(case, query)| {
        let Parameter::Debatable(_) = &query.status else { return None };
        let status = keyed_status(case)?;
        Some(if status == 200 { format!("200 with {} animals", case.animals().len()) } else { status.to_string() })
    }))
}

fn order(docket: &Docket<'_>) -> Option<String> {
    // By the order of creation, as far as this run made the animals, and one after the other.
    let (mut rising, mut falling) = (0, 0);
    for (case, _) in docket.lists() {
        let creation = |animal: &Animal<'_>| Some(&docket.cases[docket.creation(animal.id()?)?.case]);
        let made: Vec<&Case<'_>> = case.animals().iter().filter_map(creation).collect();
        for pair in made.windows(2) {
            rising += usize::from(pair[0].precedes(pair[1]));
            falling += usize::from(pair[1].precedes(pair[0]));
        }
    }
    // A single pair stands in some order by chance.
    match (rising, falling) {
        _ if rising + falling < 2 => None,
        (_, 0) => Some("oldest first".to_owned()),
        (0, _) => Some("newest first".to_owned()),
        _ => Some("neither by age nor by its reverse".to_owned()),
    }
}

fn pagination(docket: &Docket<'_>) -> Option<String> {
    let mut listed = docket.lists().filter(|(case, _)| case.status() == Some(200)).peekable();
    listed.peek()?;
    let hints = ["link", "x-next-cursor", "x-next-page", "x-total-count", "content-range"];
    let found = listed.filter_map(|(case, _)| case.response()).flat_map(|response| {
        hints.iter().filter(|hint| response.header(hint).is_some()).map(|hint| format!("a {hint} header"))
    });
    Some(distinct(found).unwrap_or_else(|| "no sign of any".to_owned()))
}

fn content_type(docket: &Docket<'_>) -> Option<String> {
    distinct(docket.creates().filter(|(_, body)| **body == CreateBody::OtherMedia).filter_map(|(case, _)| {
        let media_type = case.exchange.request.body.as_ref().map_or("none", |body| body.content_type.as_str());
        Some(format!("{media_type} gets {}", keyed_status(case)?))
    }))
}

fn malformed_id_status(docket: &Docket<'_>) -> Option<String> {
    let cases = docket.gets().filter(|(_, id)| *id == PetId::NotInt64);
    distinct(cases.filter_map(|(case, _)| keyed_status(case).map(|status| status.to_string())))
}

fn orders(docket: &Docket<'_>) -> Option<String> {
    let cases = docket.cases.iter().filter(|case| case.operation == Operation::Orders);
    distinct(cases.filter_map(|case| {
        let status = keyed_status(case)?;
        Some(match case.value() {
            Some(Json::Array(items)) if items.is_empty() => format!("{status} with an empty array"),
            Some(json) => format!("{status} with {}", json.kind()),
            None => format!("{status} without JSON"),
        })
    }))
}

fn challenge(docket: &Docket<'_>) -> Option<String> {
    let refused = docket.cases.iter().filter(|case| case.status() == Some(401)).filter_map(Case::response);
    distinct(refused.map(|response| match response.header("www-authenticate") {
        Some(challenge) => format!("WWW-Authenticate: {challenge}"),
        None => "none".to_owned(),
    }))
}

fn scheme_case(docket: &Docket<'_>) -> Option<String> {
    let cases = docket.cases.iter().filter(|case| case.access == Access::Debatable);
    distinct(cases.filter_map(Case::status).filter(|status| *status != 429).map(|status| {
        if status == 401 { "another case is refused".to_owned() } else { "any case is accepted".to_owned() }
    }))
}

fn codes(docket: &Docket<'_>) -> Option<String> {
    let errors = docket.cases.iter().filter(|case| matches!(case.status(), Some(400..=599)));
    distinct(errors.filter_map(|case| Some(format!("{} {}", case.status()?, case.value()?.get("code")?.as_str()?))))
}

/// The windows that the headers tell the main key, with how far ahead they reset.
fn windows<'d>(docket: &'d Docket<'_>) -> impl Iterator<Item = (&'d Case<'d>, Window, i64)> {
    docket
        .metered(0)
        .into_iter()
        .filter_map(|(case, window)| Some((case, window, window.reset - case.server_time()?.as_second())))
}

fn window(docket: &Docket<'_>) -> Option<String> {
    distinct(windows(docket).map(|(_, window, ahead)| {
        let (unit, length) = if ahead > 62 { ("day", 86_400) } else { ("minute", 60) };
        let start = if window.reset % length == 0 { "on the clock" } else { "not on the clock" };
        format!("{} per {unit}, beginning {start}", window.limit)
    }))
}

fn refused_count(docket: &Docket<'_>) -> Option<String> {
    // After an error, a success: both used one up, or only the success did.
    let metered = docket.metered(0);
    distinct(metered.windows(3).filter_map(|three| {
        let [(first, before), (error, _), (last, after)] = [three[0], three[1], three[2]];
        let same_window = before.limit == after.limit && before.reset == after.reset;
        let fits = first.succeeded() && matches!(error.status(), Some(400 | 404)) && last.succeeded();
        match before.remaining.checked_sub(after.remaining) {
            Some(1) if fits && same_window => Some("failed requests do not count".to_owned()),
            Some(2) if fits && same_window => Some("failed requests count".to_owned()),
            _ => None,
        }
    }))
}

fn anonymous(docket: &Docket<'_>) -> Option<String> {
    let refused = docket.cases.iter().filter(|case| case.access.is_lacking() && case.status() == Some(401));
    let limits: BTreeSet<i64> = refused.filter_map(|case| case.rate.as_ref()?.limit.integer()).collect();
    distinct(limits.into_iter().map(|limit| format!("Limit {limit}")))
}

fn limited<'d>(docket: &'d Docket<'_>) -> impl Iterator<Item = &'d Case<'d>> {
    docket.cases.iter().filter(|case| case.status() == Some(429))
}

fn retry_after_form(docket: &Docket<'_>) -> Option<String> {
    distinct(limited(docket).filter_map(|case| {
        Some(match read_retry_after(case.response()?).ok()? {
            RetryAfter::Seconds(_) => "whole seconds".to_owned(),
            RetryAfter::Date(_) => "an HTTP-date".to_owned(),
        })
    }))
}

fn limited_body(docket: &Docket<'_>) -> Option<String> {
    distinct(limited(docket).map(|case| match &case.json {
        None => "empty".to_owned(),
        Some(Ok(json)) if json.get("code").is_some() => "an Error".to_owned(),
        Some(Ok(json)) => json.kind().to_owned(),
        Some(Err(_)) => "not JSON".to_owned(),
    }))
}

fn deprecation_signals(docket: &Docket<'_>) -> Option<String> {
    let mut got = docket.gets().filter(|(case, _)| case.status() == Some(200)).peekable();
    if let Some((gone, _)) = docket.gets().find(|(case, _)| case.status() == Some(410)) {
        return Some(answered(gone));
    }
    got.peek()?;
    let signals = got.filter_map(|(case, _)| case.response()).flat_map(|response| {
        ["sunset", "deprecation", "link", "warning"]
            .into_iter()
            .filter_map(|name| Some(format!("{name}: {}", response.header(name)?)))
    });
    Some(distinct(signals).unwrap_or_else(|| "none".to_owned()))
}

#[cfg(test)]
mod tests;
