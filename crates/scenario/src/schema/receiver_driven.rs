//! Keys of designs in which receivers pull and switches trim.

use super::key::{PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key, sets, typed, up_to};
use crate::value::Kind;
use tailcut_sim::fabric::MAX_MEMBERS;

const THRESHOLDS: Kind = Kind::Sizes { most: 7 };

/// Keys of NDP and NDP+.
pub const NDP: Section = Section {
    name: "ndp",
    repeated: false,
    about: "Endpoints and switch ports of NDP and NDP+.",
    keys: &[
        key(
            "initial_window",
            count(1, 1_000_000),
            sets!(settings.designs.ndp.initial_window),
            "Packets that a sender pushes before the first pull (NDP paper; 12 in the SCDP paper's model, at 1 \
             Gb/s). A value below the bandwidth-delay product reduces throughput.",
        ),
        key(
            "queue",
            PACKETS_OR_BYTES,
            sets!(settings.designs.ndp.queue),
            "Capacity of the data queue at a switch port (NDP paper).",
        ),
        key(
            "header_queue",
            count(1, 1_000_000),
            sets!(settings.designs.ndp.header_queue_packets),
            "Capacity of the queue for headers and control packets at a switch port, in bytes of this number of full \
             packets (NDP paper).",
        ),
        key(
            "headers_per_data",
            count(1, 1_000_000),
            sets!(settings.designs.ndp.headers_per_data),
            "Headers that a port sends for each data packet while both wait (NDP paper).",
        ),
        key(
            "min_rto",
            SPAN,
            sets!(settings.designs.ndp.min_rto),
            "Lower bound of the retransmission timeout, for lost control packets.",
        ),
        key(
            "initial_rto",
            SPAN,
            sets!(settings.designs.ndp.initial_rto),
            "Retransmission timeout before the first sample, at least min_rto.",
        ),
        key(
            "thresholds",
            THRESHOLDS,
            sets!(settings.designs.ndp.thresholds),
            "For ndp-plus: numbers of sent bytes after which a flow moves to the next lower class (SCDP paper).",
        ),
        typed(
            "resends_count",
            sets!(settings.designs.ndp.resends_count),
            "For ndp-plus: whether retransmitted bytes count towards the thresholds, as SCDP counts every symbol \
             that it sends.",
        ),
        typed(
            "host_order",
            sets!(settings.designs.ndp.host_order),
            "For ndp-plus: whether a host serves its flows by class, with strict priority and in turn within a \
             class. If false, it serves all flows in turn.",
        ),
        typed(
            "buffer",
            sets!(settings.designs.ndp.sharing),
            "For ndp-plus: use of ndp.queue. All classes share it (shared), or each class has an equal part \
             (by-class, SCDP paper).",
        ),
    ],
};

/// Keys of SCDP.
pub const SCDP: Section = Section {
    name: "scdp",
    repeated: false,
    about: "Endpoints of SCDP, the model of RaptorQ, and switch ports.",
    keys: &[
        key(
            "initial_window",
            count(1, 4_096),
            sets!(settings.designs.scdp.initial_window),
            "Symbols that a sender pushes before the first pull. \"auto\": 12 up to 1 Gb/s, 24 up to 5 Gb/s, 32 \
             above (SCDP paper). A value below the bandwidth-delay product reduces throughput.",
        )
        .or(&["auto"]),
        key(
            "shared_window",
            count(1, 4_096),
            sets!(settings.designs.scdp.shared_window),
            "Symbols that each of several senders pushes before the first pull. \"auto\": two thirds of \
             initial_window, so three senders push twice as much as one. The paper leaves the number to the \
             application.",
        )
        .or(&["auto"]),
        typed(
            "stragglers",
            sets!(settings.designs.scdp.stragglers.policy),
            "Action of the sender of a one-to-many transfer for receivers that delay the others. wait: it waits for \
             them. drop: it drops them. quorum: it ends the transfer when a quorum of receivers has all data. It \
             reports such receivers in each case.",
        ),
        key(
            "straggler_after",
            SPAN,
            sets!(settings.designs.scdp.stragglers.after),
            "A receiver whose missing pulls stop the transmission for this time is a straggler.",
        ),
        key(
            "quorum",
            count(1, MAX_MEMBERS as u64),
            sets!(combined.quorum),
            "For stragglers = \"quorum\": number of receivers that must have all data.",
        ),
        key(
            "block_symbols",
            count(1, 56_403),
            sets!(settings.designs.scdp.block_symbols),
            "Largest number of source symbols in a block. Unknown in the paper.",
        ),
        key(
            "overhead",
            count(0, 1_000),
            sets!(settings.designs.scdp.overhead),
            "Symbols beyond K that a receiver requests after a loss (SCDP paper).",
        ),
        typed(
            "decode_rate",
            sets!(settings.designs.scdp.decode_speed),
            "Decoding rate of a block in which a source symbol is missing, by its number of source symbols. The rate \
             is linear between two points and constant beyond the ends (SCDP paper's model).",
        ),
        key(
            "decode_cores",
            count(1, 100_000),
            sets!(settings.designs.scdp.decode_cores),
            "Number of blocks that a host decodes in parallel. \"auto\": the number that decodes full blocks at the \
             rate of the host's link, by decode_rate, and at least 8. This is 308 at 400 Gb/s, or 106 with the \
             measured rates of docs/designs/scdp.md. The paper's model has no limit.",
        ),
        key(
            "group_header",
            count(1, 10_000),
            sets!(settings.designs.scdp.group_header),
            "Additional bytes in a packet to several receivers, for the address of the group. In Elmo, whose \
             switches read the tree from the packet, it is at most 325 and on average 114. \"off\": switches store \
             the groups.",
        )
        .or(&["off"]),
        typed(
            "decode_failure",
            sets!(settings.designs.scdp.decode_failure),
            "Probability that decoding fails with 0, 1, and 2 or more symbols beyond K (RFC 6330's upper bounds).",
        ),
        key(
            "thresholds",
            THRESHOLDS,
            sets!(settings.designs.scdp.thresholds),
            "Numbers of sent bytes after which a session moves to the next lower class (SCDP paper). For a read from \
             several senders, the bytes of all senders count, on the assumption that each sends the same amount.",
        ),
        typed(
            "host_order",
            sets!(settings.designs.scdp.host_order),
            "Whether a host serves its sessions by class, with strict priority and in turn within a class. If false, \
             it serves all sessions in turn.",
        ),
        key(
            "timeout",
            SPAN,
            sets!(settings.designs.scdp.timeout),
            "Time that either end waits before a retry. Each retry doubles the time, up to 1 s. Unknown in the paper.",
        ),
        key(
            "max_timeouts",
            count(0, 1_000),
            sets!(settings.designs.scdp.max_timeouts),
            "Number of successive timeouts after which either end ends the session, 11 s with the defaults. A client \
             also ends a session if one of its senders never answered. Unknown in the paper; the default is Linux's \
             for TCP.",
        ),
        key(
            "queue",
            PACKETS_OR_BYTES,
            sets!(settings.designs.scdp.queue),
            "Capacity for symbols at a switch port. Each class has an equal part (SCDP paper).",
        ),
        key(
            "header_queue",
            SIZE,
            sets!(settings.designs.scdp.header_queue),
            "Capacity for headers and pulls at a switch port. In the paper's model this queue is never full.",
        ),
        key(
            "headers_per_data",
            count(1, 1_000_000),
            sets!(settings.designs.scdp.headers_per_data),
            "Headers and pulls that a port sends for each symbol while both wait. Unknown in the paper; the default \
             is NDP's.",
        ),
        typed(
            "victim",
            sets!(settings.designs.scdp.victim),
            "Symbol that a full queue trims. arrival: the new symbol. coin: at random the new symbol or the last one \
             in the queue, as in NDP.",
        ),
    ],
};

/// Keys of SCDP over switches that drop packets.
pub const SCDP_PLAIN: Section = Section {
    name: "scdp_plain",
    repeated: false,
    about: "SCDP over plain switches: a receiver grants credits to each sender, within a window that it adapts. The \
            keys scdp.block_symbols, scdp.overhead, scdp.decode_rate and similar ones apply too.",
    keys: &[
        key(
            "initial_window",
            count(1, 4_096),
            sets!(settings.designs.scdp_plain.initial_window),
            "Symbols that a sender pushes before the first credit (RFC 6928).",
        ),
        key(
            "max_window",
            count(4, 4_096),
            sets!(settings.designs.scdp_plain.max_window),
            "Largest number of symbols in flight from one sender.",
        ),
        key(
            "loss_by_chance",
            up_to(1.0),
            sets!(settings.designs.scdp_plain.loss_by_chance),
            "Share of lost symbols up to which losses do not shrink the window while there is no queue.",
        ),
        key(
            "min_timeout",
            SPAN,
            sets!(settings.designs.scdp_plain.min_timeout),
            "Shortest time that a receiver waits for a requested symbol before it queries the sender.",
        ),
        key(
            "timeout",
            SPAN,
            sets!(settings.designs.scdp_plain.timeout),
            "Time that either end waits before it has measured a round trip. \"auto\": four times the longest round \
             trip in the empty network, at least 1 ms.",
        )
        .or(&["auto"]),
        typed(
            "ecn",
            sets!(settings.designs.scdp_plain.ecn),
            "Whether symbols are ECN-capable. A mark shrinks the window.",
        ),
    ],
};
