//! Wrapper that checks a controller: every reduction must satisfy invariants in any state of the sender.

use std::sync::Arc;
use tailcut_transport::tcp::Congestion;
use tailcut_transport::tcp::congestion::{
    Ack, Congested, CongestionControl, Controller, Cubic, Dctcp, EcnUse, NewReno, Window,
};

/// Controller with checks.
/// A loss and a timeout must reduce the window, down to two segments, and a mark must not raise the window.
#[derive(Debug)]
struct Watched(Controller);

impl CongestionControl for Watched {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.0.on_ack(window, ack);
    }
    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        let before = *window;
        self.0.on_loss(window, congested);
        let least = 2 * congested.mss;
        assert!(
            window.cwnd < before.cwnd || window.cwnd == least,
            "a loss changed {before:?} to {window:?}, {congested:?}"
        );
    }
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        let before = *window;
        self.0.on_timeout(window, congested);
        let least = 2 * congested.mss;
        assert!(
            window.ssthresh < before.cwnd || window.ssthresh == least,
            "a timeout changed {before:?} to {window:?}, {congested:?}"
        );
    }
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        let before = *window;
        self.0.on_mark(window, congested);
        let most = before.cwnd.max(2 * congested.mss);
        assert!(
            window.cwnd <= most,
            "a mark changed {before:?} to {window:?}, {congested:?}"
        );
    }
    fn ecn_use(&self) -> EcnUse {
        self.0.ecn_use()
    }
}

/// Returns the controller of `congestion` with the checks of this module.
pub fn watched(congestion: Congestion) -> Congestion {
    Congestion::Custom(Arc::new(move || {
        Box::new(Watched(match congestion {
            Congestion::Cubic => Controller::Cubic(Cubic::new()),
            Congestion::Dctcp { gain, first_alpha } => {
                Controller::Dctcp(Dctcp::new(gain, first_alpha))
            }
            _ => Controller::NewReno(NewReno::new()),
        }))
    }))
}
