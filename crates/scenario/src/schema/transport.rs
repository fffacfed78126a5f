//! Keys of the transports.

use super::key::{ANY_SPAN, SIZE, SPAN, Section, count, key, sets, typed, up_to};
use crate::value::Kind;

/// Keys of TCP.
pub const TCP: Section = Section {
    name: "tcp",
    repeated: false,
    about: "All TCP connections. The design selects the congestion controller.",
    keys: &[
        typed(
            "profile",
            sets!(profile),
            "Mechanisms of a stack under one name: linux (6.18), rfc (RFCs 5681, 6298, 6582 and 6675), or ns2 (ns-2.35: an \
             ACK for each segment). Each mechanism is also a key, which counts before the profile. See \
             docs/designs/which-tcp.md.",
        ),
        typed(
            "timers",
            sets!(timers),
            "Timers under one name: data-centre (min_rto and initial_rto 10 ms), stock (Linux: 200 ms and 1 s), or ns2 \
             (200 ms, 3 s, and a clock of 10 ms). Keys of single timers count before it.",
        ),
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
            "Data that a sender can send before the first ACK (RFC 6928).",
        ),
        key(
            "min_rto",
            SPAN,
            sets!(settings.tcp.min_rto),
            "Lower bound of the retransmission timeout, at least clock_granularity. The default fits a data centre, \
             where 1 to 10 ms are common. Linux has 200 ms, and RFC 6298 requires 1 s.",
        ),
        key(
            "initial_rto",
            SPAN,
            sets!(settings.tcp.initial_rto),
            "Retransmission timeout before the first sample, also for the SYN, at least min_rto. If only min_rto is \
             given and is longer, it is min_rto. The default fits a data centre. RFC 6298 and Linux have 1 s, with which \
             lost SYNs determine every tail.",
        ),
        key(
            "max_rto",
            SPAN,
            sets!(settings.tcp.max_rto),
            "Upper bound of the retransmission timeout (RFC 6298).",
        ),
        key(
            "clock_granularity",
            ANY_SPAN,
            sets!(settings.tcp.clock_granularity),
            "The timeout is at least the sum of the smoothed round-trip time and this value (G of RFC 6298, 2.3). \
             Linux in effect sets it to min_rto.",
        ),
        typed(
            "min_rto_above_srtt",
            sets!(settings.tcp.min_rto_above_srtt),
            "Whether the timeout exceeds the smoothed round-trip time by at least min_rto (Linux). Otherwise it exceeds it \
             by clock_granularity, and is at least min_rto.",
        ),
        key(
            "tick",
            SPAN,
            sets!(settings.tcp.tick),
            "Period of the timers' clock. A tail loss probe waits two periods longer than two round trips, and a \
             reordering timer two periods longer than its window (Linux: TCP_TIMEOUT_MIN).",
        ),
        key(
            "quick_acks",
            count(1, 255),
            sets!(settings.tcp.quick_acks),
            "Number of ACKs at the start of a connection that are not delayed, and again after a gap of more than the \
             retransmission timeout (Linux: 16).",
        )
        .or(&["off"]),
        key(
            "delayed_ack",
            count(2, 255),
            sets!(combined.acks.segments),
            "Segments per ACK. off: every segment is acknowledged immediately (RFC 5681).",
        )
        .or(&["off"]),
        key(
            "delayed_ack_timeout",
            SPAN,
            sets!(combined.acks.timeout),
            "Longest delay of an ACK, less than min_rto. \"auto\": 40 ms or half of min_rto, whichever is shorter.",
        )
        .or(&["auto"]),
        typed(
            "limited_transmit",
            sets!(settings.tcp.limited_transmit),
            "Whether the first two duplicate ACKs release new data (limited transmit, RFC 3042).",
        ),
        typed(
            "sack",
            sets!(settings.tcp.sack),
            "Whether receivers report SACK blocks and senders use them for recovery (RFC 2018, 6675). If false, \
             recovery is NewReno's (RFC 6582).",
        ),
        typed(
            "loss_recovery",
            sets!(settings.tcp.loss_recovery),
            "Loss detection with sack: rack by the times at which segments were sent (RFC 8985, Linux), rfc6675 by the \
             number of SACK blocks above a hole.",
        ),
        typed(
            "tail_loss_probe",
            sets!(settings.tcp.tail_loss_probe),
            "Whether a sender with rack probes the end of a flight after two round trips without an ACK (TLP, RFC \
             8985, 7).",
        ),
        typed(
            "rate_reduction",
            sets!(settings.tcp.rate_reduction),
            "Whether a sender with rack spreads the reduction of its window over a round trip (PRR, RFC 6937).",
        ),
        typed(
            "undo",
            sets!(settings.tcp.undo),
            "Whether a sender with rack takes a reduction back once DSACKs (RFC 3708) or time stamps (RFC 3522) show that \
             it was needless.",
        ),
        typed(
            "timestamps",
            sets!(settings.tcp.timestamps),
            "Whether segments carry time stamps in milliseconds, which show the transmission that an ACK answers (RFC 7323, \
             RFC 3522). framing.header counts their 12 bytes if it is 70.",
        ),
        typed(
            "frto",
            sets!(settings.tcp.frto),
            "Whether a sender with rack sends new data after a timeout to find out whether it was spurious (F-RTO, RFC \
             5682).",
        ),
        typed(
            "reduces_window",
            sets!(settings.tcp.reduces_window),
            "Whether a loss reduces the window itself (Linux), instead of the bytes in flight (RFC 5681).",
        ),
        typed(
            "lost_syn_keeps_window",
            sets!(settings.tcp.lost_syn_keeps_window),
            "Whether the initial window stays after one lost SYN or SYN-ACK (Linux). Otherwise it becomes one segment \
             (RFC 5681, 3.1).",
        ),
        key(
            "linear_syn_timeouts",
            count(1, 127),
            sets!(settings.tcp.linear_syn_timeouts),
            "Timeouts of a SYN before the timeout doubles (Linux since 6.5: 4).",
        )
        .or(&["off"]),
        key(
            "slow_start_limit",
            count(1, 255),
            sets!(settings.tcp.slow_start_limit),
            "Segments by which one ACK opens the window in slow start at most (L of RFC 3465). unlimited: every \
             acknowledged byte counts (Linux).",
        )
        .or(&["unlimited"]),
        typed(
            "window_use",
            sets!(settings.tcp.window_use),
            "Use of the window that lets it grow: full (the window limited the sender), or half (in slow start, more \
             than half of it was in flight; Linux, with rack).",
        ),
        typed(
            "restart_after_idle",
            sets!(settings.tcp.restart_after_idle),
            "Whether the window shrinks while a connection is idle: by half for each retransmission timeout, down to the \
             initial window (Linux, with rack).",
        ),
        typed(
            "control_ect",
            sets!(settings.tcp.control_ect),
            "Whether SYNs and pure ACKs of DCTCP are also ECN-capable (Linux), and not only data (RFC 8257).",
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
            "Upper bound of the congestion window.",
        )
        .or(&["unlimited"]),
        key(
            "initial_ssthresh",
            SIZE,
            sets!(settings.tcp.initial_ssthresh),
            "Window at which the first slow start of a connection ends (64 KB in older versions of ns-3). unlimited: \
             it ends at the first congestion.",
        )
        .or(&["unlimited"]),
        key(
            "hystart",
            SPAN,
            sets!(settings.tcp.hystart),
            "HyStart, with which CUBIC leaves slow start at a window of 16 segments or more. microseconds: that of Linux \
             since 5.6. A time: the clock tick, which is the jiffy (1, 4 or 10 ms) in Linux 2.6.29 to 2.6.38, and 1 ms \
             up to 5.5. off: slow start ends at the first congestion.",
        ),
        typed(
            "whole_segments",
            sets!(settings.tcp.whole_segments),
            "Whether the window of CUBIC grows in whole segments, with the integer arithmetic of Linux. Otherwise it grows \
             in bytes, with real numbers (RFC 9438).",
        ),
        key(
            "duplicate_ack_threshold",
            count(1, 255),
            sets!(settings.tcp.duplicate_ack_threshold),
            "Number of duplicate ACKs that indicates a loss (RFC 5681).",
        ),
        key(
            "max_syn_retries",
            count(0, 255),
            sets!(settings.tcp.max_syn_retries),
            "Retransmissions of a SYN or SYN-ACK before the connection fails.",
        ),
        key(
            "max_data_retries",
            count(0, 255),
            sets!(settings.tcp.max_data_retries),
            "Successive timeouts without progress before the connection fails.",
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
            "Initial estimate of marking of a DCTCP connection. RFC 8257, 4.2, allows 0 (\"none\") for flows that \
             need throughput at once.",
        )
        .or(&["none"]),
        typed(
            "classic_ecn",
            sets!(settings.tcp.classic_ecn),
            "Whether NewReno and CUBIC negotiate ECN and react to a mark as to a loss (RFC 3168). DCTCP always \
             negotiates it.",
        ),
    ],
};

/// Keys of RepFlow and RepSYN.
pub const REPNET: Section = Section {
    name: "repnet",
    repeated: false,
    about: "RepFlow and RepSYN.",
    keys: &[
        key(
            "limit",
            SIZE,
            sets!(settings.repnet.limit),
            "Flows below this size are replicated (RepNet paper).",
        ),
        key(
            "archive_limit",
            SIZE,
            sets!(settings.repnet.archive_limit),
            "Largest number of bytes that a server archives for a connection that has not arrived. Above it, the \
             server uses only the connection that it has. The paper gives no value.",
        ),
        key(
            "waiting_list_timeout",
            SPAN,
            sets!(settings.repnet.waiting_list_timeout),
            "Time that a server waits for the second connection of a flow (0.8 to 1 s in the released code).",
        ),
    ],
};
