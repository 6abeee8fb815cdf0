//! The requirements that a run has found broken so far: each is reported at once, and may end the run.

use std::collections::BTreeSet;

use crate::options::Options;
use crate::probes::session::{Session, Stop};
use animal_store_rules::verdict;

/// Reports the requirements that are broken so far, each once. With [`Options::fail_fast`], the first one ends the run.
pub(super) fn report_broken(
    session: &Session<'_>,
    options: &Options,
    known: &mut BTreeSet<&'static str>,
) -> Result<(), Stop> {
    for verdict in verdict::judge(session.trace(), &options.scope) {
        let requirement = verdict.requirement;
        let id = requirement.id.as_str();
        if verdict.is_violation(options.strict) && options.known_failing.entry(id).is_none() && known.insert(id) {
            session.report_broken(id, &requirement.title);
        }
    }
    match known.first().copied().filter(|_| options.fail_fast) {
        Some(id) => Err(Stop::FailFast(id)),
        None => Ok(()),
    }
}
