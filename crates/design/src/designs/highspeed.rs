//! HighSpeed TCP: windows above 38 segments grow faster and shrink less.

use crate::design::Design;
use crate::hosts::{Controller, Hosts};
use crate::kernel::{Kernel, KernelControl};
use tailcut_transport::tcp::congestion::HighSpeed;

pub(super) fn design() -> Design {
    let controller = Controller::own(|_| HighSpeed::new)
        .on_kernel(Kernel::tcp(|_| KernelControl::Named("highspeed")));
    Design {
        name: "highspeed",
        summary: "HighSpeed TCP: large windows grow faster and shrink less",
        source: "RFC 3649",
        hosts: Hosts::tcp(controller),
        ..Design::over_tcp()
    }
}
