//! Identifiers are int64: a client that keeps them in a double or in 32 bits asks for animals that no response has shown.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;

use super::knowing::Sender;
use super::{Clients, Memory, described};
use crate::history::Animal;
use crate::request::{Operation, PetId};
use crate::rules::{Judgement, Rule};
use crate::sentence::sentence;
use crate::trace::json::Json;
use crate::trace::knowledge::Fact;

pub(crate) const RULES: &[Rule] = &[Rule::of_clients("client.exact-ids", exact_ids)];

/// The largest number of identifiers that are remembered for each key.
const MAX_IDS: usize = 100_000;

/// The largest number that may be an identifier from elsewhere, such as the 999 of a test for animals that do not exist. Such a
/// number counts only if it is left of an identifier that a creation returned.
const SMALL: u64 = u16::MAX as u64;

const ROUNDED: &str = "rounded to a double";

const SEPARATED: &str = "with separators between its digits";

/// The largest number that tests for animals that do not exist ask for even after a creation.
const TINY: u64 = 3;

/// The identifiers that one client knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// The identifiers, with the response that showed each first and whether that was a creation.
    sources: HashMap<i64, (Sender, bool)>,
    /// The forms of the identifiers in clients that cannot hold them.
    altered: HashMap<i64, Altered>,
    /// The identifiers by the bits of their double.
    doubles: HashMap<u64, Altered>,
    /// The ways of losing digits that the client does not have: it asked for an identifier that would have lost digits so.
    kept: HashSet<&'static str>,
}

/// An identifier, and the way in which a client loses digits of it.
#[derive(Clone, Copy, Debug)]
struct Altered {
    id: i64,
    how: &'static str,
}

fn exact_ids(clients: &Clients<'_>, memory: &mut Memory, judgement: &mut Judgement) {
    for (entry, sender) in clients.exchanges() {
        let shown = memory.identifiers.entry(sender.key).or_default();
        if let Operation::Get(id) = entry.operation {
            let text = entry.exchange.request.path.strip_prefix("/pets/").unwrap_or_default();
            let text = percent_decode_str(text).decode_utf8_lossy();
            match shown.taken_for(id, &text).or_else(|| shown.separated(&text)) {
                None if shown.keeps(id) => judgement.hold(),
                // An animal that exists may be known from elsewhere.
                Some(altered) if matches!(entry.status(), Some(400 | 404 | 422)) => {
                    let (source, is_created) = &shown.sources[&altered.id];
                    if !source.gap_to(sender).is_negative() && shown.shows_lost_digits(id, &altered, *is_created) {
                        judgement.fail(
                            &clients.evidence(entry, &[source]),
                            sentence!("the id {} as it was received", altered.id),
                            sentence!(
                                "GET /pets/{}: the same id {}; {}",
                                text.into_owned(),
                                altered.how,
                                described(entry)
                            ),
                        );
                    }
                }
                _ => {}
            }
        }
        if entry.exchange.known.withheld.contains(Fact::ResponseBody) {
            continue;
        }
        let is_created = matches!(entry.operation, Operation::Create(_));
        for id in entry.animals().into_iter().filter_map(Animal::id) {
            shown.learn(id, *sender, is_created);
        }
    }
}

impl Shown {
    fn learn(&mut self, id: i64, source: Sender, is_created: bool) {
        if self.sources.len() >= MAX_IDS || self.sources.contains_key(&id) {
            return;
        }
        self.sources.insert(id, (source, is_created));
        for (other, how) in alterations(id) {
            self.altered.entry(other).or_insert(Altered { id, how });
        }
        let how = "written as a floating-point number";
        // With as many digits as programs print: 14 and 15 for most, 6 for %g of C.
        let shorter = [13, 14, 5].map(|digits| format!("{:.digits$e}", double(id)).parse().unwrap_or_default());
        for number in std::iter::once(double(id)).chain(shorter) {
            self.doubles.entry(number.to_bits()).or_insert(Altered { id, how });
        }
    }

    /// Returns true if a client asks for a known identifier that a double or 32 bits cannot hold, so that it kept the digits.
    fn keeps(&mut self, id: PetId) -> bool {
        let PetId::Int64(id) = id else { return false };
        let is_known = self.sources.contains_key(&id);
        let lost: Vec<&'static str> = alterations(id).into_iter().filter(|_| is_known).map(|(_, how)| how).collect();
        let is_kept = !lost.is_empty();
        self.kept.extend(lost);
        is_kept
    }

    /// The known identifier that a client asked for with lost digits, if the requested one is not known itself.
    fn taken_for(&self, id: PetId, text: &str) -> Option<Altered> {
        match id {
            PetId::Int64(id) if self.sources.contains_key(&id) => None,
            PetId::Int64(id) => self.altered.get(&id).copied(),
            // Beyond int64, or with a fraction or an exponent.
            PetId::NotInt64 | PetId::Ambiguous | PetId::Queried => {
                let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
                let number = text.parse::<f64>().ok().filter(|_| is_number)?;
                let is_other_form = text.contains(['.', 'e', 'E']) || number.abs() >= double(i64::MAX);
                self.doubles.get(&number.to_bits()).copied().filter(|_| is_other_form)
            }
        }
    }

    /// The known identifier that a client asked for with separators between its digits, such as `1,234`.
    fn separated(&self, text: &str) -> Option<Altered> {
        let separator = text.chars().find(|c| !c.is_ascii_digit() && *c != '-')?;
        let mut groups = text.trim_start_matches('-').split(separator);
        let is_grouped = groups.next().is_some_and(|first| matches!(first.len(), 1..=3))
            && groups.all(|group| group.len() == 3)
            && text.chars().all(|c| c == separator || c == '-' || c.is_ascii_digit());
        let id: i64 = text.replace(separator, "").parse().ok().filter(|_| is_grouped)?;
        self.sources.contains_key(&id).then_some(Altered { id, how: SEPARATED })
    }

    /// Returns true if the request shows that digits were lost, rather than an identifier from elsewhere.
    fn shows_lost_digits(&self, asked: PetId, altered: &Altered, is_created: bool) -> bool {
        match asked {
            _ if altered.how == SEPARATED => true,
            _ if self.kept.contains(altered.how) => false,
            PetId::Int64(id) => id.unsigned_abs() > if is_created { TINY } else { SMALL },
            _ => altered.id.unsigned_abs() > SMALL,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "this is what such a client does")]
fn double(id: i64) -> f64 {
    id as f64
}

/// The forms of an id in clients that cannot hold it, with the way in which it was altered; empty if every client can hold it.
fn alterations(id: i64) -> Vec<(i64, &'static str)> {
    let rounded = double(id);
    #[expect(clippy::cast_possible_truncation, reason = "this is what such a client does")]
    let exact = rounded as i64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "this is what such a client does")]
    let cut = [i64::from(id as i32), i64::from(id as u32), i64::from(exact as i32), i64::from(exact as u32)];
    let printed =
        [format!("{rounded:e}"), format!("{rounded:.16e}"), format!("{rounded:.14e}"), format!("{rounded:.13e}")];
    // JavaScript and jq print the digits that distinguish a double, and zeros after them.
    let printed = printed.iter().filter_map(|text| Json::parse(text.as_bytes()).ok()?.as_int64());
    let rounded = std::iter::once(exact).chain(printed).map(|id| (id, ROUNDED));
    let cut = cut.map(|id| (id, "cut to 32 bits"));
    rounded.chain(cut).filter(|(altered, _)| *altered != id).collect()
}

#[cfg(test)]
mod tests {
    use crate::tests::TraceBuilder;
    use crate::trace::exchange::Request;

    const BIG: i64 = 9_007_199_254_740_993;

    fn asked(builder: TraceBuilder, text: &str) -> TraceBuilder {
        builder.ask(Request::new("GET", format!("/pets/{text}")), 404, String::new())
    }

    fn fetched(shown: i64, text: &str) -> Vec<&'static str> {
        asked(TraceBuilder::new().create(shown).wait_millis(1), text).client_broken()
    }

    #[test]
    fn an_id_that_lost_digits_on_the_way_is_noticed() {
        for (shown, text) in [
            (BIG, "9007199254740992"),
            (BIG, "9007199254740992.0"),
            (BIG, "9.007199254740992e+15"),
            (0x1_2345_6789, "591751049"),
            (i64::MAX, "9223372036854776000"),
            (i64::MAX, "9223372036854775808"),
            (i64::MAX, "9.2233720368547758E18"),
            (1_234_567_890_123_456_789, "1234567890123456800"),
            (1_234_567_890_123_456_789, "1234567890123456768"),
            (1_234_567_890_123_456_789, "1.2345678901234568e+18"),
            (1_234_567_890_123_456_789, "1.2345678901234568e%2B18"),
            (-1_234_567_890_123_456_789, "-1234567890123456800"),
            (70_001, "70001.0"),
            (1_234_567_890_123_456_789, "1.23456789012346e+18"),
            (1_234_567_890_123_456_789, "1.2345678901235E+18"),
            (1_234_567_890_123_456_789, "1234567890123460000"),
            (1_234_567_890_123_456_789, "1.23457e+18"),
            (70_001_234, "7.00012e+07"),
            (70_001, "70,001"),
            (70_001, "70%E2%80%AF001"),
            (1_234_567, "1.234.567"),
            (BIG, "9_007_199_254_740_993"),
        ] {
            assert_eq!(fetched(shown, text), ["client.exact-ids"], "{shown} as {text}");
        }
        assert_eq!(fetched(BIG, "9007199254740993"), [""; 0]);
        assert_eq!(TraceBuilder::new().create(BIG).get(BIG, Some("sold")).client_judged("client.exact-ids"), 1);
    }

    #[test]
    fn a_client_that_kept_an_id_exactly_asks_for_its_neighbour_in_a_test() {
        let kept = TraceBuilder::new().create(BIG).get(BIG, Some("sold")).wait_millis(1);
        assert_eq!(asked(kept, &(BIG - 1).to_string()).client_broken(), [""; 0]);
        let long = (1 << 32) + 76;
        let kept_in_a_double = TraceBuilder::new().create(BIG).create(long).get(long, Some("sold")).wait_millis(1);
        assert_eq!(asked(kept_in_a_double, &(BIG - 1).to_string()).client_broken(), ["client.exact-ids"]);
    }

    #[test]
    fn what_is_left_of_32_bits_may_be_small() {
        assert_eq!(fetched((1 << 32) + 17, "17"), ["client.exact-ids"]);
        assert_eq!(fetched((1 << 32) + 1, "1"), [""; 0], "a test for an animal that does not exist");
    }

    #[test]
    fn an_id_from_elsewhere_is_not_taken_for_an_altered_one() {
        assert_eq!(fetched(BIG, "4711"), [""; 0]);
        for text in ["1.5", "7.0", "1e3", "nan", "inf", "+7", "007", "9223372036854775808"] {
            assert_eq!(fetched(7, text), [""; 0], "{text}, as tests ask for");
        }
        let exists = TraceBuilder::new().create(BIG).get(BIG - 1, Some("sold"));
        assert_eq!(exists.client_broken(), [""; 0]);
    }
}
