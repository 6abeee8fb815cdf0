use super::*;
use crate::tests::{TraceBuilder, animal};
use crate::trace::exchange::Request;

#[test]
fn an_animal_of_somebody_elses_is_certain_only_between_two_answers_that_show_it_alike() {
    let settled = |then: &dyn Fn(TraceBuilder) -> TraceBuilder| {
        let trace = then(TraceBuilder::new().get(7, Some("sold")).wait(6).get(7, None)).trace();
        let history = History::new(&trace);
        history.is_settled(7, &history.entries[1])
    };
    assert!(!settled(&|builder| builder));
    assert!(settled(&|builder| builder.get(7, Some("sold"))));
    assert!(!settled(&|builder| builder.get(7, Some("pending"))));
    assert!(!settled(&|builder| builder.get(8, Some("sold"))));
    assert!(!settled(&|builder| builder.get(7, Some("sold")).together(2..=3)), "which came first is unknown");
}

#[test]
fn a_further_creation_with_an_id_in_a_sample_makes_another_animal() {
    let settled = |then: &dyn Fn(TraceBuilder) -> TraceBuilder| {
        let mut trace = then(TraceBuilder::new().create(7).wait(6).list(200, 9, 60)).trace();
        trace.context.extent = Extent::Sample;
        let history = History::new(&trace);
        history.is_settled(7, &history.entries[1])
    };
    assert!(settled(&|builder| builder.get(7, Some("sold"))));
    assert!(!settled(&|builder| builder.create(7).get(7, Some("sold"))), "the catalogue may have been emptied");
    assert!(settled(&|builder| builder.get(7, Some("sold")).create(7)));
}

#[test]
fn an_animal_that_a_request_beyond_the_specification_changed_is_compared_with_nothing() {
    let is_shown = |method: &str, status: u16| {
        let request = Request::new(method, "/pets/7");
        let trace = TraceBuilder::new().create(7).ask(request, status, animal(7, "sold")).get(7, Some("sold")).trace();
        History::new(&trace).shown(7).next().is_some()
    };
    assert!(!is_shown("PATCH", 200) && !is_shown("DELETE", 204));
    assert!(is_shown("PATCH", 405) && is_shown("GET", 200));
}

#[test]
fn others_change_where_an_animal_that_is_not_this_runs_was_seen_with_two_statuses() {
    let change = |builder: TraceBuilder| History::new(&builder.trace()).others_change;
    assert!(!change(TraceBuilder::new().get(7, Some("sold")).get(7, Some("sold")).get(8, Some("pending"))));
    assert!(change(TraceBuilder::new().get(7, Some("sold")).get(7, Some("pending"))));
    assert!(!change(TraceBuilder::new().create(7).get(7, Some("pending"))), "this run's own");
}

#[test]
fn a_server_may_count_every_request_that_was_under_way_between_two_responses() {
    let between = |together: std::ops::RangeInclusive<usize>| {
        let trace = TraceBuilder::new().lists(60, &[(200, 9); 5]).together(together).trace();
        let history = History::new(&trace);
        history.sent_between(&history.entries[1], &history.entries[3])
    };
    assert_eq!(between(1..=1), 2, "one after the other");
    assert_eq!(between(1..=2), 3, "the first was under way as well");
    assert_eq!(between(4..=5), 3, "the last was sent before the response");
    assert_eq!(between(2..=4), 2, "those in between count anyway");
}

#[test]
fn the_operation_lives_until_the_day_of_removal_and_either_way_on_it() {
    let era = |time: &str, dated: bool| {
        let builder = TraceBuilder::at(time).get(7, None);
        let trace = if dated { builder } else { builder.dateless() }.trace();
        let history = History::new(&trace);
        history.era(&history.entries[0])
    };
    for dated in [true, false] {
        // The judge's clock is read when the answer has come.
        let eve = if dated { "2030-12-04T23:59:59Z" } else { "2030-12-04T23:59:59.98Z" };
        assert_eq!(era(eve, dated), Era::Before);
        assert_eq!(era("2030-12-05T00:00:00Z", dated), Era::OnTheDay);
        assert_eq!(era("2030-12-05T23:59:59Z", dated), Era::OnTheDay);
        assert_eq!(era("2030-12-06T00:00:00Z", dated), Era::After);
    }
}

#[test]
fn without_a_date_and_an_exact_time_the_operation_may_live_or_be_removed() {
    for (dated, expected) in [(true, Era::Before), (false, Era::OnTheDay)] {
        let builder = TraceBuilder::new().get(7, None);
        let mut trace = if dated { builder } else { builder.dateless() }.trace();
        trace.exchanges[0].known.withheld.insert(Fact::Times);
        let history = History::new(&trace);
        assert_eq!(history.era(&history.entries[0]), expected, "with a Date: {dated}");
    }
}

#[test]
fn an_exchange_that_took_no_time_by_a_coarse_clock_does_not_precede_itself() {
    let mut trace = TraceBuilder::new().list(200, 5, 7).list(200, 4, 7).trace();
    let at = trace.exchanges[0].sent_at;
    for exchange in &mut trace.exchanges {
        (exchange.sent_at, exchange.received_at) = (at, at);
    }
    let history = History::new(&trace);
    let [first, second] = &history.entries[..] else { panic!("two exchanges") };
    assert!(first.precedes(second) && !second.precedes(first) && !first.precedes(first));
}

#[test]
fn a_refusal_of_a_malformed_request_is_the_services_own_if_it_reports_a_window() {
    let refused = |reports: bool| {
        let ask = TraceBuilder::new().ask(Request::new("GET", "/pets").query("status=%zz"), 400, "{}".to_owned());
        let trace = if reports { ask.with_rate_limit(9, 60) } else { ask }.trace();
        let history = History::new(&trace);
        (history.entries[0].may_be_of_edge(), history.entries[0].is_of_operation())
    };
    assert_eq!([refused(false), refused(true)], [(true, false), (false, true)]);
}
