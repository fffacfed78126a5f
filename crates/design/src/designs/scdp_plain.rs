//! SCDP over switches that drop packets. Receivers adapt the number of their credits to delay, losses and marks.

use super::scdp;
use crate::design::Design;
use crate::hosts::{HostSeat, Hosts};
use crate::kernel::Kernel;
use crate::ports::Ports;
use tailcut_transport::Demotion;
use tailcut_transport::scdp::{CreditConfig, Mode, ScdpConfig};
use tailcut_units::Duration;

/// Keys of `[scdp_plain]`, and the keys of SCDP that this design also reads.
const KEYS: &[&str] = &[
    "scdp_plain.*",
    "scdp.block_symbols",
    "scdp.overhead",
    "scdp.decode_*",
    "scdp.group_header",
    "scdp.max_timeouts",
    "scdp.straggler*",
    "scdp.quorum",
];

/// Lower bound of the timeout before the first round-trip sample.
const LEAST_FIRST_TIMEOUT: Duration = Duration::from_ms(1);

pub(super) fn design() -> Design {
    Design {
        name: "scdp-plain",
        summary: "SCDP over plain switches that drop: receivers adapt a window to delay, losses and marks",
        balancer: "ecmp",
        hosts: Hosts::scdp(|run| {
            let designs = &run.settings.designs;
            let (common, plain) = (designs.scdp.clone(), designs.scdp_plain.clone());
            let usual = || ((run.longest_round_trip)() * 4).max(LEAST_FIRST_TIMEOUT);
            let timeout = plain.timeout.unwrap_or_else(usual);
            Ok(move |seat: &HostSeat<'_>| {
                let (config, codec) = scdp::host(&common, seat)?;
                let config = ScdpConfig {
                    initial_window: plain.initial_window,
                    shared_window: plain.initial_window,
                    // Ordinary switches have a single class.
                    demotion: Demotion::NONE,
                    mode: Mode::Credit(CreditConfig {
                        max_window: plain.max_window,
                        loss_by_chance: plain.loss_by_chance,
                        min_timeout: plain.min_timeout,
                        ecn: plain.ecn,
                    }),
                    timeout,
                    max_timeout: ScdpConfig::default().max_timeout.max(timeout),
                    ..config
                };
                Ok((config, codec))
            })
        })
        .reading(KEYS)
        .on_kernel(Kernel::Cast { credits: true }),
        ports: Ports::network(|settings| settings.designs.scdp_plain.ecn),
        ..scdp::design()
    }
}
