//! `GET /pets/{petId}` after its removal.

use crate::facts::Facts;
use crate::history::Era;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] = &[Rule::new("client.removed-operation", removed_operation).needing(Needs::HEADERS)];

fn removed_operation(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // Before the day of removal, 410 is about the animal that was asked for.
    let gone = history.gets().map(|(entry, _)| entry);
    let Some(gone) = gone.filter(|entry| entry.status() == Some(410)).find(|entry| history.era(entry) != Era::Before)
    else {
        return;
    };
    match history.gets().map(|(entry, _)| entry).find(|entry| gone.precedes(entry)) {
        Some(entry) => judgement.fail(
            &[entry, gone],
            "no GET /pets/{petId} after a 410 on or after 5 December 2030",
            "the operation was called again".to_owned(),
        ),
        None => judgement.hold(),
    }
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    fn called_again(date: &str, status: u16) -> Vec<&'static str> {
        let gone = TraceBuilder::at(date).fetch(7, status, String::new());
        gone.wait(60).fetch(8, status, String::new()).client_broken()
    }

    #[test]
    fn the_operation_is_left_alone_once_it_is_gone() {
        assert_eq!(called_again("2031-01-01T00:00:00Z", 410), ["client.removed-operation"]);
        assert_eq!(called_again("2026-06-01T00:00:00Z", 410), [""; 0], "until then 410 is about an animal");
        assert_eq!(called_again("2031-01-01T00:00:00Z", 404), [""; 0], "404 does not say that the operation is gone");
    }
}
