//! The rate limiter: a pure function of a key's usage, its limits and the time.
//!
//! Windows are fixed, on the UTC minute and the UTC day. Every admitted request counts in both windows, whatever
//! its outcome; a refused request counts in neither. Both windows are decided as one, under the lock that the
//! caller holds around [`Usage`], so no interleaving of requests can admit more than either limit allows.
//!
//! A key whose client keeps sending requests in an exhausted window is banned for a while (the specification announces
//! a ban but gives no figures). A ban ends with a UTC minute, so that Remaining never rises within a window.

use clap::Parser;

use crate::domain::plan::Limits;

const MINUTE: u64 = 60;
const MINUTES_A_DAY: u64 = 24 * 60;

/// The usage of one key. The default is the usage of a key without requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The minute of `in_minute`, in minutes since the Unix epoch. The day follows from it.
    pub minute: u64,
    /// The number of requests admitted in `minute`.
    pub in_minute: u64,
    /// The number of requests admitted in the day of `minute`.
    pub in_day: u64,
    /// The number of requests refused since the last admitted one, or since the last ban began.
    pub refusals: u64,
    /// The end of a ban as a Unix time in seconds; 0 without one.
    pub banned_until: u64,
}

/// The conditions and the length of a temporary ban for repeated requests over a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Parser)]
pub struct BanPolicy {
    /// Refused requests in one exhausted window before the key is banned for a while; 0 never bans
    #[arg(long = "ban-after", value_name = "REQUESTS", default_value_t = 10, help_heading = "Rate limits")]
    pub after: u64,

    /// How long a ban lasts at least; it ends with a minute
    #[arg(long = "ban-seconds", value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=31_536_000), help_heading = "Rate limits")]
    pub seconds: u64,
}

/// The values of the three `X-RateLimit-*` headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The limit that applies, in requests per window.
    pub limit: u64,
    /// The number of requests left in the window of `limit`.
    pub remaining: u64,
    /// The end of the window as a Unix time in seconds.
    pub reset: u64,
}

impl Quota {
    /// The quota of a client without a valid key: no request is allowed until the next minute.
    pub const fn anonymous(now: u64) -> Self {
        Self { limit: 0, remaining: 0, reset: (now / MINUTE + 1) * MINUTE }
    }
}

/// The answer of the limiter to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is admitted. The quota already counts it.
    Admitted(Quota),
    /// The request must be answered with 429.
    Refused {
        /// The exhausted window; a ban extends it.
        quota: Quota,
        /// The whole seconds until a request can be admitted again, at least 1.
        retry_after: u64,
        /// Whether the key is banned, not only a window exhausted.
        banned: bool,
    },
}

impl Usage {
    /// Decides one request at `now` (Unix seconds), and counts it if it is admitted.
    pub fn decide(&mut self, limits: Limits, ban: BanPolicy, now: u64) -> Decision {
        self.roll(now / MINUTE);
        let day = self.minute / MINUTES_A_DAY;
        let minute_end = (self.minute + 1) * MINUTE;
        let day_end = (day + 1) * MINUTES_A_DAY * MINUTE;

        // A ban that ends later than any ban can is void: the clock has been set back since it began.
        if self.banned_until > now.saturating_add(ban.seconds + MINUTE) {
            self.banned_until = 0;
        }
        let minute_left = limits.per_minute.saturating_sub(self.in_minute);
        let day_left = limits.per_day.saturating_sub(self.in_day);
        let banned = self.banned_until > now;

        if !banned && minute_left > 0 && day_left > 0 {
            self.in_minute += 1;
            self.in_day += 1;
            self.refusals = 0;
            return Decision::Admitted(if minute_left < day_left {
                Quota { limit: limits.per_minute, remaining: minute_left - 1, reset: minute_end }
            } else {
                Quota { limit: limits.per_day, remaining: day_left - 1, reset: day_end }
            });
        }

        if !banned {
            self.refusals += 1;
            if ban.after > 0 && self.refusals > ban.after {
                self.banned_until = (now + ban.seconds).div_ceil(MINUTE) * MINUTE;
                self.refusals = 0;
            }
        }
        let (limit, window_end) = if day_left == 0 {
            (limits.per_day, day_end)
        } else if minute_left == 0 {
            (limits.per_minute, minute_end)
        } else {
            (limits.per_minute, now)
        };
        let until = window_end.max(self.banned_until);
        Decision::Refused {
            quota: Quota { limit, remaining: 0, reset: until },
            retry_after: until.saturating_sub(now).max(1),
            banned: self.banned_until > now,
        }
    }

    /// Opens new windows if the old ones have ended by this minute.
    fn roll(&mut self, minute: u64) {
        // A clock that is set back by some seconds, across the beginning of a minute, must not open the last minute again.
        if minute == self.minute || minute + 1 == self.minute {
            return;
        }
        if minute / MINUTES_A_DAY != self.minute / MINUTES_A_DAY {
            self.in_day = 0;
        }
        self.minute = minute;
        self.in_minute = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::plan::Plan;

    const NOON: u64 = 20_000 * 86_400 + 43_200;
    const BAN: BanPolicy = BanPolicy { after: 10, seconds: 300 };

    fn exhaust(usage: &mut Usage, limits: Limits, now: u64, times: u64) {
        for _ in 0..times {
            assert!(matches!(usage.decide(limits, BAN, now), Decision::Admitted(_)));
        }
    }

    #[test]
    fn a_free_key_is_admitted_sixty_times_a_minute_and_then_refused_with_the_time_to_wait() {
        let (mut usage, limits) = (Usage::default(), Plan::Free.limits());
        assert_eq!(
            usage.decide(limits, BAN, NOON + 12),
            Decision::Admitted(Quota { limit: 60, remaining: 59, reset: NOON + 60 })
        );
        exhaust(&mut usage, limits, NOON + 12, 59);
        assert_eq!(
            usage.decide(limits, BAN, NOON + 12),
            Decision::Refused {
                quota: Quota { limit: 60, remaining: 0, reset: NOON + 60 },
                retry_after: 48,
                banned: false
            }
        );
        assert_eq!(usage.in_day, 60, "a refused request counts nowhere");
        exhaust(&mut usage, limits, NOON + 60, 1);
    }

    #[test]
    fn the_headers_report_the_window_with_fewer_requests_left() {
        let limits = Limits { per_minute: 60, per_day: 100 };
        let mut usage = Usage::default();
        exhaust(&mut usage, limits, NOON, 60);
        exhaust(&mut usage, limits, NOON + 60, 39);
        let Decision::Admitted(quota) = usage.decide(limits, BAN, NOON + 60) else { panic!("refused too early") };
        assert_eq!(quota, Quota { limit: 100, remaining: 0, reset: NOON + 43_200 });
        let Decision::Refused { quota, retry_after, .. } = usage.decide(limits, BAN, NOON + 120) else {
            panic!("admitted beyond the day's limit")
        };
        assert_eq!((quota.limit, retry_after), (100, 43_080));
    }

    #[test]
    fn a_new_day_opens_both_windows() {
        let limits = Limits { per_minute: 5, per_day: 5 };
        let mut usage = Usage::default();
        exhaust(&mut usage, limits, NOON, 5);
        assert!(matches!(usage.decide(limits, BAN, NOON + 43_199), Decision::Refused { retry_after: 1, .. }));
        exhaust(&mut usage, limits, NOON + 43_200, 5);
    }

    #[test]
    fn ten_refusals_are_forgiven_and_the_next_one_starts_a_ban_to_the_end_of_a_minute() {
        let (mut usage, limits) = (Usage::default(), Plan::Free.limits());
        exhaust(&mut usage, limits, NOON, 60);
        for _ in 0..10 {
            assert!(matches!(usage.decide(limits, BAN, NOON + 5), Decision::Refused { banned: false, .. }));
        }
        let expected = Decision::Refused {
            quota: Quota { limit: 60, remaining: 0, reset: NOON + 360 },
            retry_after: 355,
            banned: true,
        };
        assert_eq!(usage.decide(limits, BAN, NOON + 5), expected);
        assert!(matches!(
            usage.decide(limits, BAN, NOON + 359),
            Decision::Refused { retry_after: 1, banned: true, .. }
        ));
        exhaust(&mut usage, limits, NOON + 360, 60);
    }

    #[test]
    fn a_ban_in_an_exhausted_day_names_the_later_end() {
        let limits = Limits { per_minute: 5, per_day: 5 };
        let mut usage = Usage::default();
        exhaust(&mut usage, limits, NOON, 5);
        for _ in 0..20 {
            usage.decide(limits, BAN, NOON);
        }
        assert!(matches!(usage.decide(limits, BAN, NOON), Decision::Refused { retry_after: 43_200, banned: true, .. }));
        assert!(matches!(usage.decide(limits, BAN, NOON + 400), Decision::Refused { banned: false, .. }));
    }

    #[test]
    fn a_policy_of_zero_never_bans() {
        let limits = Limits { per_minute: 1, per_day: 5 };
        let never = BanPolicy { after: 0, seconds: 300 };
        let mut usage = Usage::default();
        for _ in 0..100 {
            assert!(!matches!(usage.decide(limits, never, NOON), Decision::Refused { banned: true, .. }));
        }
    }

    #[test]
    fn a_clock_set_back_by_seconds_stays_in_its_window_and_one_set_back_by_years_does_not() {
        let limits = Limits { per_minute: 2, per_day: 100 };
        let mut usage = Usage::default();
        exhaust(&mut usage, limits, NOON, 2);
        assert!(matches!(usage.decide(limits, BAN, NOON - 3), Decision::Refused { .. }));
        usage.banned_until = NOON + 300;
        exhaust(&mut usage, limits, NOON - 40 * 86_400, 2);
    }

    #[test]
    fn a_caller_without_a_key_gets_the_end_of_the_present_minute() {
        assert_eq!(Quota::anonymous(NOON + 125), Quota { limit: 0, remaining: 0, reset: NOON + 180 });
    }

    #[test]
    fn of_two_windows_with_as_many_requests_left_the_longer_one_is_reported() {
        let limits = Limits { per_minute: 5, per_day: 5 };
        let decision = Usage::default().decide(limits, BAN, NOON);
        assert_eq!(decision, Decision::Admitted(Quota { limit: 5, remaining: 4, reset: NOON + 43_200 }));
    }

    #[test]
    fn a_ban_holds_when_the_clock_is_set_back_by_no_more_than_it_could_last() {
        let limits = Plan::Free.limits();
        let banned = Usage { banned_until: NOON + 360, ..Usage::default() };
        let is_refused = |mut usage: Usage, now| matches!(usage.decide(limits, BAN, now), Decision::Refused { .. });
        assert!(is_refused(banned, NOON), "300 s, to the end of a minute");
        assert!(!is_refused(banned, NOON - 1), "longer than it could last");
        assert!(!is_refused(banned, NOON + 360), "it has ended");
    }

    #[test]
    fn a_refusal_in_the_second_in_which_a_ban_ends_is_not_due_to_the_ban() {
        let limits = Limits { per_minute: 5, per_day: 0 };
        let mut usage = Usage { banned_until: NOON, ..Usage::default() };
        assert!(matches!(usage.decide(limits, BAN, NOON), Decision::Refused { banned: false, .. }));
        usage.banned_until = NOON + 1;
        assert!(matches!(usage.decide(limits, BAN, NOON), Decision::Refused { banned: true, .. }));
    }
}
