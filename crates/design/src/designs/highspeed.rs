//! HighSpeed TCP: windows above 38 segments grow faster and lose less.

use crate::design::Design;
use crate::hosts::{Controller, Hosts};
use crate::kernel::{Kernel, KernelControl};
use tailcut_transport::tcp::congestion::HighSpeed;

pub(super) fn design() -> Design {
    let controller = Controller::own(|_| HighSpeed::new).on_kernel(Kernel::Tcp {
        control: |_| KernelControl::Named("highspeed"),
        ecn: |settings| settings.tcp.classic_ecn,
    });
    Design {
        name: "highspeed",
        summary: "HighSpeed TCP: large windows grow faster and lose less",
        source: "RFC 3649",
        hosts: Hosts::tcp(controller),
        ..Design::over_tcp()
    }
}
