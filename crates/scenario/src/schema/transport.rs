//! The keys of the transports.

use super::key::{ANY_SPAN, SIZE, SPAN, Section, count, key, sets, typed, up_to};
use crate::value::Kind;

/// TCP.
pub const TCP: Section = Section {
    name: "tcp",
    repeated: false,
    about: "Every TCP connection, whatever governs its window: the design says that.",
    keys: &[
        key(
            "mss",
            count(64, 65_495),
            sets!(settings.tcp.mss),
            "Payload bytes of a full segment.",
        ),
        key(
            "initial_window",
            Kind::Sized {
                of: "segments",
                least: 1,
                most: 1_000_000,
            },
            sets!(settings.tcp.initial_window),
            "What may be sent before the first ACK (RFC 6928).",
        ),
        key(
            "min_rto",
            SPAN,
            sets!(settings.tcp.min_rto),
            "The lower bound of the retransmission timeout, at least clock_granularity: that of a data \
             centre, where 1 to 10 ms are set. Linux has 200 ms, and RFC 6298 asks for 1 s.",
        ),
        key(
            "initial_rto",
            SPAN,
            sets!(settings.tcp.initial_rto),
            "The retransmission timeout before the first sample, the SYN's included: that of a data centre. \
             RFC 6298 and Linux have 1 s, with which a lost SYN decides every tail.",
        ),
        key(
            "max_rto",
            SPAN,
            sets!(settings.tcp.max_rto),
            "The upper bound of the retransmission timeout (RFC 6298).",
        ),
        key(
            "clock_granularity",
            ANY_SPAN,
            sets!(settings.tcp.clock_granularity),
            "The timeout is at least the smoothed round-trip time and this (G of RFC 6298, 2.3). \
             Linux in effect sets it to min_rto.",
        ),
        key(
            "delayed_ack",
            count(2, 255),
            sets!(joint.acks.segments),
            "Segments an ACK; off: every segment is acknowledged at once (RFC 5681).",
        )
        .or(&["off"]),
        key(
            "delayed_ack_timeout",
            SPAN,
            sets!(joint.acks.timeout),
            "The longest that an ACK is held back, less than min_rto. \"auto\": 40 ms, or half of \
             min_rto where that is shorter.",
        )
        .or(&["auto"]),
        typed(
            "limited_transmit",
            sets!(settings.tcp.limited_transmit),
            "Whether the first two duplicate ACKs release new data (RFC 3042).",
        ),
        typed(
            "sack",
            sets!(settings.tcp.sack),
            "Whether receivers report SACK blocks and senders recover by them (RFC 2018, 6675); \
             otherwise NewReno's recovery (RFC 6582).",
        ),
        key(
            "lso",
            Kind::Bytes { least: 1 },
            sets!(settings.tcp.lso_bytes),
            "Large-send offload: payload bytes that leave as one burst.",
        )
        .or(&["off"]),
        key(
            "max_cwnd",
            SIZE,
            sets!(settings.tcp.max_cwnd),
            "The congestion window's upper bound.",
        )
        .or(&["unlimited"]),
        key(
            "initial_ssthresh",
            SIZE,
            sets!(settings.tcp.initial_ssthresh),
            "Where a connection's first slow start ends (64 KB in ns-3 for long); unlimited: at the first \
             congestion.",
        )
        .or(&["unlimited"]),
        key(
            "hystart",
            SPAN,
            sets!(settings.tcp.hystart),
            "CUBIC leaves slow start by HyStart, from 16 segments on, with a clock that ticks so often: the \
             jiffy, 1, 4 or 10 ms, of Linux 2.6.29 to 2.6.38, 1 ms since; off: at the first congestion.",
        )
        .or(&["off"]),
        key(
            "duplicate_ack_threshold",
            count(1, 255),
            sets!(settings.tcp.duplicate_ack_threshold),
            "Duplicate ACKs that mean loss (RFC 5681).",
        ),
        key(
            "max_syn_retries",
            count(0, 255),
            sets!(settings.tcp.max_syn_retries),
            "How often a SYN or SYN-ACK is sent again before the connection fails.",
        ),
        key(
            "max_data_retries",
            count(0, 255),
            sets!(settings.tcp.max_data_retries),
            "Timeouts in a row without progress before the connection fails.",
        ),
        key(
            "dctcp_gain",
            up_to(1.0),
            sets!(settings.dctcp_gain),
            "DCTCP's g, the weight of the newest window in the estimate of marking (RFC 8257).",
        ),
        key(
            "dctcp_first_alpha",
            up_to(1.0),
            sets!(settings.dctcp_first_alpha),
            "The estimate of marking that a DCTCP connection begins with (RFC 8257, 4.2, which leaves 0, \
             \"none\", to flows that need throughput at once).",
        )
        .or(&["none"]),
        typed(
            "classic_ecn",
            sets!(settings.tcp.classic_ecn),
            "Whether NewReno and CUBIC negotiate ECN and answer a mark like a loss (RFC 3168). \
             DCTCP always negotiates it.",
        ),
    ],
};

/// RepFlow and RepSYN.
pub const REPNET: Section = Section {
    name: "repnet",
    repeated: false,
    about: "RepFlow and RepSYN.",
    keys: &[
        key(
            "limit",
            SIZE,
            sets!(settings.repnet.limit),
            "Flows under this size are replicated (RepNet paper).",
        ),
        key(
            "archive_limit",
            SIZE,
            sets!(settings.repnet.archive_limit),
            "A server that has archived more than this for a connection that has not come yet \
             settles on the one that it has. The paper gives no value.",
        ),
        key(
            "waiting_list_timeout",
            SPAN,
            sets!(settings.repnet.waiting_list_timeout),
            "How long a server waits for the second connection of a flow (0.8 to 1 s in the \
             released code).",
        ),
    ],
};
