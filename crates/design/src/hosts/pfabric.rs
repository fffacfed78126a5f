//! pFabric's parameters on hosts.

use crate::parameters::PFabricParameters;
use tailcut_fabric::queue::Limit;
use tailcut_transport::pfabric::PFabricConfig;
use tailcut_units::Duration;
use tailcut_workload::Framing;

/// The pFabric of hosts.
pub(super) fn config(
    parameters: &PFabricParameters,
    framing: Framing,
    longest_round_trip: impl FnOnce() -> Duration,
) -> PFabricConfig {
    let full_packet = u64::from(framing.wire_bytes(framing.payload));
    let queue = match parameters.queue {
        Limit::Packets(packets) => packets,
        Limit::Bytes(bytes) => u32::try_from(bytes / full_packet).unwrap_or(u32::MAX),
    };
    let rto = parameters.rto.unwrap_or_else(|| longest_round_trip() * 3);
    let usual = PFabricConfig::default();
    PFabricConfig {
        mss: framing.payload,
        initial_window: parameters.initial_window,
        max_window: parameters
            .max_window
            .unwrap_or(queue.saturating_sub(1).max(1)),
        rto,
        probe_after: parameters.probe_after,
        time_wait: usual.time_wait.max(rto * 100),
        ..usual
    }
}
