//! Subscription plans and their two limits (specification: "Rate limits by plan").

use std::fmt;

use clap::ValueEnum;

/// The numbers of requests that a key may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of requests in one UTC minute, at least 1.
    pub per_minute: u64,
    /// The number of requests in one UTC day, at least 1.
    pub per_day: u64,
}

/// A subscription plan. The description of each is also the help of `--plan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plan {
    /// 60 requests a minute, 1,000 a day
    Free,
    /// 300 requests a minute, 10,000 a day
    Pro,
    /// 1,000 requests a minute, 100,000 a day
    Business,
    /// 1,000,000 requests a minute, 100,000,000 a day, unless other figures are agreed
    Enterprise,
    /// An enterprise key whose figures were agreed.
    #[value(skip)]
    Custom(Limits),
}

impl Plan {
    /// The limits of a key on this plan.
    pub const fn limits(self) -> Limits {
        match self {
            Self::Free => Limits { per_minute: 60, per_day: 1_000 },
            Self::Pro => Limits { per_minute: 300, per_day: 10_000 },
            Self::Business => Limits { per_minute: 1_000, per_day: 100_000 },
            // The specification leaves the figures to an agreement; without one, they are so high that a load test on one
            // machine never meets them.
            Self::Enterprise => Limits { per_minute: 1_000_000, per_day: 100_000_000 },
            Self::Custom(limits) => limits,
        }
    }

    /// The plan's name in lower case: `free`, `pro`, `business` or `enterprise`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Business => "business",
            Self::Enterprise | Self::Custom(_) => "enterprise",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_plans_carry_the_published_figures() {
        let figures =
            [Plan::Free, Plan::Pro, Plan::Business].map(|plan| (plan.limits().per_minute, plan.limits().per_day));
        assert_eq!(figures, [(60, 1_000), (300, 10_000), (1_000, 100_000)]);
    }
}
