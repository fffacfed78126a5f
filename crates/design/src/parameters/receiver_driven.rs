//! Parameters of NDP, NDP+ and SCDP.

use tailcut_fabric::queue::{Limit, Sharing, Victim};
use tailcut_transport::ndp::NdpConfig;
use tailcut_transport::scdp::{CreditConfig, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::{Demotion, StragglerPolicy, Stragglers};
use tailcut_units::{Bytes, Duration};

/// Parameters of NDP and its switches. The thresholds are for NDP+ only.
#[derive(Clone, PartialEq, Debug)]
pub struct NdpParameters {
    /// Packets that a sender pushes before the first pull, at least 1. Default: 30 (NDP paper, section 6).
    /// The model in the SCDP paper uses 12, at 1 Gb/s.
    pub initial_window: u32,
    /// Capacity for data at a switch port. Default: 8 packets (NDP paper, section 3.1).
    pub queue: Limit,
    /// Capacity for headers and control packets at a switch port, in units of one full packet. Default: 8.
    /// The default has as many bytes as the capacity for data (NDP paper, section 3.1).
    pub header_queue_packets: u32,
    /// Number of headers that a port sends for each data packet, while headers and data wait. Default: 10.
    /// The source is the NDP paper, section 3.1.
    pub headers_per_data: u32,
    /// Lower bound of the retransmission timeout. Default: 5 ms.
    pub min_rto: Duration,
    /// Retransmission timeout before the first round-trip sample. Default: 20 ms.
    pub initial_rto: Duration,
    /// Thresholds of NDP+: numbers of sent bytes at which a flow moves to the next lower class.
    /// The thresholds ascend, and there are at most 7. NDP has no thresholds.
    pub thresholds: Vec<u64>,
    /// Whether the thresholds of NDP+ apply to all sent bytes, including retransmitted bytes.
    /// Default true, because SCDP counts every symbol.
    pub resends_count: bool,
    /// Whether hosts of NDP+ serve their own flows by class, as its switches do. Default true.
    pub host_order: bool,
    /// Whether NDP+'s classes share a port's capacity for data, or each class has a part of this capacity.
    /// Shared by default, because `queue` is only a few packets. The SCDP paper splits the buffer.
    pub sharing: Sharing,
}

impl Default for NdpParameters {
    fn default() -> Self {
        let host = NdpConfig::default();
        Self {
            initial_window: host.initial_window,
            queue: Limit::Packets(8),
            header_queue_packets: 8,
            headers_per_data: 10,
            min_rto: host.min_rto,
            initial_rto: host.initial_rto,
            thresholds: Demotion::SCDP.to_vec(),
            resends_count: host.resends_count,
            host_order: host.in_order,
            sharing: Sharing::Shared,
        }
    }
}

/// Number of blocks that a host can decode at the same time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum DecodeCores {
    /// Enough cores to decode at the rate of the host's link, and at least 8.
    /// All blocks of one read (seven for 1 MB) are complete at the same time.
    /// With one core at 1 Gb/s, the last block would therefore wait for all other blocks.
    #[default]
    Auto,
    /// No limit.
    Unlimited,
    /// Number of cores, at least 1.
    Count(u32),
}

/// Parameters of SCDP, its model of RaptorQ, and its switches.
#[derive(Clone, PartialEq, Debug)]
pub struct ScdpParameters {
    /// Symbols that a sender pushes before the first pull, 1 to 4,096.
    /// `None`: the value follows the rate of the sender's link: 12 up to 1 Gb/s, 24 up to 5 Gb/s, 32 above.
    /// The values are from the SCDP paper (section V).
    pub initial_window: Option<u32>,
    /// Symbols that each of several senders pushes before the first pull, 1 to 4,096.
    /// `None`: two thirds of a single sender's window, so that three senders push twice as many symbols.
    /// The paper leaves the value to the application (section IV-E).
    pub shared_window: Option<u32>,
    /// Time after which a slow receiver is a straggler, and the sender's policy for stragglers.
    /// By default, the sender reports stragglers after 20 ms and continues to wait.
    /// The paper leaves both values to the application (section IV-D).
    pub stragglers: Stragglers,
    /// Largest number of source symbols in a block, 1 to 56,403. Default: 100. The value in the paper is unknown.
    pub block_symbols: u32,
    /// Number of symbols beyond the source symbols of a block that a receiver requests after a loss. Default: 2.
    /// The source is the SCDP paper, section IV-C.
    pub overhead: u32,
    /// Probability that decoding fails with 0, 1, and 2 or more extra symbols. Default: 1e-2, 1e-4, 1e-6 (RFC 6330).
    pub decode_failure: [f64; 3],
    /// Decoding rate of a block. Default: 1.3 Gb/s (section V).
    pub decode_speed: DecodeSpeed,
    /// Number of blocks that a host decodes at the same time. The paper's model has no limit.
    pub decode_cores: DecodeCores,
    /// Bytes that a group's address adds to each packet. Default: 0.
    /// In Elmo (Shahbaz et al., SIGCOMM 2019) the address adds up to 325 B, on average 114 B.
    /// The reason is that packets of Elmo contain the multicast tree.
    pub group_header: Bytes,
    /// Thresholds: numbers of sent bytes at which a session moves to the next lower class.
    /// The thresholds ascend, and there are at most 7. Default: 10 KB, 100 KB, 1 MB, 10 MB.
    pub thresholds: Vec<u64>,
    /// Whether hosts serve their own sessions by class, as switches do. Default true.
    pub host_order: bool,
    /// Time after which a sender or receiver without progress tries again. Default: 20 ms. The paper gives no value.
    pub timeout: Duration,
    /// Number of timeouts in a row after which a sender or receiver fails. Default: 15, as in Linux's TCP.
    pub max_timeouts: u32,
    /// Capacity for symbols at a switch port, split evenly among the classes. Default: 100 KB (section V).
    pub queue: Limit,
    /// Capacity in bytes for headers and pulls at a switch port. Default: 1 MB.
    /// The paper assumes that this queue is never full (section IV-B).
    pub header_queue: Bytes,
    /// Number of headers and pulls that a port sends for each symbol, while both kinds of packets wait.
    /// Default: 10, as in NDP. The paper gives no value.
    pub headers_per_data: u32,
    /// Choice of the symbol that is trimmed if the queue is full. Default: the arriving symbol (section IV-A).
    /// The alternative is NDP's random choice.
    pub victim: Victim,
}

impl Default for ScdpParameters {
    fn default() -> Self {
        let host = ScdpConfig::default();
        Self {
            initial_window: None,
            shared_window: None,
            stragglers: Stragglers {
                after: Duration::from_ms(20),
                policy: StragglerPolicy::Wait,
            },
            block_symbols: host.block_symbols,
            overhead: host.overhead,
            decode_failure: ModelCodec::FAILURE,
            decode_speed: DecodeSpeed::paper(),
            decode_cores: DecodeCores::Auto,
            group_header: Bytes(0),
            thresholds: Demotion::SCDP.to_vec(),
            host_order: host.in_order,
            timeout: host.timeout,
            max_timeouts: host.max_timeouts,
            queue: Limit::Bytes(100_000),
            header_queue: Bytes(1_000_000),
            headers_per_data: 10,
            victim: Victim::Arrival,
        }
    }
}

/// Parameters of SCDP over switches that drop packets. Blocks and the codec have the parameters of SCDP.
#[derive(Clone, PartialEq, Debug)]
pub struct ScdpPlainParameters {
    /// Symbols that a sender pushes before the first credit, 1 to 4,096. Default: 10, as in TCP (RFC 6928).
    pub initial_window: u32,
    /// Largest number of symbols in flight from one sender, 4 to 4,096. Default: 4,096.
    pub max_window: u32,
    /// Share of lost symbols up to which the window does not shrink, if there is no queue. Default: 0.1.
    pub loss_by_chance: f64,
    /// Shortest time for which a receiver waits for a symbol before it sends a probe. Default: 200 us.
    pub min_timeout: Duration,
    /// Timeout of senders and receivers before the first round-trip sample.
    /// `None`: four times the longest round trip in the empty network, at least 1 ms.
    pub timeout: Option<Duration>,
    /// Whether symbols are ECN-capable. Default true.
    pub ecn: bool,
}

impl Default for ScdpPlainParameters {
    fn default() -> Self {
        let credit = CreditConfig::default();
        Self {
            initial_window: 10,
            max_window: credit.max_window,
            loss_by_chance: credit.loss_by_chance,
            min_timeout: credit.min_timeout,
            timeout: None,
            ecn: credit.ecn,
        }
    }
}
