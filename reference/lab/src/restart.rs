//! A laboratory that can begin anew while it is served.

use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::extract::Request as HttpRequest;
use axum::response::Response as HttpResponse;

use super::Variation;
use super::limiter::{Policy, limiter};
use super::pass::Pass;
use super::running::Running;
use animal_store_reference::app::App;
use animal_store_reference::error::ApiError;
use animal_store_reference::extension::ExtensionError;
use animal_store_reference::keys::ApiKey;
use animal_store_reference::store::StoreError;

/// A variation at work.
pub struct Lab {
    app: Arc<App>,
    running: RwLock<Arc<Running>>,
}

impl Lab {
    /// Prepares a variation of the server of `app`: its stock is created, unless there are as many animals already.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] when the animals cannot be read or created, or a key cannot be issued.
    pub async fn start(app: Arc<App>, variation: Variation) -> Result<Lab, ExtensionError> {
        let running = running(&app, variation, None).await?;
        Ok(Lab { app, running: RwLock::new(Arc::new(running)) })
    }

    /// Replaces the variation; the server begins anew. The settings with which the reference was started stay.
    ///
    /// # Errors
    ///
    /// [`ExtensionError`] as from [`Lab::start`]; the server then goes on as before.
    pub async fn change(&self, variation: Variation) -> Result<(), ExtensionError> {
        let last = self.running();
        self.replace(&last, running(&self.app, variation, last.pass.clone()).await?);
        Ok(())
    }

    /// Returns true if no layer stands around the reference.
    pub(crate) fn is_plain(&self) -> bool {
        self.running().variation.layers.is_empty()
    }

    fn replace(&self, last: &Running, next: Running) {
        next.know_keys_of(last);
        *self.running.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }

    /// Begins anew with the animals that are stored now. The layers forget everything except the known keys.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the animals cannot be read or created; the server then goes on as before.
    pub async fn restart(&self) -> Result<(), StoreError> {
        let last = self.running();
        let next = Running::start(Arc::clone(&self.app), last.variation.clone(), last.pass.clone()).await?;
        self.replace(&last, next);
        Ok(())
    }

    /// Makes keys known before they are used: some faults take something else for a key.
    pub fn introduce<'a>(&self, keys: impl IntoIterator<Item = &'a ApiKey>) {
        self.running().introduce(keys);
    }

    /// Answers a request with the help of the reference. Requests outside the API go to the reference alone.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the body did not arrive.
    pub async fn answer(&self, entrance: Router, request: HttpRequest) -> Result<HttpResponse, ApiError> {
        self.running().answer(entrance, request).await
    }

    pub(crate) fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Prepares a variation, which takes over the pass of the one before, if there is one.
async fn running(app: &Arc<App>, mut variation: Variation, pass: Option<Arc<Pass>>) -> Result<Running, ExtensionError> {
    if variation.setting.window.is_some() && !variation.setting.counts_in_layer {
        // The reference's own windows are minutes.
        variation.setting.counts_in_layer = true;
        variation.layers.push(limiter(Policy::default()));
    }
    let pass = match pass {
        _ if !variation.setting.counts_in_layer => None,
        Some(pass) => Some(pass),
        None => Some(Arc::new(Pass::issue(app)?)),
    };
    Ok(Running::start(Arc::clone(app), variation, pass).await?)
}
