//! A user's own load balancer: what it is asked, and how each switch gets one.

use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::sync::Arc;
use tailcut_units::{Rate, Time};

/// What a load balancer sees of an equal-cost port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortView {
    /// The port's number within the switch.
    pub port: u32,
    /// Bytes that are queued at it.
    pub backlog_bytes: u64,
    /// Packets that are queued at it.
    pub backlog_packets: u32,
    /// Its link's rate.
    pub rate: Rate,
    /// Whether its link is up.
    pub is_up: bool,
    /// Packets that it has sent so far; at a port with one event for each packet, those queued included.
    pub accepted_packets: u64,
    /// Their bytes.
    pub accepted_bytes: u64,
    /// Packets that it has dropped so far.
    pub dropped: u64,
}

/// A user's own choice among equal-cost ports.
pub trait LoadBalancer: core::fmt::Debug + Send {
    /// The index into `ports` (never empty) that `packet` takes.
    fn select(&mut self, now: Time, packet: &Packet, ports: &[PortView]) -> usize;
}

/// Builds a user's own load balancer for each switch.
#[derive(Clone)]
pub struct BuildBalancer(Arc<dyn Fn(u32) -> Box<dyn LoadBalancer> + Send + Sync>);

impl BuildBalancer {
    /// Calls `build` for each switch, with its number. The closure carries what parameters there are.
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
