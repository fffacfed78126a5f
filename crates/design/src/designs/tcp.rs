//! TCP NewReno.

use crate::design::Design;
use crate::hosts::{Controller, Hosts};
use crate::kernel::{Kernel, KernelControl};
use tailcut_transport::tcp::Congestion;

pub(super) fn design() -> Design {
    let controller = Controller::new(|_| Congestion::NewReno).on_kernel(Kernel::Tcp {
        control: |_| KernelControl::Named("reno"),
        ecn: |settings| settings.tcp.classic_ecn,
    });
    Design {
        name: "tcp",
        summary: "TCP NewReno",
        source: "RFC 6582",
        hosts: Hosts::tcp(controller),
        ..Design::over_tcp()
    }
}
