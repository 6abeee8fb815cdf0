//! The animals of a run: their names and ids.

use super::Session;
use animal_store_rules::request::{MODEST_NAME, is_plain_name};
use animal_store_rules::trace::exchange::Exchange;
use animal_store_rules::trace::json::Json;

impl Session<'_> {
    /// A new plain name: one short word of letters, which any name constraint accepts.
    pub fn fresh_name(&mut self) -> String {
        self.names += 1;
        format!("{}{}", self.nonce, in_letters(self.names as u64, MODEST_NAME - NONCE))
    }

    /// The ids in the responses to creations.
    #[must_use]
    pub fn known_ids(&self) -> Vec<i64> {
        self.trace.exchanges.iter().filter_map(created_id).collect()
    }

    /// The body of the first creation with a plain name, in the category of the options.
    #[must_use]
    pub fn first_plain_creation(&self) -> Option<Vec<u8>> {
        let created = self.trace.exchanges.iter().filter(|exchange| created_id(exchange).is_some());
        created.filter_map(|exchange| exchange.request.body.as_ref()).find_map(|body| {
            let sent = Json::parse(&body.bytes).ok().filter(|_| body.content_type == "application/json")?;
            let Json::Object(members) = &sent else { return None };
            let is_known =
                members.iter().all(|(member, _)| ["name", "categoryId", "status"].contains(&member.as_str()));
            let is_usable = is_known && sent.get("categoryId")?.as_int64()? == self.trace.context.category_id;
            (is_usable && is_plain_name(sent.get("name")?.as_str()?)).then(|| body.bytes.clone())
        })
    }

    /// The id of the first animal that was created with this status.
    #[must_use]
    pub fn created_as(&self, status: &str) -> Option<i64> {
        let named = |exchange: &&Exchange| {
            let response = exchange.response().filter(|response| response.status == 201)?;
            let pet = Json::parse(&response.body).ok()?;
            (pet.get("status")?.as_str()? == status).then_some(())
        };
        self.trace.exchanges.iter().find(|exchange| named(exchange).is_some()).and_then(created_id)
    }

    /// The id of the first animal that was created without a status.
    #[must_use]
    pub fn created_without_status(&self) -> Option<i64> {
        let has_none = |exchange: &&Exchange| {
            let body = exchange.request.body.as_ref().and_then(|body| Json::parse(&body.bytes).ok());
            body.is_some_and(|body| body.get("status").is_none())
        };
        self.trace.exchanges.iter().filter(has_none).find_map(created_id)
    }

    /// The id of the first animal whose creation has this text in its body.
    #[must_use]
    pub fn created_with(&self, text: &str) -> Option<i64> {
        let has = |exchange: &&Exchange| {
            let body = exchange.request.body.as_ref().map_or(&[][..], |body| &body.bytes);
            body.windows(text.len()).any(|part| part == text.as_bytes())
        };
        self.trace.exchanges.iter().filter(has).find_map(created_id)
    }
}

/// The letters that the names of one run begin with.
const NONCE: usize = 7;

/// The beginning of the names of the run that starts at this time.
pub(super) fn nonce(milliseconds: u64) -> String {
    let mut letters = in_letters(milliseconds, NONCE);
    letters[..1].make_ascii_uppercase();
    letters
}

/// The last digits of a number, in letters.
fn in_letters(mut number: u64, digits: usize) -> String {
    let mut letters = Vec::with_capacity(digits);
    for _ in 0..digits {
        letters.push(b"abcdefghijklmnopqrstuvwxyz"[(number % 26) as usize]);
        number /= 26;
    }
    letters.iter().rev().copied().map(char::from).collect()
}

/// The id in the response to a creation.
#[must_use]
pub fn created_id(exchange: &Exchange) -> Option<i64> {
    let response = exchange.response().filter(|response| response.status == 201)?;
    Json::parse(&response.body).ok()?.get("id")?.as_int64()
}
