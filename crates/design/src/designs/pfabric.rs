//! pFabric: packets contain the remaining bytes of their flow.
//! Switches serve the packet with the fewest remaining bytes first.

use crate::design::Design;
use crate::hosts::Hosts;
use crate::ports::Ports;
use tailcut_fabric::queue::{Limit, PFabric, QueueConfig};
use tailcut_transport::pfabric::PFabricConfig;

pub(super) fn design() -> Design {
    Design {
        name: "pfabric",
        summary: "pFabric: switches drop and schedule by remaining size",
        source: "SIGCOMM 2013",
        handshake: false,
        hosts: Hosts::pfabric(|run| {
            let (framing, parameters) = (run.settings.framing, &run.settings.designs.pfabric);
            let full_packet = u64::from(framing.wire_bytes(framing.payload));
            let queue = match parameters.queue {
                Limit::Packets(packets) => packets,
                Limit::Bytes(bytes) => u32::try_from(bytes / full_packet).unwrap_or(u32::MAX),
            };
            let rto = parameters.rto;
            let rto = rto.unwrap_or_else(|| (run.longest_round_trip)() * 3);
            // The largest window is one packet less than the queue holds, as in the public code.
            // With the largest window, a single flow does not overflow the queue.
            let most = parameters
                .max_window
                .unwrap_or(queue.saturating_sub(1).max(1));
            let usual = PFabricConfig::default();
            Ok(PFabricConfig {
                mss: framing.payload,
                initial_window: parameters.initial_window,
                max_window: most,
                rto,
                probe_after: parameters.probe_after,
                // The time-wait must be longer than the retransmissions after a lost last ACK.
                time_wait: usual.time_wait.max(rto * 100),
                ..usual
            })
        })
        .reading(&["pfabric.*"]),
        ports: Ports::own(
            "pfabric orders packets by the bytes that remain",
            |settings, _| {
                let limit = settings.designs.pfabric.queue;
                move |_| QueueConfig::PFabric(PFabric { limit })
            },
        )
        .with_room("pfabric.queue"),
        ..Design::over_tcp()
    }
}
