//! List all animals: how many of them.

use serde_json::Value;

use super::list::limit_of;
use super::{Fault, fault};
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
        fault("minimum-exclusive", &["list.limit-minimum"])
            .does("A limit of 1 is refused.")
            .like("greater than one where it should be at least one")
            .turns(200, 400, |request| request.is_list() && request.parameter("limit") == Some("1")),
        fault("one-more", &["list.limit-minimum", "list.limit-honoured"])
            .does("A list has one animal more than the limit.")
            .like("one row more, to know whether there is another page, and never cut off")
            .answered(200, |request, response, server| {
                relist(request, response, server, limit_of(request).unwrap_or(20) + 1);
            }),
        fault("maximum-exclusive", &["list.limit-maximum"])
            .does("A limit of 100 is refused.")
            .like("less than a hundred where it should be at most")
            .turns(200, 400, |request| request.is_list() && request.parameter("limit") == Some("100")),
        fault("no-maximum", &["list.limit-maximum"])
            .does("A limit over 100 is honoured.")
            .like("whatever limit is asked for")
            .stock(150)
            .relists(limit_of),
        fault("wraps-past-the-maximum", &["list.limit-maximum"])
            .does("A limit over 4,294,967,296 is honoured.")
            .like("a limit that is checked after it was cut to 32 bits")
            .stock(150)
            .relists(|request| limit_of(request).filter(|limit| *limit > 1 << 32)),
        fault("a-thousand-at-most", &["list.limit-maximum"])
            .does("A limit of 1,000 is honoured.")
            .like("a check that only very large limits fail")
            .stock(150)
            .relists(|request| limit_of(request).filter(|limit| *limit == 1_000)),
        fault("unusable-is-all", &["list.limit-maximum"])
            .does("A limit that is no number lists all animals.")
            .like("a limit that is read as nothing, where nothing means no limit")
            .on(Plan::Pro)
            .relists(|request| {
                request.parameter("limit").is_some_and(|limit| limit.parse::<i64>().is_err()).then_some(usize::MAX)
            }),
        fault("fifty", &["list.limit-default"])
            .does("A list without a limit has up to 50 animals.")
            .like("the page size that the framework comes with")
            .stock(60)
            .edit(|request, _| {
                if request.is_list() && request.parameter("limit").is_none() {
                    request.set_parameter("limit", Some("50"));
                }
            }),
        fault("ten", &["list.limit-default"])
            .does("A list without a limit has no more than 10 animals.")
            .like("another page size than the one that was agreed")
            .edit(|request, _| {
                if request.is_list() && request.parameter("limit").is_none() {
                    request.set_parameter("limit", Some("10"));
                }
            }),
        fault("no-default", &["list.limit-default"])
            .does("A list without a limit has all animals.")
            .like("no limit unless one is asked for")
            .stock(40)
            .relists(|request| request.parameter("limit").is_none().then_some(usize::MAX)),
        fault("all-by-status", &["list.limit-default"])
            .does("A list by status without a limit has all animals of that status.")
            .like("a default that only one of two queries has")
            .on(Plan::Pro)
            .relists(|request| {
                (request.parameter("status").is_some() && request.parameter("limit").is_none()).then_some(usize::MAX)
            }),
        fault("limit-lost-in-filter", &["list.limit-honoured"])
            .does("A small limit is ignored where a status is given.")
            .like("a second query, for the filter, without the limit")
            .edit(|request, _| {
                if request.is_list()
                    && request.parameter("status").is_some()
                    && limit_of(request).is_some_and(|l| l < 20)
                {
                    request.set_parameter("limit", None);
                }
            }),
        fault("pages-of-ten", &["list.limit-honoured"])
            .does("A limit is rounded up to the next ten.")
            .like("limits rounded up to whole pages")
            .edit(|request, _| {
                if let Some(limit @ 1..=100) = request.number_of("limit").filter(|_| request.is_list()) {
                    request.set_parameter("limit", Some(&((limit + 9) / 10 * 10).to_string()));
                }
            }),
    ]
}
