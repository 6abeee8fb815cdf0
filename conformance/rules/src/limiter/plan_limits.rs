//! The figures of a plan, and whether headers tell its minute or its day.

use crate::catalogue::plan::{PLANS, PlanLimits};
use crate::history::{Entry, History};
use crate::trace::rate_limit::Window;

/// A reset further ahead than this, in seconds, is not that of a minute: clocks are told to the second.
const LONGEST_MINUTE: i64 = 62;

impl History<'_> {
    /// Whether the headers of an answer tell the day and not the minute: by the plan, else by how far off the reset is.
    #[must_use]
    pub fn reports_day(&self, key: usize, entry: &Entry<'_>, window: Window) -> bool {
        match self.plan_limits(key) {
            Some(plan_limits) => window.limit == plan_limits.per_day && plan_limits.per_day != plan_limits.per_minute,
            None => {
                let now = entry.server_time().unwrap_or(entry.exchange.received_at).as_second();
                window.reset - now > LONGEST_MINUTE
            }
        }
    }

    /// What the user told, or the headers of this run let guess, of a key's plan.
    pub(crate) fn learn_plan_limits(&self, key: usize) -> Option<PlanLimits> {
        if key == 0 && self.context.plan_limits.is_some() {
            return self.context.plan_limits;
        }
        let with_rate_limit = self.with_rate_limit(key);
        let ahead = |entry: &Entry<'_>, window: Window| Some(window.reset - entry.server_time()?.as_second());
        let plan = |is_like: &dyn Fn(&PlanLimits) -> bool| {
            PLANS.iter().map(|(_, plan_limits)| *plan_limits).find(|f| is_like(f))
        };
        // An Enterprise plan may have the figure of another one in another place. A ban may go with a limit of its own.
        let limits =
            || with_rate_limit.iter().filter(|(entry, _)| entry.status() != Some(429)).map(|(_, window)| window.limit);
        let has_all = |f: &PlanLimits| limits().all(|limit| [f.per_minute, f.per_day].contains(&limit));
        let learnt = with_rate_limit.iter().find_map(|(_, Window { limit, .. })| {
            // Near its end, a day looks like a minute. Elsewhere in the run it does not.
            let of_that_limit = with_rate_limit.iter().filter(|(_, window)| window.limit == *limit);
            let furthest = of_that_limit.filter_map(|(entry, window)| ahead(entry, *window)).max()?;
            match (plan(&|f| f.per_minute == *limit), plan(&|f| f.per_day == *limit)) {
                // 1,000 is a minute of one plan and a day of another: how far off the reset is tells which.
                (_, Some(of_day)) if furthest > LONGEST_MINUTE => Some(of_day),
                (of_minute, _) => of_minute,
            }
        });
        learnt.filter(has_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_builder::TraceBuilder;

    const FREE: PlanLimits = PLANS[0].1;
    const PRO: PlanLimits = PLANS[1].1;
    const BUSINESS: PlanLimits = PLANS[2].1;

    fn learnt(builder: TraceBuilder) -> Option<PlanLimits> {
        History::new(&builder.trace()).plan_limits(0)
    }

    fn told(limit: u64, ahead: i64) -> TraceBuilder {
        TraceBuilder::new().window(ahead).list(200, 5, limit)
    }

    #[test]
    fn a_limit_tells_the_plan_and_a_thousand_tells_it_by_how_far_off_the_reset_is() {
        for ahead in [20, 62, 63, 86_400] {
            assert_eq!(learnt(told(60, ahead)), Some(FREE), "{ahead}");
            assert_eq!(learnt(told(300, ahead)), Some(PRO), "{ahead}");
        }
        assert_eq!(learnt(told(1_000, 20)), Some(BUSINESS));
        assert_eq!(learnt(told(1_000, 62)), Some(BUSINESS));
        assert_eq!(learnt(told(1_000, 63)), Some(FREE));
        assert_eq!(learnt(told(10_000, 86_400)), Some(PRO));
        assert_eq!(learnt(told(10_000, 20)), None, "no plan has it as its minute");
        assert_eq!(learnt(told(7, 20)), None);
    }

    #[test]
    fn a_limit_that_the_plan_does_not_have_tells_that_it_is_another_plan() {
        let other = |status| told(300, 40_000).window(20).list(status, 5, 200);
        assert_eq!(learnt(other(200)), None);
        assert_eq!(learnt(other(404)), None);
        assert_eq!(learnt(other(429)), Some(PRO), "a ban's own");
        assert_eq!(learnt(told(300, 20).window(40_000).list(200, 5, 10_000)), Some(PRO));
    }

    #[test]
    fn near_midnight_a_day_looks_like_a_minute_until_the_next_begins() {
        assert_eq!(learnt(told(1_000, 20).wait(30).window(86_390).list(200, 999, 1_000)), Some(FREE));
        let other = told(1_000, 20).window(86_390).list(200, 5, 100_000);
        assert_eq!(learnt(other), Some(BUSINESS), "the reset of another limit says nothing of this one");
    }

    #[test]
    fn what_the_user_told_is_told_of_the_main_key_only() {
        let mut trace = told(60, 20).key("sk-Other").list(200, 5, 300).trace();
        trace.context.plan_limits = Some(BUSINESS);
        let history = History::new(&trace);
        assert_eq!([history.plan_limits(0), history.plan_limits(1)], [Some(BUSINESS), Some(PRO)]);
    }

    #[test]
    fn headers_tell_the_day_by_the_plan_or_else_by_the_reset() {
        let tells = |limit, ahead, plan_limits| {
            let mut trace = told(limit, ahead).trace();
            trace.context.plan_limits = plan_limits;
            let history = History::new(&trace);
            let (entry, window) = history.with_rate_limit(0)[0];
            history.reports_day(0, entry, window)
        };
        assert!(!tells(60, 86_400, Some(FREE)));
        assert!(tells(1_000, 20, Some(FREE)));
        assert!(!tells(9, 86_400, Some(PlanLimits { per_minute: 9, per_day: 9 })));
        assert!(!tells(7, 62, None));
        assert!(tells(7, 63, None));
    }
}
