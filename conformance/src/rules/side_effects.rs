//! What was refused must not have happened: no later answer may show an animal that only a refused request named.

use super::docket::{Case, Docket};
use super::{Judgement, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "create.refused-stores-nothing",
        judge: |d, j| stores_nothing(d, j, "400", |c| c.status() == Some(400)),
    },
    Rule {
        id: "auth.refused-stores-nothing",
        // Whatever the status: without a valid key nothing may be created. A lawful status is another rule's concern.
        judge: |d, j| stores_nothing(d, j, "no valid key", |c| c.access.is_lacking()),
    },
    Rule {
        id: "quota.refused-stores-nothing",
        judge: |d, j| stores_nothing(d, j, "429", |c| c.status() == Some(429) && !c.access.is_lacking()),
    },
];

fn stores_nothing(docket: &Docket<'_>, judgement: &mut Judgement, why: &str, is_refused: fn(&Case<'_>) -> bool) {
    for (refused, body) in docket.creates().filter(|(case, _)| is_refused(case)) {
        let Some(name) = body.draft().and_then(|draft| draft.name.as_deref()) else { continue };
        let used_elsewhere = docket.creates().any(|(case, body)| {
            !std::ptr::eq(case, refused)
                && !is_refused(case)
                && body.draft().and_then(|draft| draft.name.as_deref()) == Some(name)
        });
        let shows = |case: &Case<'_>| case.animals().iter().any(|animal| animal.name() == Some(name));
        let existed = docket.cases.iter().any(|case| case.precedes(refused) && shows(case));
        if used_elsewhere || existed {
            continue;
        }
        let mut later =
            docket.cases.iter().filter(|case| refused.precedes(case) && !case.animals().is_empty()).peekable();
        // Where nothing was shown afterwards, nothing was seen to hold either; an empty list is a showing.
        let looked = later.peek().is_some()
            || docket.lists().any(|(case, _)| refused.precedes(case) && case.status() == Some(200));
        match later.find(|case| shows(case)) {
            Some(case) => judgement.fail(
                &[case, refused],
                format!("no trace of an animal whose creation was refused ({why})"),
                format!("the animal {name:?} exists"),
            ),
            None if looked => judgement.hold(),
            None => {}
        }
    }
}
