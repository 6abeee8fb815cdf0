//! Example exchanges: for each requirement that can be observed over HTTP, requests and lawful responses, as a trace.
//!
//! The catalogue names the exchanges, which `fixtures/examples.jsonl` records as `conform --record` does, each with its name as its
//! step. A test hands each example to the rules: an example that its own rule does not accept, or does not apply to, fails the
//! suite. Open choices are those of the reference server.

use std::sync::LazyLock;

use animal_store_conformance::Options;
use animal_store_conformance::report::{self, ReportedExchange};
use animal_store_rules::ApiKey;
use animal_store_rules::catalogue::Requirement;
use animal_store_rules::trace::Trace;
use animal_store_rules::trace::exchange::Exchange;
use animal_store_traffic::{Unreadable, lines};

static EXAMPLES: LazyLock<Trace> =
    LazyLock::new(|| read().expect("the compiled-in examples can be read: a test of this module reads them"));

fn read() -> Result<Trace, Unreadable> {
    let mut exchanges = Vec::new();
    let head = lines::read(&mut &include_bytes!(env!("EXAMPLES"))[..], |_, exchange| {
        exchanges.push(exchange);
        Ok::<_, Unreadable>(())
    })?;
    Ok(Trace { context: head.context()?, exchanges })
}

/// The example for a requirement, as reports show exchanges.
pub fn shown(requirement: &Requirement) -> Vec<ReportedExchange> {
    let trace = trace(requirement);
    let key = trace.context.keys.iter().next().map_or("", ApiKey::reveal);
    // The recording has a valid address and a valid key.
    let options = Options::new(&trace.context.base_url, key);
    options.map(|options| report::shown(&trace, &options)).unwrap_or_default()
}

/// The example for a requirement, as a trace of lawful exchanges; empty if it cannot be observed over HTTP.
pub fn trace(requirement: &Requirement) -> Trace {
    let named = |name: &String| EXAMPLES.exchanges.iter().find(|exchange| exchange.step == *name);
    let exchanges = requirement.example.iter().filter_map(named).zip(1..);
    Trace {
        context: EXAMPLES.context.clone(),
        exchanges: exchanges.map(|(exchange, number)| Exchange { number, ..exchange.clone() }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use animal_store_rules::catalogue::scope::{Scope, Side};
    use animal_store_rules::catalogue::{Party, catalogue};
    use animal_store_rules::verdict::{self, Status};

    #[test]
    fn the_catalogue_names_every_exchange_by_its_step_and_no_other() {
        let names: Vec<&str> = EXAMPLES.exchanges.iter().map(|exchange| exchange.step.as_str()).collect();
        let named: HashSet<&str> =
            catalogue().requirements.iter().flat_map(|requirement| &requirement.example).map(String::as_str).collect();
        assert_eq!(names.iter().copied().collect::<HashSet<_>>(), named);
        assert_eq!(names.len(), named.len(), "two exchanges have one name");
    }

    #[test]
    fn every_example_breaks_no_rule_and_is_judged_by_its_own() {
        for requirement in &catalogue().requirements {
            let (id, trace) = (&requirement.id, trace(requirement));
            // How a server has to take a key in the wrong place is shown by a client that puts it there.
            let side = match requirement.party {
                Party::Server => Side::Server,
                Party::Client => Side::Both,
            };
            let verdicts = verdict::judge(&trace, &Scope { side, ..Scope::default() });
            for verdict in &verdicts {
                assert!(verdict.failures.is_empty(), "{id} breaks {}: {:?}", verdict.requirement.id, verdict.failures);
            }
            let own = verdicts.iter().find(|verdict| verdict.requirement.id == *id).unwrap();
            match own.status {
                // An order shows in three creations, an example in two lines.
                Status::Observed if id == "list.order" => {}
                Status::Observed => assert_eq!(own.observed.is_some(), !trace.exchanges.is_empty(), "{id}"),
                status => assert_eq!(status, Status::Pass, "{id} is not judged by its example"),
            }
        }
    }
}
