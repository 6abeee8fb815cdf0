//! The property probe: sends generated requests, and for each that breaks a rule looks for the simplest one that still does.

mod case;
mod strategies;

pub(super) mod generator;

use std::collections::BTreeSet;

use case::Case;
use generator::{Generator, Step};

use super::session::{Session, Stop};
use animal_store_rules::rules;
use animal_store_rules::trace::Trace;

/// The maximum number of requests for simplifying a counterexample.
const MAX_SHRINKS: usize = 24;

/// Sends `cases` generated requests; without `creates`, none that could create.
pub(super) async fn run(session: &mut Session<'_>, cases: usize, creates: bool) -> Result<(), Stop> {
    session.begin("properties");
    let generator = Generator::start(session.seed, strategies::case);
    // A requirement that is already broken needs no second counterexample.
    let mut known = rules::broken(session.trace());
    for _ in 0..cases {
        let Some(case) = generator.request(Step::Next).await else { return Ok(()) };
        if !creates && case.creates() {
            continue;
        }
        let (broken, replica) = send(session, &case, None).await?;
        let news: BTreeSet<&str> = broken.difference(&known).copied().collect();
        if !news.is_empty() {
            shrink(session, &generator, &news, replica).await?;
            known.extend(news);
        }
    }
    Ok(())
}

/// Sends a generated request. Returns the requirements that this exchange alone breaks, and the replica that got it.
async fn send(
    session: &mut Session<'_>,
    case: &Case,
    replica: Option<usize>,
) -> Result<(BTreeSet<&'static str>, Option<usize>), Stop> {
    let (request, keyed) = case.request(session);
    let request = request.at(replica);
    let exchange =
        if keyed { Some(session.ask(request).await?.clone()) } else { session.ask_without_key(request).await? };
    // A request that the allowance of callers without a key refuses is not judged.
    let Some(exchange) = exchange else { return Ok((BTreeSet::new(), replica)) };
    let replica = exchange.request.replica;
    let exchanges = vec![exchange];
    Ok((rules::broken(&Trace { context: session.trace().context.clone(), exchanges }), replica))
}

/// Looks for the simplest request that still breaks one of the requirements. It is not returned: it is in the trace, and the report
/// shows the smallest request of each failure. All are sent to one replica, because another one may not break anything.
async fn shrink(
    session: &mut Session<'_>,
    generator: &Generator<Case>,
    news: &BTreeSet<&str>,
    replica: Option<usize>,
) -> Result<(), Stop> {
    let mut step = Step::Simplify;
    for _ in 0..MAX_SHRINKS {
        let Some(simpler) = generator.request(step).await else { break };
        let (broken, _) = send(session, &simpler, replica).await?;
        step = if broken.iter().any(|id| news.contains(id)) { Step::Simplify } else { Step::Complicate };
    }
    Ok(())
}
