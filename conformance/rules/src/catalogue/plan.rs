//! The plans of the specification and their limits.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The numbers of requests that a plan admits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct PlanLimits {
    /// The number of requests that the plan admits in a minute.
    pub per_minute: u64,
    /// The number of requests that the plan admits in a day.
    pub per_day: u64,
}

/// The plans whose limits the specification gives, by name. It gives none for Enterprise.
pub const PLANS: [(&str, PlanLimits); 3] = [
    ("free", PlanLimits { per_minute: 60, per_day: 1_000 }),
    ("pro", PlanLimits { per_minute: 300, per_day: 10_000 }),
    ("business", PlanLimits { per_minute: 1_000, per_day: 100_000 }),
];

/// A plan as the user names it: `free`, `pro`, `business`, `enterprise`, or `enterprise=RPM,RPD`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    name: &'static str,
    plan_limits: Option<PlanLimits>,
}

impl Plan {
    /// The plan's name in lower case.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The limits of the plan. `None` for an enterprise plan whose limits were not given.
    pub fn plan_limits(&self) -> Option<PlanLimits> {
        self.plan_limits
    }
}

/// The error for a text that names no plan.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a plan: use free, pro, business, enterprise, or enterprise=RPM,RPD such as enterprise=600,50000")]
pub struct UnknownPlan(String);

impl FromStr for Plan {
    type Err = UnknownPlan;

    fn from_str(text: &str) -> Result<Plan, UnknownPlan> {
        let unknown = || UnknownPlan(text.to_owned());
        let lower = text.to_ascii_lowercase();
        if let Some(&(name, plan_limits)) = PLANS.iter().find(|(name, _)| *name == lower) {
            return Ok(Plan { name, plan_limits: Some(plan_limits) });
        }
        let plan_limits = match lower.strip_prefix("enterprise").ok_or_else(unknown)? {
            "" => None,
            custom => {
                let (minute, day) = custom.strip_prefix('=').and_then(|c| c.split_once(',')).ok_or_else(unknown)?;
                let figure = |text: &str| text.trim().parse().ok().filter(|figure| *figure > 0).ok_or_else(unknown);
                Some(PlanLimits { per_minute: figure(minute)?, per_day: figure(day)? })
            }
        };
        Ok(Plan { name: "enterprise", plan_limits })
    }
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plan, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match self.plan_limits {
            Some(PlanLimits { per_minute, per_day }) if self.name == "enterprise" => {
                write!(f, "={per_minute},{per_day}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_named_in_any_case_and_enterprise_may_bring_its_figures() {
        let plan: Plan = "Free".parse().unwrap();
        assert_eq!(plan.to_string(), "free");
        assert_eq!((plan.name(), plan.plan_limits()), ("free", Some(PlanLimits { per_minute: 60, per_day: 1_000 })));
        let plan: Plan = "enterprise=600, 50000".parse().unwrap();
        assert_eq!(plan.plan_limits(), Some(PlanLimits { per_minute: 600, per_day: 50_000 }));
        assert_eq!(plan.to_string(), "enterprise=600,50000");
        assert_eq!("enterprise".parse::<Plan>().unwrap().plan_limits(), None);
    }

    #[test]
    fn what_is_no_plan_is_refused_with_the_list_of_plans() {
        for text in ["", "gold", "enterprise=", "enterprise=5", "enterprise=0,5", "enterprises"] {
            let error = text.parse::<Plan>().unwrap_err().to_string();
            assert!(error.contains("free, pro, business"), "{error}");
        }
    }
}
