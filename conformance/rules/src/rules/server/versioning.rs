//! Versioning: the path segment, and the end of `GET /pets/{petId}`.

use std::convert::Infallible;

use jiff::Timestamp;
use sfv::visitor::{Ignored, ItemVisitor, ParameterVisitor, parameter_visitor_with};
use sfv::{BareItemFromInput, Parser};

use crate::catalogue::figures::REMOVAL;
use crate::facts::Facts;
use crate::history::{Entry, Era};
use crate::request::{Operation, PetId};
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule, answered};
use crate::sentence::sentence;
use crate::trace::http_date;

pub(crate) const RULES: &[Rule] = &[
    Rule::new("versioning.path", path).needing(Needs::CREDENTIAL),
    Rule::new("versioning.lifetime", lifetime).needing(Needs::ANIMALS).excused_by_lag(),
    Rule::of_entries("versioning.sunset", is_fetch, sunset).needing(Needs::HEADERS),
    Rule::of_entries("versioning.deprecation-header", is_fetch, deprecation_header).needing(Needs::HEADERS),
];

fn path(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    let Some(entry) = history.entries.iter().find(|entry| entry.key().is_some() && entry.succeeded()) else { return };
    let held = history.context.base_url.ends_with("/v1");
    judgement
        .require(entry, held, "a base address that ends in /v1", || sentence!("{}", history.context.base_url.clone()));
}

/// Note of `versioning.lifetime` for a run before the day of removal.
const NOT_REMOVED_YET: &str =
    "the operation is not removed before 5 December 2030; a server with a later clock shows that it is";

fn lifetime(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // If other fetches succeed, a 404 says nothing about the operation: `get.success` reports it.
    let works = history.gets().any(|(entry, _)| entry.key().is_some() && entry.status() == Some(200));
    for (entry, id) in history.gets().filter(|(entry, _)| entry.key().is_some()) {
        let PetId::Int64(id) = id else { continue };
        match (history.era(entry), entry.status()) {
            (_, None | Some(429)) => {}
            (Era::Before, Some(200)) | (Era::OnTheDay, _) => judgement.hold(),
            // The animal is gone, rather than not readable yet.
            (Era::Before, Some(status @ (404 | 410))) if history.known(id, entry).is_some() => {
                if status == 410 || !works && history.is_settled(id, entry) {
                    judgement.fail(&[entry], "200 for an existing animal before 5 December 2030", answered(entry));
                }
            }
            (Era::Before, _) => {}
            (Era::After, Some(200..=299)) => {
                judgement.fail(&[entry], "no success after 5 December 2030", answered(entry));
            }
            (Era::After, _) => judgement.hold(),
        }
    }
    if history.is_run() && history.gets().all(|(entry, _)| history.era(entry) == Era::Before) {
        judgement.unseen = Some(NOT_REMOVED_YET.to_owned());
    }
}

fn is_fetch(entry: &Entry<'_>) -> bool {
    matches!(entry.operation, Operation::Get(_))
}

fn sunset(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for text in entry.response().into_iter().flat_map(|response| response.values("sunset")) {
        let held = http_date::read(text).is_some_and(names_the_day);
        judgement.require(entry, held, "an HTTP-date on 5 December 2030 in Sunset", || {
            sentence!("Sunset: {}", text.to_owned())
        });
    }
}

/// Returns true if an instant lies on 5 December 2030, in UTC or in a time zone east of it.
fn names_the_day(instant: Timestamp) -> bool {
    let hours = instant.duration_since(REMOVAL).as_secs_f64() / 3600.0;
    (-14.0..24.0).contains(&hours)
}

fn deprecation_header(_: &Facts<'_>, entry: &Entry<'_>, judgement: &mut Judgement) {
    for text in entry.response().into_iter().flat_map(|response| response.values("deprecation")) {
        judgement.require(entry, is_date(text), "a structured-field date such as @1893456000", || {
            sentence!("Deprecation: {}", text.to_owned())
        });
    }
}

/// Returns true if a text is an Item of Structured Fields (RFC 9651) that is a Date, with any parameters.
fn is_date(text: &str) -> bool {
    Parser::new(text).parse_item_with_visitor(IsDate).unwrap_or(false)
}

struct IsDate;

impl<'t> ItemVisitor<'t> for IsDate {
    type Out = bool;
    type Error = Infallible;

    fn bare_item(self, item: BareItemFromInput<'t>) -> Result<impl ParameterVisitor<'t, Out = bool>, Infallible> {
        Ok(parameter_visitor_with(Ignored, move |()| Ok(item.as_date().is_some())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Level, Party, catalogue};
    use crate::tests::TraceBuilder;

    #[test]
    fn what_was_never_seen_may_be_gone() {
        let gone = |builder: TraceBuilder| builder.fetch(7, 410, String::new()).failures_of("versioning.lifetime");
        assert_eq!(gone(TraceBuilder::new()), [[0; 0]; 0]);
        assert_eq!(gone(TraceBuilder::new().get(7, Some("sold"))), [[2]]);
    }

    #[test]
    fn one_animal_that_is_not_found_does_not_end_an_operation_that_answers_for_others() {
        let lost = |builder: TraceBuilder| builder.create(7).wait(6).get(7, None);
        assert_eq!(lost(TraceBuilder::new()).failures_of("versioning.lifetime"), [[2]], "every fetch is refused");
        assert_eq!(lost(TraceBuilder::new()).get(8, Some("sold")).failures_of("versioning.lifetime"), [[0; 0]; 0]);
        assert_eq!(lost(TraceBuilder::new()).get(8, Some("sold")).failures_of("get.success"), [[2]]);
        let gone = TraceBuilder::new().create(7).fetch(7, 410, String::new()).get(8, Some("sold"));
        assert_eq!(gone.failures_of("versioning.lifetime"), [[2]], "410 means that it is gone");
    }

    #[test]
    fn before_the_removal_nothing_is_seen_of_it() {
        let unseen = |time| {
            let fetched = TraceBuilder::at(time).create(7).get(7, Some("sold"));
            fetched.judged_by("versioning.lifetime").unseen
        };
        assert!(unseen("2026-06-01T12:00:00Z").is_some_and(|unseen| unseen.contains("a later clock")));
        assert_eq!(unseen("2030-12-05T12:00:00Z"), None);
    }

    #[test]
    fn a_removed_operation_is_answered_like_an_unknown_path() {
        let fetched = |time: &str, key: &'static str, status| -> Vec<&str> {
            let created =
                || TraceBuilder::at(time).create(7).with_rate_limit(9, 60).header("content-type", "application/json");
            let trace = || created().wait(6).key(key).fetch(7, status, String::new());
            let stated = catalogue().of(Party::Server).filter(|requirement| requirement.level == Level::Stated);
            stated.map(|requirement| requirement.id.as_str()).filter(|id| !trace().failures_of(id).is_empty()).collect()
        };
        for key in ["sk-Key1", "sk-Unknown"] {
            for status in [301, 303, 404, 410, 501] {
                for time in ["2030-12-05T12:00:00Z", "2031-06-01T12:00:00Z"] {
                    assert_eq!(fetched(time, key, status), [""; 0], "{status} with {key} at {time}");
                }
                assert_ne!(fetched("2030-12-04T12:00:00Z", key, status), [""; 0], "{status} with {key} before");
            }
        }
    }

    #[test]
    fn the_base_address_is_judged_once_something_succeeds_there() {
        assert_eq!(TraceBuilder::new().get(7, None).judged_by("versioning.path").judged, 0);
        assert_eq!(TraceBuilder::new().get(7, None).get(8, Some("sold")).judged_by("versioning.path").judged, 1);
    }

    #[test]
    fn a_date_may_have_parameters_and_is_nothing_else() {
        assert!(["@1893456000", "@-1", " @0;a;b=\"c\" "].into_iter().all(is_date));
        assert!(
            !["1893456000", "true", "?1", "@1.5", "@1, @2", "@1;", "Thu, 05 Dec 2030", ""].into_iter().any(is_date)
        );
    }

    #[test]
    fn a_date_names_the_day_of_removal_in_any_time_zone_that_begins_it_earlier() {
        let named = |text: &str| http_date::read(text).is_some_and(names_the_day);
        assert!(named("Thu, 05 Dec 2030 00:00:00 GMT"));
        assert!(named("Thu, 05 Dec 2030 23:59:59 GMT"));
        assert!(named("Wed, 04 Dec 2030 23:00:00 GMT"));
        for other in [
            "Fri, 06 Dec 2030 00:00:00 GMT",
            "Wed, 04 Dec 2030 00:00:00 GMT",
            "Fri, 05 Dec 2031 00:00:00 GMT",
            "2030-12-05",
        ] {
            assert!(!named(other), "{other}");
        }
    }
}
