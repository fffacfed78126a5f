//! Built-in designs, one file each, in the order of `tailcut list designs`.
//!
//! A design's file must not call [`Registered::named`](crate::Registered::named), because the register is incomplete.
//! If a design is based on a second design, its file calls a function in the second design's file.

mod cubic;
mod dctcp;
mod highspeed;
mod hull;
mod ndp;
mod ndp_plus;
mod pfabric;
mod pias;
mod qos;
mod scdp;
mod scdp_plain;
mod stations;
mod tcp;

use crate::design::Design;

/// Returns the built-in designs.
pub(crate) fn built_in() -> [Design; 13] {
    [
        tcp::design(),
        cubic::design(),
        highspeed::design(),
        dctcp::design(),
        pfabric::design(),
        pias::design(),
        qos::design(),
        hull::design(),
        ndp::design(),
        ndp_plus::design(),
        scdp::design(),
        scdp_plain::design(),
        stations::design(),
    ]
}
