//! What governs the congestion window: one trait, three standard controllers, and a place for the
//! user's own.
//!
//! A controller decides how far the window opens and closes. *When* there was a loss, and what is
//! sent during recovery, is the sender's business (RFC 6582, RFC 6675), alike for all controllers.

mod control;
mod cubic;
mod dctcp;
mod highspeed;
mod hystart;
mod newreno;

pub use control::{Ack, Congested, CongestionControl, EcnUse, Window};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use highspeed::HighSpeed;
pub use hystart::HyStart;
pub use newreno::NewReno;

use alloc::boxed::Box;
use tailcut_units::Time;

/// A connection's controller. An enum keeps the standard ones inline, without a pointer to follow.
#[derive(Debug)]
pub enum Controller {
    /// RFC 5681 and 6582.
    NewReno(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// [`HyStart`], or the user's own.
    Custom(Box<dyn CongestionControl>),
}

macro_rules! delegate {
    ($self:ident, $controller:ident => $call:expr) => {
        match $self {
            Controller::NewReno($controller) => $call,
            Controller::Cubic($controller) => $call,
            Controller::Dctcp($controller) => $call,
            Controller::Custom($controller) => $call,
        }
    };
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        delegate!(self, controller => controller.on_ack(window, ack));
    }
    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        delegate!(self, controller => controller.on_loss(window, congested));
    }
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        delegate!(self, controller => controller.on_timeout(window, congested));
    }
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        delegate!(self, controller => controller.on_mark(window, congested));
    }
    /// The standard controllers do not ask when data leaves.
    #[inline]
    fn on_sent(&mut self, now: Time, end: u64, again: bool) {
        if let Self::Custom(controller) = self {
            controller.on_sent(now, end, again);
        }
    }
    fn ecn_use(&self) -> EcnUse {
        delegate!(self, controller => controller.ecn_use())
    }
}
