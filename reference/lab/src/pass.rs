//! The key with which requests reach the reference where a layer counts them.

use std::sync::Arc;

use animal_store_reference::app::App;
use animal_store_reference::extension::ExtensionError;
use animal_store_reference::keys::{self, ApiKey};
use animal_store_reference::{Limits, Plan};

/// A key of the laboratory that meets no limit. If a layer counts requests, they reach the reference with this key, as they would
/// behind a gateway that counts. Dropping the pass revokes the key.
pub(crate) struct Pass {
    app: Arc<App>,
    number: i64,
    pub(crate) key: ApiKey,
}

impl Pass {
    /// Issues the key.
    pub(crate) fn issue(app: &Arc<App>) -> Result<Pass, ExtensionError> {
        let limit = i64::MAX.unsigned_abs();
        let plan = Plan::Custom(Limits { per_minute: limit, per_day: limit });
        let (number, key) = keys::issue(&app.store.keys, "laboratory", plan, app.options.clock.now())?;
        Ok(Pass { app: Arc::clone(app), number, key })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.app.store.keys.revoke(self.number, self.app.options.clock.now()).is_err() {
            tracing::warn!(key = self.number, "the laboratory's own key could not be revoked");
        }
    }
}
