//! Controllers under watch: what must hold of a reduction whatever the sender has been through.

use std::sync::Arc;
use tailcut_transport::tcp::Congestion;
use tailcut_transport::tcp::congestion::{
    Ack, Congested, CongestionControl, Controller, Cubic, Dctcp, EcnUse, NewReno, Window,
};

/// A controller that must answer every loss and timeout with less, down to two segments, and no mark
/// with more.
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
            "a loss made {window:?} of {before:?}, {congested:?}"
        );
    }
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        let before = *window;
        self.0.on_timeout(window, congested);
        let least = 2 * congested.mss;
        assert!(
            window.ssthresh < before.cwnd || window.ssthresh == least,
            "a timeout made {window:?} of {before:?}, {congested:?}"
        );
    }
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        let before = *window;
        self.0.on_mark(window, congested);
        let most = before.cwnd.max(2 * congested.mss);
        assert!(
            window.cwnd <= most,
            "a mark made {window:?} of {before:?}, {congested:?}"
        );
    }
    fn ecn_use(&self) -> EcnUse {
        self.0.ecn_use()
    }
}

/// The controller that a configuration names, watched.
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
