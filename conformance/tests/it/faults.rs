//! Ways in which real servers are broken, each with the requirement that must catch it.

use axum::http::Method;

/// A way to be broken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    HangsUpOnCreate,
    ListsAsText,
    StringIds,
    HugeIds,
    ShoutsStatus,
    NullStatus,
    ReusesIds,
    FailsOnList,
    Envelope,
    NullForNone,
    RefusesLimit1,
    RefusesLimit100,
    NoMaximum,
    Defaults50,
    Defaults10,
    IgnoresLimit,
    IgnoresFilter,
    FiltersInAnyCase,
    LimitsBeforeFilter,
    RepeatsAnimals,
    ListsAnotherCategory,
    FailsOnLimit0,
    RefusesSold,
    Creates200,
    RoundsCategories,
    HonoursIds,
    NameOptional,
    RefusesWith422,
    CategoryOptional,
    CoercesName,
    CoercesCategory,
    UnwrapsCategory,
    TruncatesCategory,
    TakesAnyStatusCase,
    TakesAnyJson,
    FailsOnMalformedJson,
    StoresBeforeValidation,
    GetsAnotherAnimal,
    GetLosesStatus,
    NullForNobody,
    NegativeIdsAreBad,
    FailsOnMalformedId,
    NoOrders,
    RefusesKeyOnCreate,
    ListsWithoutKey,
    Forbids,
    TakesAnyKey,
    TakesPrefixes,
    TakesSuffixes,
    TakesAnyCase,
    TakesKeyFromQuery,
    TakesBasic,
    TakesAnyScheme,
    ValidatesBeforeAuthentication,
    CreatesWithoutKey,
    ErrorsWithoutCode,
    EmptyErrors,
    ErrorsTellAnotherStatus,
    ErrorsAsProblem,
    HtmlElsewhere,
    NoLimitOn404,
    NoRemainingOn401,
    FractionalRemaining,
    NoResetOn400,
    LimitOfNoPlan,
    NegativeRemaining,
    CountsNothing,
    RemainingJumps,
    ResetsTooEarly,
    ResetInMilliseconds,
    ResetAsDelay,
    WindowsOfSeconds,
    OrdersAreFree,
    CreatesAreFree,
    NeverLimits,
    LimitsWith503,
    LimitsOneLate,
    NothingRemains,
    LimitsTooEarly,
    LimitsOneEarly,
    NoRetryAfter,
    RetryAfterInWords,
    NeverRecovers,
    CreatesAlthoughLimited,
    HtmlWhenLimited,
    AnotherPath,
    RemovedEarly,
    SunsetOnAnotherDay,
    DeprecationInWords,
    /// Shown by generated requests only, so not among [`FAULTS`].
    TrimsStatus,
}

/// Every fault, with the requirement that must catch it. A fault that is missing here is never constructed, which the
/// compiler reports.
pub(crate) const FAULTS: &[(Fault, &str)] = &[
    (Fault::HangsUpOnCreate, "service.complete-answer"),
    (Fault::ListsAsText, "service.json"),
    (Fault::StringIds, "pet.members"),
    (Fault::HugeIds, "pet.int64"),
    (Fault::ShoutsStatus, "pet.status-values"),
    (Fault::NullStatus, "pet.status-values"),
    (Fault::ReusesIds, "pet.unique-id"),
    (Fault::FailsOnList, "list.success"),
    (Fault::Envelope, "list.array"),
    (Fault::NullForNone, "list.array"),
    (Fault::RefusesLimit1, "list.limit-minimum"),
    (Fault::RefusesLimit100, "list.limit-maximum"),
    (Fault::NoMaximum, "list.limit-maximum"),
    (Fault::Defaults50, "list.limit-default"),
    (Fault::Defaults10, "list.limit-default"),
    (Fault::IgnoresLimit, "list.limit-honoured"),
    (Fault::IgnoresFilter, "list.status-filter"),
    (Fault::FiltersInAnyCase, "list.status-filter"),
    (Fault::LimitsBeforeFilter, "list.complete"),
    (Fault::RepeatsAnimals, "list.unique"),
    (Fault::ListsAnotherCategory, "list.agrees"),
    (Fault::FailsOnLimit0, "list.bad-parameters"),
    (Fault::RefusesSold, "create.success"),
    (Fault::Creates200, "create.success"),
    (Fault::RoundsCategories, "create.echo"),
    (Fault::HonoursIds, "create.assigned-id"),
    (Fault::NameOptional, "create.name-required"),
    (Fault::RefusesWith422, "create.name-required"),
    (Fault::CategoryOptional, "create.category-required"),
    (Fault::CoercesName, "create.name-type"),
    (Fault::CoercesCategory, "create.category-type"),
    (Fault::UnwrapsCategory, "create.category-type"),
    (Fault::TruncatesCategory, "create.category-int64"),
    (Fault::TakesAnyStatusCase, "create.status-enum"),
    (Fault::TakesAnyJson, "create.body-required"),
    (Fault::FailsOnMalformedJson, "create.malformed-json"),
    (Fault::StoresBeforeValidation, "create.refused-stores-nothing"),
    (Fault::GetsAnotherAnimal, "get.success"),
    (Fault::GetLosesStatus, "get.agrees"),
    (Fault::NullForNobody, "get.not-found"),
    (Fault::NegativeIdsAreBad, "get.not-found"),
    (Fault::FailsOnMalformedId, "get.malformed-id"),
    (Fault::NoOrders, "orders.exists"),
    (Fault::RefusesKeyOnCreate, "auth.valid-key"),
    (Fault::ListsWithoutKey, "auth.missing-key"),
    (Fault::Forbids, "auth.missing-key"),
    (Fault::TakesAnyKey, "auth.invalid-key"),
    (Fault::TakesPrefixes, "auth.exact-key"),
    (Fault::TakesSuffixes, "auth.exact-key"),
    (Fault::TakesAnyCase, "auth.exact-key"),
    (Fault::TakesKeyFromQuery, "auth.bearer-header"),
    (Fault::TakesBasic, "auth.bearer-header"),
    (Fault::TakesAnyScheme, "auth.bearer-header"),
    (Fault::ValidatesBeforeAuthentication, "auth.before-all-else"),
    (Fault::CreatesWithoutKey, "auth.refused-stores-nothing"),
    (Fault::ErrorsWithoutCode, "errors.shape"),
    (Fault::EmptyErrors, "errors.shape"),
    (Fault::ErrorsTellAnotherStatus, "errors.status-member"),
    (Fault::ErrorsAsProblem, "errors.media-type"),
    (Fault::HtmlElsewhere, "errors.elsewhere"),
    (Fault::NoLimitOn404, "headers.limit"),
    (Fault::NoRemainingOn401, "headers.remaining"),
    (Fault::FractionalRemaining, "headers.remaining"),
    (Fault::NoResetOn400, "headers.reset"),
    (Fault::LimitOfNoPlan, "headers.limit-figure"),
    (Fault::NegativeRemaining, "headers.remaining-range"),
    (Fault::CountsNothing, "headers.remaining-falls"),
    (Fault::RemainingJumps, "headers.remaining-never-rises"),
    (Fault::ResetsTooEarly, "headers.remaining-never-rises"),
    (Fault::ResetInMilliseconds, "headers.reset-time"),
    (Fault::ResetAsDelay, "headers.reset-time"),
    (Fault::WindowsOfSeconds, "headers.reset-time"),
    (Fault::OrdersAreFree, "quota.every-operation"),
    (Fault::CreatesAreFree, "quota.every-operation"),
    (Fault::NeverLimits, "quota.enforced"),
    (Fault::LimitsWith503, "quota.enforced"),
    (Fault::LimitsOneLate, "quota.not-exceeded"),
    (Fault::NothingRemains, "quota.not-exceeded"),
    (Fault::LimitsTooEarly, "quota.not-early"),
    (Fault::LimitsOneEarly, "quota.not-early"),
    (Fault::NoRetryAfter, "quota.retry-after"),
    (Fault::RetryAfterInWords, "quota.retry-after"),
    (Fault::NeverRecovers, "quota.recovers"),
    (Fault::CreatesAlthoughLimited, "quota.refused-stores-nothing"),
    (Fault::HtmlWhenLimited, "quota.error-body"),
    (Fault::AnotherPath, "versioning.path"),
    (Fault::RemovedEarly, "versioning.lifetime"),
    (Fault::SunsetOnAnotherDay, "versioning.sunset"),
    (Fault::DeprecationInWords, "versioning.deprecation-header"),
];

impl Fault {
    /// Spoils a finished answer, for faults that show in its form alone.
    pub(crate) fn spoil(
        self,
        method: &Method,
        path: &str,
        status: &mut u16,
        media_type: &mut &'static str,
        body: &mut Vec<u8>,
        headers: &mut Vec<(&'static str, String)>,
    ) {
        let list = method == Method::GET && path == "/pets";
        let replace = |body: &mut Vec<u8>, from: &str, to: &str| {
            *body = String::from_utf8_lossy(body).replace(from, to).into_bytes();
        };
        let mut set = |name: &str, value: Option<&str>| {
            headers.retain(|(field, _)| *field != name || value.is_some());
            headers.iter_mut().filter(|(field, _)| *field == name).for_each(|(_, old)| {
                *old = value.unwrap_or_default().to_owned();
            });
        };
        match (self, *status) {
            (Fault::FailsOnList, 200) if list => *status = 500,
            (Fault::Creates200, 201) => *status = 200,
            (Fault::ListsAsText, 200) if list => *media_type = "text/plain",
            (Fault::StringIds, 200 | 201) => {
                *body = String::from_utf8_lossy(body).replace("\"id\":", "\"id\":\"x\",\"ix\":").into_bytes();
            }
            (Fault::HugeIds, 200 | 201) => replace(body, "\"id\":", "\"id\":9999999999999999999"),
            (Fault::ShoutsStatus, 200 | 201) => replace(body, "\"sold\"", "\"SOLD\""),
            (Fault::NullStatus, 200) if list => replace(body, "\"status\":\"sold\"", "\"status\":null"),
            (Fault::ErrorsWithoutCode, 400..) => replace(body, "\"code\"", "\"error\""),
            (Fault::EmptyErrors, 404) => body.clear(),
            (Fault::ErrorsTellAnotherStatus, 404) => replace(body, "\"status\":404", "\"status\":400"),
            (Fault::ErrorsAsProblem, 400..) => *media_type = "application/problem+json",
            (Fault::NoLimitOn404, 404) => set("x-ratelimit-limit", None),
            (Fault::NoRemainingOn401, 401) => set("x-ratelimit-remaining", None),
            (Fault::FractionalRemaining, 201) => set("x-ratelimit-remaining", Some("5.5")),
            (Fault::NoResetOn400, 400) => set("x-ratelimit-reset", None),
            (Fault::LimitOfNoPlan, 200 | 201) => set("x-ratelimit-limit", Some("123456")),
            (Fault::NegativeRemaining, 404) => set("x-ratelimit-remaining", Some("-1")),
            (Fault::NothingRemains, _) => set("x-ratelimit-remaining", Some("0")),
            (Fault::ResetAsDelay, 200 | 201) => set("x-ratelimit-reset", Some("42")),
            (Fault::ResetInMilliseconds, 200 | 201) => {
                headers
                    .iter_mut()
                    .filter(|(name, _)| *name == "x-ratelimit-reset")
                    .for_each(|(_, v)| v.push_str("000"));
            }
            (Fault::HtmlWhenLimited, 429) => {
                *media_type = "text/html";
                *body = b"<h1>slow down</h1>".to_vec();
            }
            (Fault::SunsetOnAnotherDay, 200) if path.starts_with("/pets/") => {
                headers.push(("sunset", "Sun, 01 Dec 2030 00:00:00 GMT".to_owned()));
            }
            (Fault::DeprecationInWords, 200) if path.starts_with("/pets/") => {
                headers.push(("deprecation", "soon".to_owned()));
            }
            _ => {}
        }
    }
}
