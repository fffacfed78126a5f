//! NDP's parameters.

use crate::config::{ConfigError, SERVICE_PORT, no_shorter, payload, positive, service_port, some};
use crate::receiver_driven::Demotion;

use tailcut_units::Duration;

/// Parameters of one host's NDP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NdpConfig {
    /// Payload bytes of a full packet, 1 to 65,535. Default 1,460.
    pub mss: u32,
    /// Packets that a sender pushes before the first pull, at least 1. Default 30 (NDP paper, section
    /// 6; the SCDP paper's model has 12). Below the bandwidth-delay product throughput is lost.
    pub initial_window: u32,
    /// The time between two pulls of this host, above 0: what a full packet takes on its link, with
    /// headers, preamble and gap. Default 1,230.4 ns: 1,538 B at 10 Gb/s.
    pub pull_interval: Duration,
    /// Paths that a sender spreads its packets over; with 0 or 1 it leaves the choice to the switches.
    /// Default 1.
    pub paths: u16,
    /// Classes by bytes sent. Default none (NDP); NDP+ has them.
    pub demotion: Demotion,
    /// Whether bytes that are sent again count towards demotion, as all symbols do in SCDP. Default true.
    pub resends_count: bool,
    /// Whether the host serves its own flows by class, strictly; else all of them in turn. Default true.
    pub in_order: bool,
    /// What a payload byte takes on the host's link, for pulls of short packets. Default 0.8 ns: 10 Gb/s.
    pub byte_time: Duration,
    /// The retransmission timeout is not less than this, above 0. Default 5 ms.
    pub min_rto: Duration,
    /// The retransmission timeout before the first sample. Default 20 ms.
    pub initial_rto: Duration,
    /// The retransmission timeout's upper bound, backed off or not. Default 1 s.
    pub max_rto: Duration,
    /// Timeouts in a row, without a word from the receiver between them, after which a flow is given
    /// up. Default 15, as Linux's TCP.
    pub max_timeouts: u32,
    /// How long the receiver of a finished flow remembers it after the last of its packets; the sender
    /// keeps the addresses for twice as long. It must outlast the stay of packets in the network and
    /// the retransmissions that follow a lost last ACK. Default 100 ms.
    pub time_wait: Duration,
    /// The port that hosts are reached at, 1 to 32,765. Default 80.
    pub port: u16,
    /// Seed of the host's random stream: the order of paths.
    pub seed: u64,
}

impl Default for NdpConfig {
    fn default() -> Self {
        Self {
            mss: 1_460,
            initial_window: 30,
            pull_interval: Duration::from_ps(1_230_400),
            paths: 1,
            demotion: Demotion::NONE,
            resends_count: true,
            in_order: true,
            byte_time: Duration::from_ps(800),
            min_rto: Duration::from_ms(5),
            initial_rto: Duration::from_ms(20),
            max_rto: Duration::from_ms(1_000),
            max_timeouts: 15,
            time_wait: Duration::from_ms(100),
            port: SERVICE_PORT,
            seed: 0,
        }
    }
}

impl NdpConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        service_port(self.port, "flows")?;
        payload("mss", self.mss)?;
        some("initial_window", self.initial_window, "at least 1 packet")?;
        positive("pull_interval", self.pull_interval)?;
        positive("min_rto", self.min_rto)?;
        no_shorter("initial_rto", self.initial_rto, ("min_rto", self.min_rto))?;
        no_shorter("max_rto", self.max_rto, ("initial_rto", self.initial_rto))
    }
}
