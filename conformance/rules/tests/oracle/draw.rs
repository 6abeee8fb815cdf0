//! How cases are drawn: mostly with small limits, so that few requests show much.

use proptest::prelude::*;

use crate::client::{LATE, NOON, Others, Script, Shaking, Step};
use crate::explain::UNKNOWN_CLOCK;
use crate::limiter::{Ban, Cut, Failures, MINUTE, Policy, Rounding, SECOND, Shows, Written};

pub(crate) fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        2 => Just(Cut::Clock),
        2 => Just(Cut::First),
        2 => any::<bool>().prop_map(|newest| Cut::Log { newest }),
        2 => any::<(bool, bool)>().prop_map(|(up, next)| Cut::Weighted { up, next }),
    ]
}

fn ban() -> impl Strategy<Value = Ban> {
    (2..4_u32, prop_oneof![Just(429_u16), Just(403), Just(401)], 5..200_i64, any::<bool>())
        .prop_map(|(after, status, length, announced)| Ban { after, status, length: length * SECOND, announced })
}

prop_compose! {
    fn habits()(
        cut in cut(),
        shows in prop_oneof![4 => Just(Shows::Minute), 1 => Just(Shows::Day), 1 => Just(Shows::Fewer)],
        written in prop_oneof![Just(Written::AfterCounting), Just(Written::BeforeCounting), Just(Written::OnAnswer)],
        failures in proptest::sample::select(&Failures::ALL[..]),
        counts_refusals in any::<bool>(),
        ban in proptest::option::weighted(0.3, ban()),
        rounding in prop_oneof![Just(Rounding::Up), Just(Rounding::Down), Just(Rounding::FromLeft)],
        retry_date in any::<bool>(),
        extra in 0..4_i64,
    ) -> (Cut, Shows, Written, Failures, bool, Option<Ban>, Rounding, bool, i64) {
        (cut, shows, written, failures, counts_refusals, ban, rounding, retry_date, extra)
    }
}

prop_compose! {
    pub(crate) fn policy()(
        (cut, shows, written, failures, counts_refusals, ban, rounding, retry_date, extra) in habits(),
        (per_minute, per_day) in prop_oneof![
            12 => (2..9_u64, 15..40_u64),
            1 => Just((60, 1_000)),
        ],
        used in 0..100_u64,
        ahead in prop_oneof![Just(0), -UNKNOWN_CLOCK + MINUTE / 2..UNKNOWN_CLOCK - MINUTE / 2],
        far in prop_oneof![3 => Just(0), 1 => -80_000..80_000_i64],
        dated in prop_oneof![5 => Just(true), 1 => Just(false)],
    ) -> Policy {
        // Without a Date the rules take the client's clock for the server's, to report a minute from a day.
        let ahead = if dated { ahead + far * SECOND } else { 0 };
        Policy {
            per_minute, per_day, used_today: used * per_day / 100 / 2, cut, shows, written, failures, counts_refusals, ban, rounding,
            retry_date, extra, ahead, dated,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let gap = || prop_oneof![2 => 0..200_i64, 1 => 0..6_000_i64];
    let failing = || prop_oneof![2 => Just(0_u8), 1 => any::<u8>()];
    prop_oneof![
        4 => (1..6_u32, gap(), failing()).prop_map(|(count, gap, failing)| Step::Burst { count, gap, failing }),
        2 => (2..4_u32, failing()).prop_map(|(count, failing)| Step::Together { count, failing }),
        4 => (0..4_u32, gap()).prop_map(|(more, gap)| Step::Drain { more, gap }),
        2 => (0..70_000_i64).prop_map(Step::Pause),
        3 => (0..6_000_i64).prop_map(Step::AwaitReset),
        3 => (0..6_000_i64).prop_map(Step::AwaitRetry),
        1 => Just(Step::OtherKey),
    ]
}

pub(crate) fn others() -> impl Strategy<Value = Others> {
    (-100_000..100_000_i64, prop_oneof![200..5_000_i64, 5_000..70_000_i64], 1..80_u32, 1..4_u32)
        .prop_map(|(from, every, times, each)| Others { from, every, times, each })
}

/// A case in which nobody else uses the keys, or somebody may.
pub(crate) fn script(shared: bool) -> impl Strategy<Value = Script> {
    let pace = prop_oneof![
        3 => Just((5, 20)),
        1 => Just((400, 450)),
        2 => (0..100_i64, 100..2_500_i64),
    ];
    let others = proptest::option::weighted(0.8, others()).prop_map(move |others| others.filter(|_| shared));
    let begins = (prop_oneof![5 => Just(NOON), 1 => Just(LATE)], 0..MINUTE).prop_map(|(base, into)| base + into);
    let steps = proptest::collection::vec(step(), 1..8);
    let malformed = prop_oneof![5 => Just(0_u8), 3 => Just(u8::MAX), 1 => any::<u8>()];
    let noise = proptest::collection::vec(any::<u8>(), 1..40);
    (policy(), any::<bool>(), begins, steps, others, pace, malformed, noise).prop_map(
        |(policy, plan_is_stated, begins, steps, others, (fastest, slowest), malformed, noise)| Script {
            policy,
            plan_is_stated,
            begins,
            steps,
            others,
            fastest,
            slowest,
            malformed,
            noise,
        },
    )
}

pub(crate) fn shaking() -> impl Strategy<Value = Shaking> {
    let undated = prop_oneof![2 => Just(0_u8), 1 => any::<u8>()];
    let foreign = prop_oneof![2 => Just(0_u32), 1 => any::<u32>().prop_map(|bits| bits & (bits >> 7) & (bits >> 13))];
    (undated, foreign, prop_oneof![2 => Just(0), 1 => 0..400_i64]).prop_map(|(undated, foreign, wider)| Shaking {
        undated,
        foreign,
        wider,
    })
}
