//! Design with TCP NewReno over ordinary switches.

use crate::design::Design;
use crate::hosts::{Controller, Hosts};
use crate::kernel::{Kernel, KernelControl};
use tailcut_transport::tcp::Congestion;

pub(super) fn design() -> Design {
    let controller = Controller::new(|_| Congestion::NewReno)
        .on_kernel(Kernel::tcp(|_| KernelControl::Named("reno")));
    Design {
        name: "tcp",
        summary: "TCP NewReno",
        source: "RFC 6582",
        hosts: Hosts::tcp(controller),
        ..Design::over_tcp()
    }
}
