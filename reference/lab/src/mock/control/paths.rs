//! The paths of the control interface; its OpenAPI description says what each does.

pub(super) const OPENAPI: &str = "/openapi.json";
pub(super) const RESET: &str = "/reset";
pub(super) const SNAPSHOTS: &str = "/snapshots";
pub(super) const SNAPSHOT: &str = "/snapshots/{name}";
pub(super) const RESTORE: &str = "/snapshots/{name}/restore";
pub(super) const CLOCK: &str = "/clock";
pub(super) const CLOCK_SET: &str = "/clock/set";
pub(super) const CLOCK_ADVANCE: &str = "/clock/advance";
pub(super) const CLOCK_FREEZE: &str = "/clock/freeze";
pub(super) const CLOCK_RUN: &str = "/clock/run";
pub(super) const ANSWERS: &str = "/answers";
pub(super) const LOG: &str = "/log";
pub(super) const LOG_COUNTS: &str = "/log/counts";
pub(super) const FAULTS: &str = "/faults";
pub(super) const DELAY: &str = "/delay";
