//! Gaps between identifiers: where ids rise by one, an id that no response has shown may belong to an animal that was
//! stored although its creation was refused. Lists need not show it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::session::{Session, Stop};
use super::steps::fetch;
use animal_store_rules::trace::exchange::Exchange;

/// The maximum number of ids that are fetched in all gaps of a run, at most two in each.
const IN_ALL: usize = 6;

/// Fetches ids in the gaps between creations around refused ones.
pub(super) async fn run(session: &mut Session<'_>) -> Result<(), Stop> {
    session.step("");
    for id in suspects(&session.trace.exchanges) {
        session.ask(fetch(id)).await?;
    }
    Ok(())
}

/// The ids to fetch: the first and the last unknown id of each gap, unless they were fetched already.
fn suspects(exchanges: &[Exchange]) -> Vec<i64> {
    let shown: BTreeSet<i64> = exchanges.iter().filter_map(Exchange::created_id).collect();
    let mut ids: Vec<i64> = Vec::new();
    for gap in gaps(exchanges) {
        let unknown: Vec<i64> = gap.filter(|id| !shown.contains(id)).collect();
        ids.extend(unknown.first().into_iter().chain(unknown.last()));
    }
    ids.dedup();
    ids.truncate(IN_ALL);
    ids.retain(|id| {
        let path = format!("/pets/{id}");
        exchanges.iter().all(|exchange| exchange.request.path != path)
    });
    ids
}

/// The gaps between the ids of two creations with refused ones in between, if no more ids are missing than creations were refused;
/// none if ids do not rise by one otherwise. For example, the ids 4, 5 and 7 with one refusal before the 7 have the gap 6.
fn gaps(exchanges: &[Exchange]) -> Vec<Range<i64>> {
    let (mut gaps, mut rises_by_one, mut last, mut refused) = (Vec::new(), false, None, 0_i64);
    for exchange in exchanges.iter().filter(|exchange| exchange.request.method == "POST") {
        let Some(id) = exchange.created_id() else {
            refused += 1;
            continue;
        };
        if let Some(last) = last {
            let missing = id.saturating_sub(last).saturating_sub(1);
            rises_by_one |= missing == 0 && refused == 0;
            if (1..=refused).contains(&missing) {
                gaps.push(last + 1..id);
            }
        }
        (last, refused) = (Some(id), 0);
    }
    if rises_by_one { gaps } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use animal_store_rules::trace::exchange::{Outcome, Request, Response};
    use animal_store_rules::trace::knowledge::Knowledge;
    use jiff::Timestamp;

    const NONE: [i64; 0] = [];

    /// Creations with the ids that they got, or refused ones.
    fn created(ids: &[Option<i64>]) -> Vec<Exchange> {
        let exchange = |(place, id): (usize, &Option<i64>)| Exchange {
            number: place + 1,
            probe: "test".into(),
            step: String::new(),
            request: Request::new("POST", "/pets"),
            outcome: Outcome::Response(Response {
                status: if id.is_some() { 201 } else { 400 },
                headers: Vec::new(),
                body: id.map_or(Vec::new(), |id| format!(r#"{{"id":{id}}}"#).into_bytes()),
                cut: false,
            }),
            sent_at: Timestamp::UNIX_EPOCH,
            received_at: Timestamp::UNIX_EPOCH,
            known: Knowledge::default(),
        };
        ids.iter().enumerate().map(exchange).collect()
    }

    #[test]
    fn ids_that_are_missing_around_refused_creations_are_suspect_where_ids_rise_by_one() {
        let suspects = |ids: &[Option<i64>]| suspects(&created(ids));
        assert_eq!(suspects(&[Some(1), Some(2), None, Some(4)]), [3]);
        assert_eq!(suspects(&[Some(1), Some(2), None, None, None, None, Some(7)]), [3, 6], "the first and the last");
        assert_eq!(suspects(&[Some(1), Some(2), None, Some(3)]), NONE, "none is missing");
        assert_eq!(suspects(&[Some(1), Some(2), None, Some(5)]), NONE, "more are missing than were refused");
        assert_eq!(suspects(&[Some(1), None, Some(3), None, Some(5)]), NONE, "ids may rise by two");
        assert_eq!(suspects(&[Some(9), Some(8), None, Some(6)]), NONE, "ids fall");
    }

    #[test]
    fn an_id_is_fetched_once() {
        let mut exchanges = created(&[Some(1), Some(2), None, Some(4)]);
        exchanges[0].request.path = "/pets/3".to_owned();
        assert_eq!(suspects(&exchanges), NONE);
    }
}
