//! Parameters of NDP, NDP+ and SCDP.

use tailcut_fabric::queue::{Limit, Sharing, Victim};
use tailcut_transport::scdp::{CreditConfig, DecodeSpeed, ModelCodec};
use tailcut_transport::{StragglerPolicy, Stragglers};
use tailcut_units::{Bytes, Duration};

/// Where NDP+ and SCDP demote flows: after 10 KB, 100 KB, 1 MB and 10 MB sent (SCDP paper, section V).
pub const SCDP_THRESHOLDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Parameters of NDP and of its switches. NDP+ has the same, and classes.
#[derive(Clone, PartialEq, Debug)]
pub struct NdpParameters {
    /// Packets pushed before the first pull, at least 1. 30 (NDP paper, section 6); 12 in the SCDP
    /// paper's model, at 1 Gb/s.
    pub initial_window: u32,
    /// Data that may wait at a switch port: 8 packets (NDP paper, section 3.1).
    pub queue: Limit,
    /// Headers and control packets that may wait at a switch port take as many bytes as so many full
    /// packets: 8, the same as data has (NDP paper, section 3.1).
    pub header_queue_packets: u32,
    /// Headers that a port sends for each data packet while both wait: 10 (NDP paper, section 3.1).
    pub headers_per_data: u32,
    /// The retransmission timeout is not less than this: 5 ms.
    pub min_rto: Duration,
    /// The retransmission timeout before the first sample: 20 ms.
    pub initial_rto: Duration,
    /// Bytes sent at which NDP+ demotes a flow, ascending, at most 7. NDP has none.
    pub thresholds: Vec<u64>,
    /// Whether NDP+ counts bytes that it sends again towards these: yes, as SCDP counts every symbol.
    pub resends_count: bool,
    /// Whether NDP+'s hosts serve their own flows by class, as its switches do: yes.
    pub host_order: bool,
    /// Whether NDP+'s classes share the room for data at a port or each has a part of it: they share it,
    /// since `queue` holds a few packets only; in the SCDP paper the buffer is split.
    pub sharing: Sharing,
}

impl Default for NdpParameters {
    fn default() -> Self {
        Self {
            initial_window: 30,
            queue: Limit::Packets(8),
            header_queue_packets: 8,
            headers_per_data: 10,
            min_rto: Duration::from_ms(5),
            initial_rto: Duration::from_ms(20),
            thresholds: SCDP_THRESHOLDS.to_vec(),
            resends_count: true,
            host_order: true,
            sharing: Sharing::Shared,
        }
    }
}

/// How many blocks a host can decode at a time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum DecodeCores {
    /// As many cores as decode at the rate of the host's link, and at least 8: blocks of one read
    /// end together (seven for 1 MB), and with one core at 1 Gb/s the last waited for the others.
    #[default]
    Auto,
    /// Any number.
    Unlimited,
    /// So many, at least 1.
    Count(u32),
}

/// Parameters of SCDP, of its model of RaptorQ, and of its switches.
#[derive(Clone, PartialEq, Debug)]
pub struct ScdpParameters {
    /// Symbols pushed before the first pull, 1 to 4,096. `None`: as in the SCDP paper (section V) by the
    /// rate of the sender's link: 12 up to 1 Gb/s, 24 up to 5 Gb/s, 32 above.
    pub initial_window: Option<u32>,
    /// Symbols that each sender of several pushes, 1 to 4,096. `None`: two thirds of one sender's, so that
    /// three push twice as much. The paper leaves it to the application (section IV-E).
    pub shared_window: Option<u32>,
    /// What a sender does about receivers that hold the others up, and when they do: it waits, and
    /// reports them after 20 ms. The paper leaves it to the application (section IV-D).
    pub stragglers: Stragglers,
    /// Source symbols of a block at most, 1 to 56,403: 100. The paper's value is not known.
    pub block_symbols: u32,
    /// Symbols beyond K that a receiver asks for after a loss: 2 (section IV-C).
    pub overhead: u32,
    /// How often decoding fails, at 0, 1, and 2 or more symbols over K: 1e-2, 1e-4, 1e-6 (RFC 6330).
    pub decode_failure: [f64; 3],
    /// How fast blocks are decoded: 1.3 Gb/s (section V).
    pub decode_speed: DecodeSpeed,
    /// How many blocks a host decodes at a time. The paper's model has no limit.
    pub decode_cores: DecodeCores,
    /// Bytes that the address of a group takes on each packet to it: 0; up to 325 B, 114 in the mean, in
    /// Elmo (Shahbaz et al., SIGCOMM 2019), whose switches read the tree off the packet.
    pub group_header: Bytes,
    /// Bytes sent at which a session is demoted, ascending, at most 7: 10 KB, 100 KB, 1 MB, 10 MB.
    pub thresholds: Vec<u64>,
    /// Whether hosts serve their own sessions by class, as switches do: yes.
    pub host_order: bool,
    /// How long either end waits before it tries again: 20 ms. The paper names no value.
    pub timeout: Duration,
    /// Timeouts in a row after which an end gives up: 15, as Linux's TCP.
    pub max_timeouts: u32,
    /// Symbols that may wait at a switch port, split evenly among the classes: 100 KB (section V).
    pub queue: Limit,
    /// Bytes of headers and pulls that may wait at a switch port: 1 MB, since the paper takes this queue
    /// for never full (section IV-B).
    pub header_queue: Bytes,
    /// Headers and pulls that a port sends for each symbol while both wait: 10, as in NDP. The paper
    /// names no value.
    pub headers_per_data: u32,
    /// Which symbol is trimmed on overflow: the arrival (section IV-A); NDP's coin is the alternative.
    pub victim: Victim,
}

impl Default for ScdpParameters {
    fn default() -> Self {
        Self {
            initial_window: None,
            shared_window: None,
            stragglers: Stragglers {
                after: Duration::from_ms(20),
                policy: StragglerPolicy::Wait,
            },
            block_symbols: 100,
            overhead: 2,
            decode_failure: ModelCodec::FAILURE,
            decode_speed: DecodeSpeed::paper(),
            decode_cores: DecodeCores::Auto,
            group_header: Bytes(0),
            thresholds: SCDP_THRESHOLDS.to_vec(),
            host_order: true,
            timeout: Duration::from_ms(20),
            max_timeouts: 15,
            queue: Limit::Bytes(100_000),
            header_queue: Bytes(1_000_000),
            headers_per_data: 10,
            victim: Victim::Arrival,
        }
    }
}

/// Parameters of SCDP over switches that drop, beside those of blocks and of the codec, which are SCDP's.
#[derive(Clone, PartialEq, Debug)]
pub struct ScdpPlainParameters {
    /// Symbols that a sender pushes before the first credit, 1 to 4,096: 10, as TCP (RFC 6928).
    pub initial_window: u32,
    /// Symbols in flight from one sender at most, 4 to 4,096: 4,096.
    pub max_window: u32,
    /// The share of symbols up to which losses without a queue do not close the window: 0.1.
    pub loss_by_chance: f64,
    /// How long a receiver waits for a symbol at least before it asks: 200 us.
    pub min_timeout: Duration,
    /// How long either end waits before it knows a round trip. `None`: four times the longest in the
    /// empty network, at least 1 ms.
    pub timeout: Option<Duration>,
    /// Whether symbols are ECN-capable: yes.
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
