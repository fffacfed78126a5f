//! NDP: receivers pull, and switches trim payloads before they drop packets.

use crate::design::Design;
use crate::hosts::{HostSeat, Hosts};
use crate::parameters::NdpParameters;
use crate::ports::{Ports, room};
use crate::settings::Settings;
use tailcut_fabric::queue::{QueueConfig, Trimming, Victim};
use tailcut_transport::Demotion;
use tailcut_transport::ndp::NdpConfig;

/// All keys of `[ndp]` except the thresholds of NDP+.
const KEYS: &[&str] = &[
    "ndp.initial_window",
    "ndp.queue",
    "ndp.header_queue",
    "ndp.headers_per_data",
    "ndp.min_rto",
    "ndp.initial_rto",
    "ndp.resends_count",
    "ndp.host_order",
    "ndp.buffer",
];

/// Returns the configuration of one host with NDP or NDP+. `demotion` contains the classes of NDP+.
pub(super) fn host(
    parameters: &NdpParameters,
    demotion: Demotion,
    permutes: bool,
    seat: &HostSeat<'_>,
) -> NdpConfig {
    let usual = NdpConfig::default();
    NdpConfig {
        mss: seat.framing.payload,
        initial_window: parameters.initial_window,
        pull_interval: seat.full_packet_time(),
        // The path number `u16::MAX` is reserved. This number means that the switches choose the path.
        paths: match permutes {
            true => u16::try_from(seat.paths).unwrap_or(u16::MAX - 1),
            false => 1,
        },
        demotion,
        resends_count: parameters.resends_count,
        in_order: parameters.host_order,
        byte_time: seat.rate.serialisation(1),
        min_rto: parameters.min_rto,
        initial_rto: parameters.initial_rto,
        // The upper bound must not be below the initial timeout, or the configuration is invalid.
        max_rto: usual.max_rto.max(parameters.initial_rto),
        seed: seat.seed,
        ..usual
    }
}

/// Returns the queue of a port, with capacity for data and for headers (NDP paper, section 3.1).
pub(super) fn queue(settings: &Settings, classes: u8) -> QueueConfig {
    let (ndp, framing) = (&settings.designs.ndp, settings.framing);
    let full = u64::from(framing.wire_bytes(framing.payload));
    QueueConfig::Trimming(Trimming {
        classes,
        data_limit: room(ndp.queue, ndp.sharing, classes),
        header_limit_bytes: full * u64::from(ndp.header_queue_packets),
        headers_per_data: ndp.headers_per_data,
        victim: Victim::Coin,
        sharing: ndp.sharing,
        return_to_sender: true,
    })
}

pub(super) fn design() -> Design {
    Design {
        name: "ndp",
        summary: "NDP: receivers pull packets, and switches trim payloads",
        source: "SIGCOMM 2017",
        handshake: false,
        chooses_paths: true,
        balancer: "permute",
        hosts: Hosts::ndp(|run| {
            let (parameters, permutes) = (run.settings.designs.ndp.clone(), run.permutes);
            Ok(move |seat: &HostSeat<'_>| Ok(host(&parameters, Demotion::NONE, permutes, seat)))
        })
        .reading(KEYS),
        ports: Ports::own("ndp needs switches that trim", |settings, _| {
            let queue = queue(settings, 1);
            move |_| queue.clone()
        })
        .with_room("ndp.queue")
        .with_copies(),
        ..Design::over_tcp()
    }
}
