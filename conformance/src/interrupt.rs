//! Ends a run early: the requests sent until then are judged, and no more are sent.

use tokio::sync::watch;

/// Ends a run when it is raised. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: watch::Sender<bool>,
}

impl Interrupt {
    /// Ends the run that has a clone of this interrupt, at once: pending responses are not awaited.
    pub fn raise(&self) {
        self.raised.send_replace(true);
    }

    /// Returns when the interrupt is raised, or at once if it was raised before.
    pub async fn raised(&self) {
        let mut raised = self.raised.subscribe();
        // The wait cannot fail: the sender lives as long as this borrow.
        let _raised = raised.wait_for(|raised| *raised).await;
    }
}
