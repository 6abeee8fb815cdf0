//! Identifiers are int64: a client that keeps them in a double or in 32 bits asks for animals that no response has shown.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::history::Entry;
use crate::request::PetId;
use crate::rules::needs::Needs;
use crate::rules::{Judgement, Rule};

pub(crate) const RULES: &[Rule] = &[Rule::new("client.exact-ids", exact_ids).needing(Needs::CONVERSATION)];

fn exact_ids(&Facts { history, .. }: &Facts<'_>, judgement: &mut Judgement) {
    // What each shown id that does not survive becomes, with the entry that showed it first.
    let mut altered: BTreeMap<i64, (i64, &'static str, &Entry<'_>)> = BTreeMap::new();
    for shown in history.ids() {
        let Some((first, _)) = history.shown(shown).next() else { continue };
        for (other, how) in alterations(shown) {
            altered.entry(other).or_insert((shown, how, first));
        }
    }
    for (entry, id) in history.gets() {
        let PetId::Int64(id) = id else { continue };
        if history.is_shown(id) {
            // Whoever asks for an id that would have been altered has kept it.
            if !alterations(id).is_empty() {
                judgement.hold();
            }
            continue;
        }
        let Some(&(shown, how, source)) = altered.get(&id) else { continue };
        // An animal that exists may be known from elsewhere.
        if source.precedes(entry) && entry.status() == Some(404) {
            judgement.fail(
                &[entry, source],
                format!("the id {shown} as it was received"),
                format!("GET /pets/{id}: the same id {how}"),
            );
        }
    }
}

/// What becomes of an id in a client that cannot hold it; empty if every client can.
fn alterations(id: i64) -> Vec<(i64, &'static str)> {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "this is what such a client does")]
    let double = id as f64 as i64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "this is what such a client does")]
    let (signed, unsigned) = (i64::from(id as i32), i64::from(id as u32));
    [(double, "rounded to a double"), (signed, "cut to 32 bits"), (unsigned, "cut to 32 bits")]
        .into_iter()
        // A small number that is left over may be an id from elsewhere.
        .filter(|(altered, _)| *altered != id && altered.unsigned_abs() > u64::from(u16::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::trace_builder::TraceBuilder;

    const BIG: i64 = 9_007_199_254_740_993;

    fn fetched(shown: i64, fetched: i64) -> Vec<&'static str> {
        TraceBuilder::new().create(shown).get(fetched, None).client_broken()
    }

    #[test]
    fn an_id_that_lost_digits_on_the_way_is_noticed() {
        assert_eq!(fetched(BIG, BIG - 1), ["client.exact-ids"]);
        assert_eq!(fetched(0x1_2345_6789, 0x2345_6789), ["client.exact-ids"]);
        assert_eq!(fetched(BIG, BIG), [""; 0]);
        assert_eq!(TraceBuilder::new().create(BIG).get(BIG, Some("sold")).client_judged("client.exact-ids"), 1);
    }

    #[test]
    fn an_id_from_elsewhere_is_not_taken_for_an_altered_one() {
        assert_eq!(fetched(BIG, 4711), [""; 0]);
        assert_eq!(fetched((1 << 32) + 5, 5), [""; 0], "a small id may come from anywhere");
        let exists = TraceBuilder::new().create(BIG).get(BIG - 1, Some("sold"));
        assert_eq!(exists.client_broken(), [""; 0]);
    }
}
