//! The API key belongs in the `Authorization` header field.

use super::{Clients, Memory, described};
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[Rule::of_clients("client.key-in-header", key_in_header)];

fn key_in_header(clients: &Clients<'_>, _: &mut Memory, judgement: &mut Judgement) {
    let mut is_hidden = false;
    for (entry, sender) in clients.exchanges() {
        let known = &entry.exchange.known;
        match known.misplaced_key {
            Some(place) => judgement.fail(
                &[entry],
                "the API key after Bearer in the Authorization header only",
                sentence!("an API key in {} of {}", place.as_str(), described(entry)),
            ),
            None if sender.key.is_some() && !known.withheld.contains(Fact::RequestBody) => judgement.hold(),
            None => is_hidden |= known.withheld.contains(Fact::Credential) && sender.key.is_none(),
        }
    }
    if judgement.judged == 0 {
        judgement.withheld = is_hidden.then(|| "the recording withholds the API keys".to_owned());
        judgement.unseen = (!is_hidden).then(|| "the clients sent no API key".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Request;
    use crate::trace::knowledge::KeyPlace;

    fn asked(request: Request) -> TraceBuilder {
        TraceBuilder::new().ask(request, 200, "[]".to_owned())
    }

    #[test]
    fn a_key_in_the_query_is_in_the_wrong_place_though_the_recording_only_mentions_it() {
        let redacted = asked(Request::new("GET", "/pets").query("a=omitted"))
            .change_last(|exchange| exchange.known.misplaced_key = Some(KeyPlace::Query));
        assert_eq!(redacted.client_broken(), ["client.key-in-header"]);
        let header = asked(Request::new("GET", "/pets").query("limit=5"));
        assert_eq!(header.client_judged("client.key-in-header"), 1);
    }
}
