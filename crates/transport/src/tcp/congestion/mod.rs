//! Congestion control: the trait of a controller, the standard controllers, and the enum that holds one.
//!
//! A controller decides by how much the window grows and shrinks.
//! The sender decides *when* there was a loss and which segments leave during recovery (RFC 6582, RFC 6675).
//! The rules of the sender are the same for all controllers.

mod control;
mod cubic;
mod dctcp;
mod highspeed;
mod hystart;
mod linux_cubic;
mod newreno;

pub use control::{Ack, Congested, CongestionControl, EcnUse, Window};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use highspeed::HighSpeed;
pub use hystart::{HyStart, HyStartClock};
pub use linux_cubic::LinuxCubic;
pub use newreno::NewReno;

use alloc::boxed::Box;
use tailcut_units::Time;

/// Controller of a connection. The enum holds a standard controller inline, which saves a pointer per ACK.
#[derive(Debug)]
pub enum Controller {
    /// NewReno (RFC 5681 and 6582).
    NewReno(NewReno),
    /// CUBIC (RFC 9438).
    Cubic(Cubic),
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// [`HyStart`], or a controller that the user provides.
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
    /// Passes the call to a custom controller only, because the standard controllers do not use send times.
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
