//! Settings with which real hosts run a design's transport.

use crate::settings::Settings;

/// Congestion control of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum KernelControl {
    /// Congestion control with this name in the kernel.
    Named(&'static str),
    /// DCTCP, with the parameters of RFC 8257.
    Dctcp {
        /// Estimation gain g, above 0 and at most 1.
        gain: f64,
        /// First estimate of the share of marked packets, 0 to 1.
        first_alpha: f64,
    },
}

/// Program that runs a design's transport on real hosts.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// The kernel's TCP.
    Tcp {
        /// Function that returns the congestion control.
        control: fn(&Settings) -> KernelControl,
        /// Function that returns whether connections negotiate ECN.
        ecn: fn(&Settings) -> bool,
    },
    /// SCDP over UDP, as in `tailcut cast`.
    Cast {
        /// Whether receivers give credits, for networks that do not trim.
        credits: bool,
    },
    /// No program runs the transport. The text is the reason.
    Missing(&'static str),
}

impl Kernel {
    /// Returns the kernel's TCP with the congestion control that `control` returns.
    /// Connections negotiate ECN if `tcp.classic_ecn` is true.
    pub(crate) const fn tcp(control: fn(&Settings) -> KernelControl) -> Self {
        Self::Tcp {
            control,
            ecn: |settings| settings.tcp.classic_ecn,
        }
    }
}
