//! Custom load balancer: its interface, and its factory, which builds one per switch.

use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::sync::Arc;
use tailcut_units::{Rate, Time};

/// State of an equal-cost port that a load balancer can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortView {
    /// Number of the port within the switch.
    pub port: u32,
    /// Number of bytes queued at the port.
    pub backlog_bytes: u64,
    /// Number of packets queued at the port.
    pub backlog_packets: u32,
    /// Rate of the port's link.
    pub rate: Rate,
    /// Whether the port's link is up.
    pub is_up: bool,
    /// Number of packets that the port has sent so far. A port with one event per packet also counts queued packets.
    pub accepted_packets: u64,
    /// Number of bytes of the packets that `accepted_packets` counts.
    pub accepted_bytes: u64,
    /// Number of packets that the port has dropped so far.
    pub dropped: u64,
}

/// Custom load balancer, which chooses among equal-cost ports.
pub trait LoadBalancer: core::fmt::Debug + Send {
    /// Returns the port for `packet`, as an index into `ports`. `ports` is never empty.
    fn select(&mut self, now: Time, packet: &Packet, ports: &[PortView]) -> usize;
}

/// Factory of a custom load balancer, which builds one for each switch.
#[derive(Clone)]
pub struct BuildBalancer(Arc<dyn Fn(u32) -> Box<dyn LoadBalancer> + Send + Sync>);

impl BuildBalancer {
    /// Creates a factory. It calls `build` for each switch, with the number of the switch.
    /// The closure `build` must contain the parameters of the load balancer.
    pub fn new<L: LoadBalancer + 'static>(
        build: impl Fn(u32) -> L + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |switch| Box::new(build(switch))))
    }

    pub(crate) fn build(&self, switch: u32) -> Box<dyn LoadBalancer> {
        (self.0)(switch)
    }
}

impl core::fmt::Debug for BuildBalancer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BuildBalancer")
    }
}
