//! pFabric's parameters.

use crate::config::{ConfigError, SERVICE_PORT, payload, positive, service_port, some};
use tailcut_units::Duration;

/// Parameters of one host's pFabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PFabricConfig {
    /// Payload bytes of a full packet, 1 to 65,535. Default 1,460.
    pub mss: u32,
    /// Packets that a flow starts with, at least 1: about the bandwidth-delay product. Default 12 (pFabric
    /// paper, at 10 Gb/s and 14.6 us; public code has up to 70).
    pub initial_window: u32,
    /// Packets in flight at most, at least 1: less than a switch's queue holds, so that a flow alone
    /// drops nothing. Default 22, one less than fit in 36 KB.
    pub max_window: u32,
    /// The retransmission timeout, fixed, above 0: about three round trips. Default 45 us (pFabric
    /// paper; public code has up to 250 us). Below a round trip every packet is sent several times.
    pub rto: Duration,
    /// Timeouts in a row after which the sender only probes, at least 1. Default 5 (pFabric paper).
    pub probe_after: u8,
    /// How long the receiver of a finished flow remembers it after the last of its packets; the sender
    /// keeps the addresses for twice as long. It must outlast the stay of packets in the network and
    /// the retransmissions that follow a lost last ACK. Default 10 ms.
    pub time_wait: Duration,
    /// The port that hosts are reached at, 1 to 32,765. Default 80.
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
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        service_port(self.port, "flows")?;
        payload("mss", self.mss)?;
        some("initial_window", self.initial_window, "at least 1 packet")?;
        some("max_window", self.max_window, "at least 1 packet")?;
        positive("rto", self.rto)?;
        some("probe_after", self.probe_after, "1 to 255 timeouts")
    }
}
