//! HTTP Archives, version 1.2, as browsers, proxies and test tools export them.
//!
//! Exporters leave out different parts of a message. So a part of an entry is known only if the archive shows that it is complete;
//! otherwise it is withheld. Entries that the service did not answer, and entries that cannot be read, are left out and counted.

mod answerer;
mod entry;
mod lenient;
mod marks;
mod message;
mod state;
mod text;
mod url;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Read};
use std::rc::Rc;

use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::worded;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use self::entry::Entry;
use self::state::Recorder;
pub use self::state::withhold_lost;
use self::text::ArchiveText;
use self::url::Target;
use super::{MAX_LINE, Unreadable};

worded! {
    /// The reason why an entry of an archive is left out.
    #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
    #[non_exhaustive]
    pub enum LeftOut {
        /// The request was sent to another host, or to another path of the host.
        Elsewhere = "sent to another address",
        /// A cache answered the request, or the server confirmed that the cache may.
        Cached = "answered from a cache",
        /// A service worker of the page or a mock of the test answered the request.
        Recorder = "answered by a service worker or a mock",
        /// The response was not transferred: a browser had it, or blocked it.
        Untransferred = "not transferred over the network",
        /// The browser itself redirected the request, for example to HTTPS.
        Redirected = "redirected by the browser itself",
        /// A proxy, a balancer or a gateway answered the request.
        Intermediary = "answered by an intermediary",
        /// The entry has the messages of several requests.
        Merged = "with several messages in one entry",
        /// The archive has the entry twice.
        Repeated = "recorded twice",
        /// The address of the request is a template or was redacted.
        Unaddressed = "with a template for an address",
        /// No response was recorded: the request was blocked, cancelled or still under way.
        Unanswered = "without a recorded response",
        /// The entry cannot be read.
        Unreadable = "unreadable",
    }
}

/// A function that reads a file that an archive names. It returns `None` if the file is missing or too long for a body.
pub type Attached<'a> = dyn FnMut(&str) -> Option<Vec<u8>> + 'a;

/// The contents of an archive in figures.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The base URL of the service.
    pub base_url: Option<String>,
    /// The number of entries.
    pub entries: usize,
    /// The number of entries that were left out, by reason.
    pub left_out: BTreeMap<LeftOut, usize>,
    /// The first three entries that cannot be read.
    pub unreadable: Vec<UnreadableEntry>,
    has_log: bool,
}

/// The number of unreadable entries that are named. All are counted.
const MAX_NAMED: usize = 3;

/// An entry that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnreadableEntry {
    /// The index of the entry in `log.entries`, from 0.
    pub index: usize,
    /// The reason, without any text of the entry, which may be a key.
    pub reason: String,
}

impl UnreadableEntry {
    fn new(index: usize, error: &serde_json::Error) -> UnreadableEntry {
        let text = error.to_string();
        // The line and the column are those within the entry.
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
        let reason = match text.split_once(": string ") {
            Some((kind, rest)) => {
                format!("{kind}: a string, expected {}", rest.rsplit(", expected ").next().unwrap_or_default())
            }
            None => text.to_owned(),
        };
        UnreadableEntry { index, reason }
    }
}

/// Reads an archive as a stream. Each exchange with the service is handed to `each` as it was recorded, numbered from 1, with the summary of
/// the archive so far.
///
/// Without a base URL, the service is the one whose `/v1/pets` or `/v1/store/orders` is requested. `attached` reads the bodies that are in
/// files of their own; a body without its file is withheld.
///
/// # Errors
///
/// [`Unreadable`], with the line and the column, once the exchanges before it have been handed on. An entry longer than the longest line of
/// a trace is such an error. Every error of `each` is returned as well.
pub fn read<E: From<Unreadable>>(
    text: impl Read,
    base_url: Option<&str>,
    attached: &mut Attached<'_>,
    mut each: impl FnMut(&Summary, Exchange) -> Result<(), E>,
) -> Result<Summary, E> {
    let mut summary = Summary { base_url: base_url.map(str::to_owned), ..Summary::default() };
    let mut number = 0;
    let mut failed: Option<E> = None;
    let mut recorder = Recorder::default();
    let text = ArchiveText::new(text);
    let left = Rc::clone(&text.left);
    let mut take = |summary: &mut Summary, entry: &RawValue| {
        left.set(MAX_LINE);
        summary.entries += 1;
        let taken = match exchange(summary, base_url.is_some(), entry, attached, &mut recorder) {
            Ok(Ok(mut exchange)) => {
                number += 1;
                exchange.number = number;
                each(summary, exchange)
            }
            Ok(Err(reason)) => {
                *summary.left_out.entry(reason).or_default() += 1;
                Ok(())
            }
            Err(error) => Err(error.into()),
        };
        taken.map_err(|error| failed = Some(error)).is_ok()
    };
    let mut reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, text));
    let archive = Reader { path: &["log", "entries"], take: &mut take, summary: &mut summary };
    let read = archive.deserialize(&mut reader).and_then(|()| reader.end());
    match (failed, read) {
        (Some(error), _) => Err(error),
        (None, Err(error)) if error.is_data() && !summary.has_log => Err(Unreadable::Neither.into()),
        (None, Err(error)) if error.is_io() => Err(Unreadable::Stream(error.into()).into()),
        (None, Err(error)) => Err(Unreadable::json(&error, 1).into()),
        (None, Ok(())) => Ok(summary),
    }
}

/// The exchange of an entry, or the reason why the entry is left out.
fn exchange(
    summary: &mut Summary,
    is_chosen: bool,
    text: &RawValue,
    attached: &mut Attached<'_>,
    recorder: &mut Recorder,
) -> Result<Result<Exchange, LeftOut>, Unreadable> {
    let mut entry = match serde_json::from_str::<Entry>(text.get()) {
        Ok(entry) => entry,
        Err(error) => {
            if summary.unreadable.len() < MAX_NAMED {
                summary.unreadable.push(UnreadableEntry::new(summary.entries - 1, &error));
            }
            return Ok(Err(LeftOut::Unreadable));
        }
    };
    let Some(target) = Target::read(&entry.request.url) else { return Ok(Err(LeftOut::Elsewhere)) };
    let other = answerer::other_than_service(&entry);
    let base_url = match (summary.base_url.clone(), target.service()) {
        (None, None) => return Ok(Err(LeftOut::Elsewhere)),
        // The address that the browser was asked for may be that of no service.
        (_, Some(_)) if other == Some(LeftOut::Redirected) => return Ok(Err(LeftOut::Redirected)),
        (None, Some(found)) => summary.base_url.insert(found).clone(),
        (Some(base_url), Some(found)) if !is_chosen && found != base_url => {
            return Err(Unreadable::Services(base_url, found));
        }
        (Some(base_url), _) => base_url,
    };
    let Some((path, query)) = target.below(&base_url) else { return Ok(Err(LeftOut::Elsewhere)) };
    let exchange = match other {
        Some(reason) => Err(reason),
        None => {
            entry.attach(attached);
            entry::exchange(&entry, path, query)
        }
    };
    Ok(exchange.and_then(|mut exchange| recorder.correct(&entry, &mut exchange).map(|()| exchange)))
}

/// A function that takes an entry and returns whether to go on.
type Take<'t> = dyn FnMut(&mut Summary, &RawValue) -> bool + 't;

/// The reader of an archive, or of a value in it. It holds one entry at a time.
struct Reader<'a, 't> {
    /// The names of the members that lead from the value to the entries.
    path: &'static [&'static str],
    take: &'a mut Take<'t>,
    summary: &'a mut Summary,
}

impl<'de> DeserializeSeed<'de> for Reader<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() { deserializer.deserialize_seq(self) } else { deserializer.deserialize_map(self) }
    }
}

impl<'de> Visitor<'de> for Reader<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an HTTP Archive")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Reader { path, take, summary } = self;
        let mut inner = 0;
        while let Some(name) = map.next_key::<String>()? {
            if name != path[0] {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            inner += 1;
            summary.has_log = true;
            map.next_value_seed(Reader { path: &path[1..], take: &mut *take, summary: &mut *summary })?;
        }
        if inner == 1 {
            Ok(())
        } else {
            Err(A::Error::custom("an HTTP Archive has one member `log`, with one member `entries`"))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(entry) = seq.next_element::<Box<RawValue>>()? {
            if !(self.take)(self.summary, &entry) {
                // The caller that takes entries knows the reason.
                return Err(A::Error::custom("ended"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
