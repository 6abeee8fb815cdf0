//! The choices and faults of a server of the laboratory, chosen by name or by a seed.

use std::fmt;

use clap::Args;

use super::choices::{Choice, Drawn, Maker, choices, lawful, variation};
use super::faults::{Fault, every};
use super::{Layer, Setting, Variation};
use crate::rate::Draw;

/// The requested choices and faults: options of the program.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Wish {
    /// Make every lawful choice that is not made by name by this seed
    #[arg(long, value_name = "SEED", help_heading = "Laboratory")]
    pub(crate) lawful: Option<u64>,

    /// Make one lawful choice, as `animal-lab choices` lists them; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Laboratory")]
    pub(crate) choose: Vec<String>,

    /// Break one thing, as `animal-lab faults` lists them; repeatable. With a rate, such as `@0.1` or `@10%`, it shows in this share of
    /// the requests, which depend on the seed of --lawful (0 without it)
    #[arg(long, value_name = "NAME[@RATE]", help_heading = "Laboratory")]
    pub(crate) fault: Vec<String>,
}

/// Choices and faults that one server can have together.
#[derive(Clone, Default)]
pub(crate) struct Vector {
    /// The choices, at most one on each axis.
    pub(crate) choices: Vec<Choice>,
    /// The faults.
    pub(crate) faults: Vec<Fault>,
    /// The seed that draws the requests of faults with a rate.
    pub(crate) seed: u64,
}

/// The subjects that only one part of a server can decide, each with the decision of a setting. Only the last one leaves room for a fault
/// with a rate, and the reference starts with those between the first and the last.
fn decisions(setting: &Setting) -> [(&'static str, Option<String>); 5] {
    [
        ("how requests are counted", setting.counts_in_layer.then(String::new)),
        ("where the API lives", setting.base_path.map(str::to_owned)),
        ("when the clock starts", setting.start_at.map(str::to_owned)),
        ("when keys are banned", setting.ban.map(|ban| format!("{ban:?}"))),
        ("which animals there are at the start", (setting.stock > 0).then(String::new)),
    ]
}

impl Vector {
    /// Builds a server from the requested choices and faults. A choice given by name overrides the choice made by the seed.
    ///
    /// # Errors
    ///
    /// A sentence when a name is unknown, a rate is impossible, or two requested choices or faults exclude each other.
    pub(crate) fn new(wish: &Wish) -> Result<Vector, String> {
        let known = every();
        let mut vector = Vector { seed: wish.lawful.unwrap_or_default(), ..Vector::default() };
        for wanted in &wish.fault {
            let (name, rate) = match wanted.split_once('@') {
                Some((name, rate)) => (name, Some(rate.parse()?)),
                None => (wanted.as_str(), None),
            };
            let fault = known.iter().find(|fault| fault.name == *name);
            let fault = fault.ok_or_else(|| unknown("fault", name, known.iter().map(|fault| fault.name.clone())))?;
            if rate.is_some()
                && let Some((about, _)) =
                    decisions(&fault.variation().setting)[..4].iter().find(|(_, decision)| decision.is_some())
            {
                return Err(format!("`{name}` can have no rate: it decides {about} for all requests"));
            }
            let mut fault = fault.clone();
            fault.rate = rate;
            vector.add_fault(fault)?;
        }
        for name in &wish.choose {
            let known = choices();
            let choice = known.iter().find(|choice| choice.name() == *name).cloned();
            vector.add_choice(choice.ok_or_else(|| unknown("choice", name, known.iter().map(Choice::name)))?)?;
        }
        for choice in wish.lawful.map(|seed| lawful(seed, Drawn::Choices)).unwrap_or_default() {
            // A choice that was given by name stays.
            let _gives_way = vector.add_choice(choice);
        }
        Ok(vector)
    }

    fn add_fault(&mut self, fault: Fault) -> Result<(), String> {
        if self.faults.iter().any(|other| other.name == fault.name) {
            return Ok(());
        }
        self.check(&fault.name, &fault.variation().setting)?;
        self.faults.push(fault);
        Ok(())
    }

    fn add_choice(&mut self, choice: Choice) -> Result<(), String> {
        if let Some(other) = self.choices.iter().find(|other| other.axis() == choice.axis()) {
            if other.name() == choice.name() {
                return Ok(());
            }
            return Err(contradiction(&other.name(), &choice.name(), choice.requirement()));
        }
        self.check(&choice.name(), &variation(std::slice::from_ref(&choice)).setting)?;
        self.choices.push(choice);
        Ok(())
    }

    /// Refuses a fault or a choice whose setting decides the same subject as a fault.
    fn check(&self, name: &str, setting: &Setting) -> Result<(), String> {
        for fault in &self.faults {
            let decided = decisions(&fault.variation().setting).into_iter().zip(decisions(setting));
            for ((about, one), (_, other)) in decided {
                if one.is_some() && other.is_some() {
                    return Err(contradiction(&fault.name, name, about));
                }
            }
        }
        Ok(())
    }

    /// Returns the subject of a start setting of the reference in which another server differs.
    pub(crate) fn set_up_differs(&self, other: &Vector) -> Option<&'static str> {
        let both = decisions(&self.variation().setting).into_iter().zip(decisions(&other.variation().setting));
        both.skip(1).take(3).find(|(one, other)| one != other).map(|((about, _), _)| about)
    }

    /// The choices that the plain reference does not make.
    pub(crate) fn differing(&self) -> impl Iterator<Item = &Choice> {
        self.choices.iter().filter(|choice| choice.maker != Maker::Reference)
    }

    /// The variation of the server: faults stand around choices, and intermediaries around all.
    pub(crate) fn variation(&self) -> Variation {
        let lawful = variation(&self.choices);
        let mut whole = Variation { setting: lawful.setting, layers: Vec::new() };
        for (number, fault) in self.faults.iter().enumerate() {
            let Variation { setting, layers } = fault.variation();
            let draw = fault.rate.map(|rate| Draw::new(rate, self.seed, &fault.name));
            // Choices have the numbers before.
            let owner = self.choices.len() + 1 + number;
            whole.layers.extend(layers.into_iter().map(|layer| Layer { draw: draw.clone(), owner, ..layer }));
            whole.setting.add(&setting);
        }
        whole.layers.extend(lawful.layers);
        whole.layers.sort_by_key(|layer| !layer.outermost);
        whole
    }
}

impl fmt::Display for Vector {
    /// A line for each choice that differs from the reference, and for each fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for choice in self.differing() {
            writeln!(f, "choice {}: {}", choice.name(), choice.does)?;
        }
        for fault in &self.faults {
            let rate = fault.rate.map(|rate| format!(" at a rate of {rate}")).unwrap_or_default();
            writeln!(f, "fault {}{rate}: {}", fault.name, fault.does)?;
        }
        Ok(())
    }
}

fn contradiction(first: &str, second: &str, about: &str) -> String {
    format!("`{first}` and `{second}` exclude each other: both decide {about}")
}

/// The error for a name that does not exist, with the most similar one that does, if any is similar enough.
fn unknown(kind: &str, name: &str, names: impl Iterator<Item = String>) -> String {
    let scored = names.map(|known| (strsim::jaro_winkler(name, &known), known)).filter(|(score, _)| *score > 0.8);
    let nearest = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let similar = nearest.map(|(_, name)| format!(", but there is `{name}`")).unwrap_or_default();
    format!("there is no {kind} `{name}`{similar}: `animal-lab {kind}s` lists all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(lawful: Option<u64>, choose: &[&str], fault: &[&str]) -> Result<Vector, String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Vector::new(&Wish { lawful, choose: owned(choose), fault: owned(fault) })
    }

    fn message(choose: &[&str], fault: &[&str]) -> String {
        vector(None, choose, fault).map(|_| ()).expect_err("it is refused")
    }

    #[test]
    fn contradictions_name_both() {
        assert_eq!(
            message(&["list.order.random", "list.order.oldest-first"], &[]),
            "`list.order.random` and `list.order.oldest-first` exclude each other: both decide list.order"
        );
        assert_eq!(
            message(&["quota.ban.two-minutes"], &["quota.not-exceeded.one-late"]),
            "`quota.not-exceeded.one-late` and `quota.ban.two-minutes` exclude each other: both decide how requests are counted"
        );
        assert_eq!(
            message(&[], &["versioning.path.second-version", "versioning.path.no-version"]),
            "`versioning.path.second-version` and `versioning.path.no-version` exclude each other: both decide where the \
             API lives"
        );
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_one_that_is_most_like_it() {
        assert_eq!(
            message(&["list.order.newest"], &[]),
            "there is no choice `list.order.newest`, but there is `list.order.newest-first`: `animal-lab choices` lists all"
        );
        assert_eq!(message(&[], &["?"]), "there is no fault `?`: `animal-lab faults` lists all");
    }

    #[test]
    fn what_a_seed_chooses_gives_way_to_what_is_asked_for_by_name() {
        for seed in 0..20 {
            let chosen =
                vector(Some(seed), &["list.order.by-name"], &["quota.not-exceeded.one-late"]).expect("a vector");
            let names: Vec<String> = chosen.choices.iter().map(Choice::name).collect();
            assert!(names.iter().any(|name| name == "list.order.by-name"));
            assert_eq!(names.iter().filter(|name| name.starts_with("list.order.")).count(), 1);
            assert_eq!(chosen.faults.len(), 1);
            assert!(
                chosen.choices.iter().all(|choice| !variation(std::slice::from_ref(choice)).setting.counts_in_layer)
            );
        }
    }

    #[test]
    fn a_fault_has_a_rate_unless_it_decides_something_for_all_requests() {
        let with_rate = vector(Some(7), &[], &["list.limit-default.fifty@10%"]).expect("a vector");
        assert!(with_rate.to_string().contains("fifty at a rate of 0.1: "), "{with_rate}");
        assert_eq!(
            message(&[], &["quota.not-exceeded.one-late@0.5"]),
            "`quota.not-exceeded.one-late` can have no rate: it decides how requests are counted for all requests"
        );
        assert!(message(&[], &["list.limit-default.fifty@2"]).contains("`2` is not a rate"));
        assert!(message(&[], &["list.limit-default.fifti@0.5"]).contains("`list.limit-default.fifty`"));
    }

    #[test]
    fn what_stands_between_client_and_server_stands_around_all_else() {
        let chosen = vector(
            Some(7),
            &["service.json.gzip-in-spite-of-identity", "list.order.random"],
            &["list.limit-default.fifty"],
        );
        let layers = chosen.expect("a vector").variation().layers;
        let outermost: Vec<bool> = layers.iter().map(|layer| layer.outermost).collect();
        assert!(outermost.len() > 2 && outermost[0] && !outermost[1..].contains(&true), "{outermost:?}");
        for seed in 0..50 {
            let chosen = vector(Some(seed), &[], &[]).expect("a vector");
            assert!(chosen.choices.iter().all(|choice| choice.maker != Maker::Intermediary), "seed {seed}");
        }
    }

    #[test]
    fn the_same_name_twice_is_once() {
        let twice = vector(None, &["list.order.random"; 2], &["list.limit-default.fifty"; 2]).expect("a vector");
        assert_eq!((twice.choices.len(), twice.faults.len()), (1, 1));
        assert_eq!(twice.differing().count(), 1);
        let plain = vector(None, &["list.order.newest-first"], &[]).expect("a vector");
        assert_eq!(plain.differing().count(), 0);
    }
}
