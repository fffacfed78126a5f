//! Parameters of pFabric.

use crate::config::{ConfigError, SERVICE_PORT, payload, positive, service_port, some};
use tailcut_units::Duration;

/// pFabric parameters of one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PFabricConfig {
    /// Payload bytes of a full packet, 1 to 65,535. Default 1,460.
    pub mss: u32,
    /// Initial window of a flow in packets, at least 1. The window is about the bandwidth-delay product.
    /// Default 12 (pFabric paper, for 10 Gb/s and a round trip of 14.6 us; public code has up to 70).
    pub initial_window: u32,
    /// Largest window in packets, at least 1.
    /// The largest window must be less than the capacity of a switch's queue, so that a single flow loses no packets.
    /// Default 22: one less than the number of packets that fit into 36 KB.
    pub max_window: u32,
    /// Retransmission timeout, fixed, more than 0. The timeout is about three round trips.
    /// Default 45 us (pFabric paper; public code has up to 250 us).
    /// If the timeout is shorter than a round trip, the sender sends each packet several times.
    pub rto: Duration,
    /// Number of timeouts in a row after which the sender sends only probes, at least 1. Default 5 (pFabric paper).
    pub probe_after: u8,
    /// Time for which a receiver remembers a finished flow, counted from the last packet that arrives.
    /// The sender keeps the addresses for twice this time. The time must exceed the life of a packet in the network.
    /// The time must also cover the sender's retransmissions after the loss of the last ACK. Default 10 ms.
    pub time_wait: Duration,
    /// Port of the service on every host, 1 to 32,765. Default 80.
    pub port: u16,
}

impl Default for PFabricConfig {
    fn default() -> Self {
        Self {
            mss: 1_460,
            initial_window: 12,
            max_window: 22,
            rto: Duration::from_us(45),
            probe_after: 5,
            time_wait: Duration::from_ms(10),
            port: SERVICE_PORT,
        }
    }
}

impl PFabricConfig {
    /// Checks all parameters.
    ///
    /// # Errors
    /// A parameter is outside its range. The error contains the first such parameter.
    pub fn validate(&self) -> Result<(), ConfigError> {
        service_port(self.port, "flows")?;
        payload("mss", self.mss)?;
        some("initial_window", self.initial_window, "at least 1 packet")?;
        some("max_window", self.max_window, "at least 1 packet")?;
        positive("rto", self.rto)?;
        some("probe_after", self.probe_after, "1 to 255 timeouts")
    }
}
