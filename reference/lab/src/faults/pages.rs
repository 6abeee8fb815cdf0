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

pub(super) fn faults() -> Vec<Fault> {
    vec![
        fault(
            "minimum-exclusive",
            "A limit of 1 is refused.",
            &["list.limit-minimum"],
            "greater than one where it should be at least one",
        )
        .after(|request, response, _| {
            if response.status == 200 && request.is_list() && request.parameter("limit") == Some("1") {
                response.refuse(400);
            }
        }),
        fault(
            "one-more",
            "A list has one animal more than the limit.",
            &["list.limit-minimum", "list.limit-honoured"],
            "one row more, to know whether there is another page, and never cut off",
        )
        .after(|request, response, server| {
            if response.status == 200 {
                relist(request, response, server, limit_of(request).unwrap_or(20) + 1);
            }
        }),
        fault(
            "maximum-exclusive",
            "A limit of 100 is refused.",
            &["list.limit-maximum"],
            "less than a hundred where it should be at most",
        )
        .after(|request, response, _| {
            if response.status == 200 && request.is_list() && request.parameter("limit") == Some("100") {
                response.refuse(400);
            }
        }),
        fault("no-maximum", "A limit over 100 is honoured.", &["list.limit-maximum"], "whatever limit is asked for")
            .stock(150)
            .after(|request, response, server| {
                if let Some(limit) = limit_of(request) {
                    relist(request, response, server, limit);
                }
            }),
        fault(
            "wraps-past-the-maximum",
            "A limit over 4,294,967,296 is honoured.",
            &["list.limit-maximum"],
            "a limit that is checked after it was cut to 32 bits",
        )
        .stock(150)
        .after(|request, response, server| {
            if let Some(limit) = limit_of(request).filter(|limit| *limit > 1 << 32) {
                relist(request, response, server, limit);
            }
        }),
        fault(
            "a-thousand-at-most",
            "A limit of 1,000 is honoured.",
            &["list.limit-maximum"],
            "a check that only very large limits fail",
        )
        .stock(150)
        .after(|request, response, server| {
            if let Some(limit) = limit_of(request).filter(|limit| *limit == 1_000) {
                relist(request, response, server, limit);
            }
        }),
        fault(
            "unusable-is-all",
            "A limit that is no number lists all animals.",
            &["list.limit-maximum"],
            "a limit that is read as nothing, where nothing means no limit",
        )
        .on(Plan::Pro)
        .after(|request, response, server| {
            if request.parameter("limit").is_some_and(|limit| limit.parse::<i64>().is_err()) {
                relist(request, response, server, usize::MAX);
            }
        }),
        fault(
            "fifty",
            "A list without a limit has up to 50 animals.",
            &["list.limit-default"],
            "the page size that the framework comes with",
        )
        .stock(60)
        .edit(|request, _| {
            if request.is_list() && request.parameter("limit").is_none() {
                request.set_parameter("limit", Some("50"));
            }
        }),
        fault(
            "ten",
            "A list without a limit has no more than 10 animals.",
            &["list.limit-default"],
            "another page size than the one that was agreed",
        )
        .edit(|request, _| {
            if request.is_list() && request.parameter("limit").is_none() {
                request.set_parameter("limit", Some("10"));
            }
        }),
        fault(
            "no-default",
            "A list without a limit has all animals.",
            &["list.limit-default"],
            "no limit unless one is asked for",
        )
        .stock(40)
        .after(|request, response, server| {
            if request.is_list() && request.parameter("limit").is_none() {
                relist(request, response, server, usize::MAX);
            }
        }),
        fault(
            "all-by-status",
            "A list by status without a limit has all animals of that status.",
            &["list.limit-default"],
            "a default that only one of two queries has",
        )
        .on(Plan::Pro)
        .after(|request, response, server| {
            if request.parameter("status").is_some() && request.parameter("limit").is_none() {
                relist(request, response, server, usize::MAX);
            }
        }),
        fault(
            "limit-lost-in-filter",
            "A small limit is ignored where a status is given.",
            &["list.limit-honoured"],
            "a second query, for the filter, without the limit",
        )
        .edit(|request, _| {
            if request.is_list() && request.parameter("status").is_some() && limit_of(request).is_some_and(|l| l < 20) {
                request.set_parameter("limit", None);
            }
        }),
        fault(
            "pages-of-ten",
            "A limit is rounded up to the next ten.",
            &["list.limit-honoured"],
            "limits rounded up to whole pages",
        )
        .edit(|request, _| {
            if let Some(limit @ 1..=100) = request.number_of("limit").filter(|_| request.is_list()) {
                request.set_parameter("limit", Some(&((limit + 9) / 10 * 10).to_string()));
            }
        }),
    ]
}
