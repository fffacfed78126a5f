//! Parameters of NDP.

use crate::config::{ConfigError, SERVICE_PORT, no_shorter, payload, positive, service_port, some};
use crate::receiver_driven::Demotion;

use tailcut_units::Duration;

/// NDP parameters of one host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NdpConfig {
    /// Payload bytes of a full packet, 1 to 65,535. Default 1,460.
    pub mss: u32,
    /// Number of packets that a sender pushes before the first pull, at least 1.
    /// Default 30 (NDP paper, section 6; the SCDP paper's model has 12).
    /// A window below the bandwidth-delay product reduces throughput.
    pub initial_window: u32,
    /// Time between two pulls of this host, more than 0.
    /// The interval is the time of a full packet on the host's link, with headers, preamble and gap.
    /// Default 1,230.4 ns: 1,538 B at 10 Gb/s.
    pub pull_interval: Duration,
    /// Number of paths over which a sender spreads its packets. With 0 or 1, the switches choose the path. Default 1.
    pub paths: u16,
    /// Priority classes by bytes sent. Default none (NDP). NDP+ has classes.
    pub demotion: Demotion,
    /// Whether retransmitted bytes count towards demotion, as all symbols do in SCDP. Default true.
    pub resends_count: bool,
    /// Whether the host serves its own flows in strict priority, by class. Otherwise flows take turns. Default true.
    pub in_order: bool,
    /// Time of one payload byte on the host's link, for the times of short packets. Default 0.8 ns: 10 Gb/s.
    pub byte_time: Duration,
    /// Lower bound of the retransmission timeout, more than 0. Default 5 ms.
    pub min_rto: Duration,
    /// Retransmission timeout before the first round-trip sample. Default 20 ms.
    pub initial_rto: Duration,
    /// Upper bound of the retransmission timeout, also after backoff. Default 1 s.
    pub max_rto: Duration,
    /// Number of timeouts in a row after which the flow fails, if no packet arrives from the receiver between them.
    /// Default 15, as in Linux's TCP.
    pub max_timeouts: u32,
    /// Time for which a receiver remembers a finished flow, counted from the last packet that arrives.
    /// The sender keeps the addresses for twice this time. The time must exceed the life of a packet in the network.
    /// The time must also cover the sender's retransmissions after the loss of the last ACK. Default 100 ms.
    pub time_wait: Duration,
    /// Port of the service on every host, 1 to 32,765. Default 80.
    pub port: u16,
    /// Seed of the host's random numbers, which order the paths.
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
    /// Checks all parameters.
    ///
    /// # Errors
    /// A parameter is outside its range. The error contains the first such parameter.
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
