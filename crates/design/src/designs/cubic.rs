//! Design with TCP CUBIC over ordinary switches.

use crate::design::Design;
use crate::hosts::{Controller, Hosts};
use crate::kernel::{Kernel, KernelControl};
use tailcut_transport::tcp::Congestion;

pub(super) fn design() -> Design {
    let controller = Controller::new(|_| Congestion::Cubic)
        .on_kernel(Kernel::tcp(|_| KernelControl::Named("cubic")));
    Design {
        name: "cubic",
        summary: "TCP CUBIC",
        source: "RFC 9438",
        hosts: Hosts::tcp(controller),
        ..Design::over_tcp()
    }
}
