//! List all animals: how many of them.

use serde_json::Value;

use super::list::limit_of;
use super::{Builds, Fault, fault};
use crate::{Request, Response, ServerState};
use animal_store_reference::Plan;

/// Lists this number of the stored animals, newest first, filtered as requested.
fn relist(request: &Request, response: &mut Response, server: &ServerState, limit: usize) {
    if request.is_list() && matches!(response.status, 200 | 400) {
        let wanted = request.parameter("status");
        let matches = |pet: &Value| wanted.is_none_or(|status| pet["status"] == status);
        let pets: Vec<Value> = server.newest().into_iter().filter(matches).take(limit).collect();
        response.become_json(200, pets);
    }
}

impl Fault {
    /// Gives lists another limit, if the function returns one.
    fn relists(self, limit: impl Fn(&Request) -> Option<usize> + Send + Sync + 'static) -> Fault {
        self.after(move |request, response, server| {
            if let Some(limit) = limit(request) {
                relist(request, response, server, limit);
            }
        })
    }
}

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault("list.limit-minimum.minimum-exclusive", "A limit of 1 is refused.")
            .turns(200, 400, |request| request.lists_with("limit", "1")),
        fault("list.limit-minimum.one-more", "A list has one animal more than the limit.")
            .also(&["list.limit-honoured"])
            .answered(200, |request, response, server| {
                relist(request, response, server, limit_of(request).unwrap_or(20) + 1);
            }),
        fault("list.limit-maximum.maximum-exclusive", "A limit of 100 is refused.")
            .turns(200, 400, |request| request.lists_with("limit", "100")),
        fault("list.limit-maximum.no-maximum", "A limit over 100 is honoured.")
            .sets(|setting| setting.stock = 150)
            .relists(limit_of),
        fault("list.limit-maximum.wraps-past-the-maximum", "A limit over 4,294,967,296 is honoured.")
            .sets(|setting| setting.stock = 150)
            .relists(|request| limit_of(request).filter(|limit| *limit > 1 << 32)),
        fault("list.limit-maximum.a-thousand-at-most", "A limit of 1,000 is honoured.")
            .sets(|setting| setting.stock = 150)
            .relists(|request| limit_of(request).filter(|limit| *limit == 1_000)),
        fault("list.limit-maximum.unusable-is-all", "A limit that is no number lists all animals.")
            .on(Plan::Pro)
            .relists(|request| {
                request.parameter("limit").is_some_and(|limit| limit.parse::<i64>().is_err()).then_some(usize::MAX)
            }),
        fault("list.limit-default.fifty", "A list without a limit has up to 50 animals.")
            .sets(|setting| setting.stock = 60)
            .asks_for("limit", |request| request.lists_without("limit").then(|| Some("50".to_owned()))),
        fault("list.limit-default.ten", "A list without a limit has no more than 10 animals.")
            .asks_for("limit", |request| request.lists_without("limit").then(|| Some("10".to_owned()))),
        fault("list.limit-default.no-default", "A list without a limit has all animals.")
            .sets(|setting| setting.stock = 40)
            .relists(|request| request.parameter("limit").is_none().then_some(usize::MAX)),
        fault("list.limit-default.all-by-status", "A list by status without a limit has all animals of that status.")
            .on(Plan::Pro)
            .relists(|request| (request.lists_by_status() && request.lists_without("limit")).then_some(usize::MAX)),
        fault("list.limit-honoured.limit-lost-in-filter", "A small limit is ignored where a status is given.")
            .asks_for("limit", |request| (request.lists_by_status() && limit_of(request)? < 20).then_some(None)),
        fault("list.limit-honoured.pages-of-ten", "A limit is rounded up to tens.").asks_for("limit", |request| {
            let limit = limit_of(request).filter(|limit| request.is_list() && (1..=100).contains(limit))?;
            Some(Some((limit.div_ceil(10) * 10).to_string()))
        }),
    ]
}
