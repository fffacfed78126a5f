//! DCTCP: the window shrinks in proportion to the share of marked packets.

use crate::design::Design;
use crate::hosts::{Controller, Hosts};
use crate::kernel::{Kernel, KernelControl};
use crate::ports::Ports;
use tailcut_transport::tcp::Congestion;

/// Returns the controller of DCTCP, which PIAS and HULL also use.
pub(super) fn controller() -> Controller {
    Controller::new(|run| Congestion::Dctcp {
        gain: run.settings.dctcp_gain,
        first_alpha: run.settings.dctcp_first_alpha,
    })
    .reading(&["tcp.dctcp_gain", "tcp.dctcp_first_alpha"])
    .on_kernel(Kernel::Tcp {
        control: |settings| KernelControl::Dctcp {
            gain: settings.dctcp_gain,
            first_alpha: settings.dctcp_first_alpha,
        },
        // DCTCP always negotiates ECN (RFC 8257, section 3.2).
        ecn: |_| true,
    })
}

pub(super) fn design() -> Design {
    Design {
        name: "dctcp",
        summary: "DCTCP over switches that mark at a threshold",
        source: "RFC 8257",
        hosts: Hosts::tcp(controller()),
        ports: Ports::network(|_| true),
        ..Design::over_tcp()
    }
}
