//! Ending a run before its plan does: what was sent until then is judged, and nothing more is sent.

use tokio::sync::watch;

/// Ends a run when somebody raises it. Clones are the same interrupt.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: watch::Sender<bool>,
}

impl Interrupt {
    /// Ends the run that was given a clone of this: at once, without waiting for an answer that is still due.
    pub fn raise(&self) {
        self.raised.send_replace(true);
    }

    /// Returns when it is raised, or at once when it has been.
    pub async fn raised(&self) {
        let mut raised = self.raised.subscribe();
        // It cannot fail: the sender lives as long as this borrow.
        let _raised = raised.wait_for(|raised| *raised).await;
    }
}
