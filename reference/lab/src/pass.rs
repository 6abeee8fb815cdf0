//! The key with which requests reach the reference where a layer counts them.

use std::sync::Arc;

use animal_store_reference::app::App;
use animal_store_reference::extension::ExtensionError;
use animal_store_reference::keys::{self, ApiKey};
use animal_store_reference::store::KeyStore;
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
        let store = KeyStore::open_for(&app.store)?;
        let (number, key) = keys::issue(&store, "laboratory", plan, app.clock.now())?;
        Ok(Pass { app: Arc::clone(app), number, key })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let store = KeyStore::open_for(&self.app.store);
        let revoked = store.is_ok_and(|store| store.revoke(self.number, self.app.clock.now()).is_ok());
        if !revoked {
            tracing::warn!(key = self.number, "the laboratory's own key could not be revoked");
        }
    }
}
