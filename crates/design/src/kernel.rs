//! Settings that make real hosts run a design's transport.

use crate::settings::Settings;

/// Congestion control of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum KernelControl {
    /// A control that the kernel knows by this name.
    Named(&'static str),
    /// DCTCP, with the parameters of RFC 8257.
    Dctcp {
        /// Estimation gain g, above 0 to 1.
        gain: f64,
        /// First estimate of marking, 0 to 1.
        first_alpha: f64,
    },
}

/// Program that runs a design's transport on real hosts.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// TCP of the kernel.
    Tcp {
        /// Congestion control.
        control: fn(&Settings) -> KernelControl,
        /// Whether connections negotiate ECN.
        ecn: fn(&Settings) -> bool,
    },
    /// SCDP over UDP, as in `tailcut cast`.
    Cast {
        /// Whether receivers give credits, for networks that do not trim.
        credits: bool,
    },
    /// None, for this reason.
    Missing(&'static str),
}
