//! The limits of a plan, and whether headers report its minute or its day.

use super::keys::{Answer, KeyLimits};
use crate::catalogue::plan::{PLANS, PlanLimits};
use crate::tolerance::Tolerance;
use crate::trace::rate_limit::Window;

impl KeyLimits<'_> {
    /// The limits of the key's plan: named by the user for the main key, else learnt from the reported limits.
    pub fn plan_limits(&self) -> Option<PlanLimits> {
        *self.plan_limits.get_or_init(|| {
            let named = self.history.context.plan_limits.filter(|_| self.index == 0);
            named.or_else(|| self.learn_plan_limits())
        })
    }

    /// The limits of the key's plan, if no answer that a sample lacks can contradict them.
    pub fn certain_plan_limits(&self) -> Option<PlanLimits> {
        if self.history.is_sample() { self.history.context.plan_limits } else { self.plan_limits() }
    }

    /// Returns true if the header fields of an answer report the day and not the minute: by the plan, else by the distance of Reset.
    pub fn reports_day(&self, answer: &Answer<'_>) -> bool {
        match self.plan_limits() {
            Some(PlanLimits { per_minute, per_day }) => answer.window.limit == per_day && per_day != per_minute,
            None => answer.is_far() || self.was_far(answer.window),
        }
    }

    /// Returns true if some answer reported the end of a window when it lay further ahead than the end of a minute can.
    fn was_far(&self, window: Window) -> bool {
        let far = self.far_windows.get_or_init(|| {
            // A refusal may report the end of a ban, and without a `Date` the distance is uncertain.
            let far = self
                .answers()
                .iter()
                .filter(|answer| answer.is_far() && !answer.entry.is_limited() && answer.entry.server_time().is_some());
            far.map(|answer| (answer.window.limit, answer.window.reset)).collect()
        });
        let rounding = Tolerance::ROUNDING.seconds();
        (window.reset - rounding..=window.reset + rounding).any(|reset| far.contains(&(window.limit, reset)))
    }

    /// The limits of the plan that a reported limit identifies, if every other reported limit is one of its figures.
    fn learn_plan_limits(&self) -> Option<PlanLimits> {
        let learnt = self.answers().iter().find_map(|answer| self.plan_with(answer.window.limit))?;
        // An Enterprise plan may have the figure of another plan as its other figure. A ban may go with a limit of its own.
        let mut answered = self.answers().iter().filter(|answer| answer.entry.status() != Some(429));
        answered.all(|answer| [learnt.per_minute, learnt.per_day].contains(&answer.window.limit)).then_some(learnt)
    }

    /// The limits of the plan that has this limit. 1,000 is the minute of one plan and the day of another: the distance of Reset decides.
    fn plan_with(&self, limit: u64) -> Option<PlanLimits> {
        // Near its end, a day looks like a minute. Elsewhere in the run it does not.
        let of_limit = self.answers().iter().filter(|answer| answer.window.limit == limit);
        let furthest = of_limit.filter_map(Answer::ahead).max()?;
        let by_day = PLANS.iter().find(|(_, plan_limits)| plan_limits.per_day == limit);
        let by_minute = PLANS.iter().find(|(_, plan_limits)| plan_limits.per_minute == limit);
        let plan = by_day.filter(|_| furthest > Tolerance::LONGEST_MINUTE.seconds()).or(by_minute);
        plan.map(|(_, plan_limits)| *plan_limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::limits::Limiter;
    use crate::tests::TraceBuilder;

    const FREE: PlanLimits = PLANS[0].1;
    const PRO: PlanLimits = PLANS[1].1;
    const BUSINESS: PlanLimits = PLANS[2].1;

    fn learnt(builder: TraceBuilder) -> Option<PlanLimits> {
        builder.main_key(|key| key.plan_limits())
    }

    fn reported(limit: u64, ahead: i64) -> TraceBuilder {
        TraceBuilder::new().window(ahead).list(200, 5, limit)
    }

    #[test]
    fn a_limit_identifies_the_plan_and_a_limit_of_a_thousand_does_so_by_the_distance_of_its_reset() {
        for (limit, ahead, plan) in [
            (60, 20, Some(FREE)),
            (300, 86_400, Some(PRO)),
            (1_000, 62, Some(BUSINESS)),
            (1_000, 63, Some(FREE)),
            (10_000, 86_400, Some(PRO)),
            // No plan has it as its minute.
            (10_000, 20, None),
            (7, 20, None),
        ] {
            assert_eq!(learnt(reported(limit, ahead)), plan, "{limit} {ahead}");
        }
    }

    #[test]
    fn a_limit_that_the_plan_does_not_have_shows_that_the_plan_is_another_one() {
        let other = |status| reported(300, 40_000).window(20).list(status, 5, 200);
        assert_eq!(learnt(other(200)), None);
        assert_eq!(learnt(other(404)), None);
        assert_eq!(learnt(other(429)), Some(PRO), "a ban's own");
        assert_eq!(learnt(reported(300, 20).window(40_000).list(200, 5, 10_000)), Some(PRO));
    }

    #[test]
    fn near_midnight_a_day_looks_like_a_minute_until_the_next_begins() {
        assert_eq!(learnt(reported(1_000, 20).wait(30).window(86_390).list(200, 999, 1_000)), Some(FREE));
        let other = reported(1_000, 20).window(86_390).list(200, 5, 100_000);
        assert_eq!(learnt(other), Some(BUSINESS), "the reset of another limit says nothing of this one");
    }

    #[test]
    fn the_plan_that_the_user_named_applies_to_the_main_key_only() {
        let mut trace = reported(60, 20).key("sk-Other").list(200, 5, 300).trace();
        trace.context.plan_limits = Some(BUSINESS);
        let history = History::new(&trace);
        let limiter = Limiter::new(&history);
        assert_eq!([limiter.plan_limits(0), limiter.plan_limits(1)], [Some(BUSINESS), Some(PRO)]);
    }

    #[test]
    fn headers_report_the_day_by_the_plan_or_else_by_the_reset() {
        let reports = |limit, ahead, plan_limits| {
            reported(limit, ahead).plan(plan_limits).main_key(|key| key.reports_day(&key.answers()[0]))
        };
        assert!(!reports(60, 86_400, Some(FREE)));
        assert!(reports(1_000, 20, Some(FREE)));
        assert!(!reports(9, 86_400, Some(PlanLimits { per_minute: 9, per_day: 9 })));
        assert!(!reports(7, 62, None));
        assert!(reports(7, 63, None));
    }

    #[test]
    fn without_a_known_plan_the_last_minute_of_a_day_is_recognised_by_the_windows_reported_before_it() {
        let last = |builder: TraceBuilder| {
            builder.main_key(|key| {
                let late = key.answers().iter().find(|answer| answer.left() < 60);
                key.reports_day(late.expect("an answer late in a window"))
            })
        };
        let late = |time: &str| TraceBuilder::at(time).window(40).list(200, 5, 7);
        assert!(!last(late("2026-06-01T23:59:20Z")));
        let reported_by = |change: fn(TraceBuilder) -> TraceBuilder| {
            let early = change(TraceBuilder::at("2026-06-01T23:57:20Z").window(160));
            last(early.wait(120).list(200, 5, 7))
        };
        assert!(reported_by(|builder| builder.list(200, 6, 7)), "its end was reported minutes before");
        assert!(!reported_by(|builder| builder.list(429, 0, 7)), "a ban's");
        assert!(!reported_by(|builder| builder.list(200, 6, 7).dateless()), "by an unknown clock");
    }
}
