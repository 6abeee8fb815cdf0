//! Ends a run early: the requests sent until then are judged, and no more are sent.

use tokio::sync::watch;

/// Ends a run when it is raised. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: watch::Sender<bool>,
}

impl Interrupt {
    /// Ends the run that was given a clone of this, at once: pending responses are not awaited.
    pub fn raise(&self) {
        self.raised.send_replace(true);
    }

    /// Returns when it is raised; at once if it is already.
    pub async fn raised(&self) {
        let mut raised = self.raised.subscribe();
        // It cannot fail: the sender lives as long as this borrow.
        let _raised = raised.wait_for(|raised| *raised).await;
    }
}
