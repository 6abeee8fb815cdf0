//! Authentication: a bearer key on every operation, and 401 without one, whatever else is wrong.

use crate::history::{Case, Docket};
use crate::request::{Access, Lack, Operation};
use crate::rules::{Judgement, Rule, answered};

pub(crate) const RULES: &[Rule] = &[
    Rule { id: "auth.valid-key", judge: valid_key },
    Rule { id: "auth.missing-key", judge: missing_key },
    Rule { id: "auth.invalid-key", judge: invalid_key },
    Rule { id: "auth.exact-key", judge: exact_key },
    Rule { id: "auth.bearer-header", judge: bearer_header },
    Rule { id: "auth.before-all-else", judge: before_all_else },
];

fn valid_key(docket: &Docket<'_>, judgement: &mut Judgement) {
    for case in docket.cases.iter().filter(|case| case.key().is_some() && case.operation != Operation::Elsewhere) {
        if let Some(status) = case.status() {
            judgement.require(case, status != 401, "any status but 401 for a valid key", || answered(case));
        }
    }
}

/// Cases of an operation that lack a valid key in the given way, and whether they are otherwise sound.
fn lacking<'d>(docket: &'d Docket<'_>, lack: Lack, sound: bool) -> impl Iterator<Item = &'d Case<'d>> {
    docket.cases.iter().filter(move |case| {
        case.access == Access::Lacking(lack)
            && case.operation != Operation::Elsewhere
            && case.operation.is_sound() == sound
    })
}

fn require_401<'c>(cases: impl Iterator<Item = &'c Case<'c>>, judgement: &mut Judgement, credential: &str) {
    for case in cases.filter(|case| case.status().is_some()) {
        judgement.require(case, case.status() == Some(401), format!("401 for {credential}"), || answered(case));
    }
}

fn missing_key(docket: &Docket<'_>, judgement: &mut Judgement) {
    require_401(lacking(docket, Lack::Absent, true), judgement, "a request without a key");
}

fn invalid_key(docket: &Docket<'_>, judgement: &mut Judgement) {
    require_401(lacking(docket, Lack::Unknown, true), judgement, "a key that nobody issued");
}

fn exact_key(docket: &Docket<'_>, judgement: &mut Judgement) {
    require_401(lacking(docket, Lack::Inexact, true), judgement, "a key that is not exactly a valid one");
}

fn bearer_header(docket: &Docket<'_>, judgement: &mut Judgement) {
    // A key in the query makes the query itself unusual, so soundness is not asked for here.
    let cases = docket
        .cases
        .iter()
        .filter(|case| case.access == Access::Lacking(Lack::NotBearer) && case.operation != Operation::Elsewhere);
    require_401(cases, judgement, "a key that does not come as a bearer token in the Authorization header");
}

fn before_all_else(docket: &Docket<'_>, judgement: &mut Judgement) {
    for lack in [Lack::Absent, Lack::Unknown, Lack::Inexact] {
        require_401(
            lacking(docket, lack, false),
            judgement,
            "a request without a valid key, whatever else is wrong with it",
        );
    }
}
