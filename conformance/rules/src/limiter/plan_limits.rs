//! The figures of a plan, and whether headers tell its minute or its day.

use crate::catalogue::plan::{Figures, PLANS};
use crate::history::{Case, Docket};
use crate::trace::rate_limit::Window;

/// A reset further ahead than this, in seconds, is not that of a minute: clocks are told to the second.
const LONGEST_MINUTE: i64 = 62;

impl Docket<'_> {
    /// Whether the headers of an answer tell the day and not the minute: by the plan, else by how far off the reset is.
    #[must_use]
    pub fn tells_day(&self, key: usize, case: &Case<'_>, window: Window) -> bool {
        match self.figures(key) {
            Some(figures) => window.limit == figures.per_day && figures.per_day != figures.per_minute,
            None => {
                let now = case.server_time().unwrap_or(case.exchange.received_at).as_second();
                window.reset - now > LONGEST_MINUTE
            }
        }
    }

    /// What the user told, or the headers of this run let guess, of a key's plan.
    pub(crate) fn learn_figures(&self, key: usize) -> Option<Figures> {
        if key == 0 && self.context.figures.is_some() {
            return self.context.figures;
        }
        let metered = self.metered(key);
        let ahead = |case: &Case<'_>, window: Window| Some(window.reset - case.server_time()?.as_second());
        let plan = |is_like: &dyn Fn(&Figures) -> bool| PLANS.iter().map(|(_, figures)| *figures).find(|f| is_like(f));
        // An Enterprise plan may have the figure of another one in another place. A ban may go with a limit of its own.
        let limits = || metered.iter().filter(|(case, _)| case.status() != Some(429)).map(|(_, window)| window.limit);
        let has_all = |f: &Figures| limits().all(|limit| [f.per_minute, f.per_day].contains(&limit));
        let learnt = metered.iter().find_map(|(_, Window { limit, .. })| {
            // Near its end, a day looks like a minute. Elsewhere in the run it does not.
            let of_that_limit = metered.iter().filter(|(_, window)| window.limit == *limit);
            let furthest = of_that_limit.filter_map(|(case, window)| ahead(case, *window)).max()?;
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
    use crate::trace_builder::Sample;

    const FREE: Figures = PLANS[0].1;
    const PRO: Figures = PLANS[1].1;
    const BUSINESS: Figures = PLANS[2].1;

    fn learnt(sample: Sample) -> Option<Figures> {
        Docket::new(&sample.trace()).figures(0)
    }

    fn told(limit: u64, ahead: i64) -> Sample {
        Sample::new().window(ahead).list(200, 5, limit)
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
        trace.context.figures = Some(BUSINESS);
        let docket = Docket::new(&trace);
        assert_eq!([docket.figures(0), docket.figures(1)], [Some(BUSINESS), Some(PRO)]);
    }

    #[test]
    fn headers_tell_the_day_by_the_plan_or_else_by_the_reset() {
        let tells = |limit, ahead, figures| {
            let mut trace = told(limit, ahead).trace();
            trace.context.figures = figures;
            let docket = Docket::new(&trace);
            let (case, window) = docket.metered(0)[0];
            docket.tells_day(0, case, window)
        };
        assert!(!tells(60, 86_400, Some(FREE)));
        assert!(tells(1_000, 20, Some(FREE)));
        assert!(!tells(9, 86_400, Some(Figures { per_minute: 9, per_day: 9 })));
        assert!(!tells(7, 62, None));
        assert!(tells(7, 63, None));
    }
}
