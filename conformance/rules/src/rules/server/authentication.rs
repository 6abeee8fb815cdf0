//! Authentication: a bearer key on every operation, and 401 without one, whatever else is wrong.

use crate::facts::Facts;
use crate::history::{Entry, History};
use crate::request::{Credential, Defect, Operation};
use crate::rules::{Judgement, Rule, answered};

pub(crate) const RULES: &[Rule] = &[
    Rule::new("auth.valid-key", valid_key),
    Rule::new("auth.missing-key", missing_key),
    Rule::new("auth.invalid-key", invalid_key),
    Rule::new("auth.exact-key", exact_key),
    Rule::new("auth.bearer-header", bearer_header),
    Rule::new("auth.before-all-else", before_all_else),
];

fn valid_key(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for entry in history.entries.iter().filter(|entry| entry.key().is_some() && entry.operation != Operation::Elsewhere)
    {
        if let Some(status) = entry.status() {
            judgement.require(entry, status != 401, "any status but 401 for a valid key", || answered(entry));
        }
    }
}

/// Cases of an operation that defect a valid key in the given way, and whether they are otherwise sound.
fn invalid<'d>(history: &'d History<'_>, defect: Defect, sound: bool) -> impl Iterator<Item = &'d Entry<'d>> {
    history.entries.iter().filter(move |entry| {
        entry.credential == Credential::Invalid(defect)
            && entry.operation != Operation::Elsewhere
            && entry.operation.is_certainly_valid() == sound
    })
}

fn require_refusal<'c>(
    history: &History<'_>,
    entries: impl Iterator<Item = &'c Entry<'c>>,
    judgement: &mut Judgement,
    credential: &str,
) {
    entries.for_each(|entry| judgement.require_lawful(history, entry, credential));
}

fn missing_key(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    require_refusal(history, invalid(history, Defect::Absent, true), judgement, "a request without a key");
}

fn invalid_key(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    require_refusal(history, invalid(history, Defect::Unknown, true), judgement, "a key that nobody issued");
}

fn exact_key(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    require_refusal(
        history,
        invalid(history, Defect::Inexact, true),
        judgement,
        "a key that is not exactly a valid one",
    );
}

fn bearer_header(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // A key in the query makes the query itself unusual, so soundness is not asked for here.
    let entries = history.entries.iter().filter(|entry| {
        entry.credential == Credential::Invalid(Defect::NotBearer) && entry.operation != Operation::Elsewhere
    });
    require_refusal(
        history,
        entries,
        judgement,
        "a key that does not come as a bearer token in the Authorization header",
    );
}

fn before_all_else(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    for defect in [Defect::Absent, Defect::Unknown, Defect::Inexact] {
        require_refusal(
            history,
            invalid(history, defect, false),
            judgement,
            "a request without a valid key, whatever else is wrong with it",
        );
    }
}
