//! The keys of designs in which receivers pull over switches that trim.

use super::key::{PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key, sets, typed, up_to};
use crate::value::Kind;
use tailcut_sim::fabric::MAX_MEMBERS;

const THRESHOLDS: Kind = Kind::Sizes { most: 7 };

/// NDP and NDP+.
pub const NDP: Section = Section {
    name: "ndp",
    repeated: false,
    about: "NDP and NDP+: endpoints and switch ports.",
    keys: &[
        key(
            "initial_window",
            count(1, 1_000_000),
            sets!(settings.designs.ndp.initial_window),
            "Packets pushed before the first pull (NDP paper; 12 in the SCDP paper's model, at 1 Gb/s). \
             Below the bandwidth-delay product it costs throughput.",
        ),
        key(
            "queue",
            PACKETS_OR_BYTES,
            sets!(settings.designs.ndp.queue),
            "Data that may wait at a switch port (NDP paper).",
        ),
        key(
            "header_queue",
            count(1, 1_000_000),
            sets!(settings.designs.ndp.header_queue_packets),
            "Headers and control packets that may wait at a switch port take as many bytes as so many \
             full packets (NDP paper).",
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
            "The lower bound of the retransmission timeout, for control packets that are lost.",
        ),
        key(
            "initial_rto",
            SPAN,
            sets!(settings.designs.ndp.initial_rto),
            "The retransmission timeout before the first sample, at least min_rto.",
        ),
        key(
            "thresholds",
            THRESHOLDS,
            sets!(settings.designs.ndp.thresholds),
            "For ndp-plus: bytes sent at which a flow goes down a class (SCDP paper).",
        ),
        typed(
            "resends_count",
            sets!(settings.designs.ndp.resends_count),
            "For ndp-plus: whether bytes that are sent again count towards the thresholds, as SCDP counts \
             every symbol that it sends.",
        ),
        typed(
            "host_order",
            sets!(settings.designs.ndp.host_order),
            "For ndp-plus: whether hosts serve their own flows by class, strictly, and in turn within a \
             class; else all in turn.",
        ),
        typed(
            "buffer",
            sets!(settings.designs.ndp.sharing),
            "For ndp-plus: whether classes share ndp.queue or it is split evenly among them (by-class), as \
             in the SCDP paper.",
        ),
    ],
};

/// SCDP.
pub const SCDP: Section = Section {
    name: "scdp",
    repeated: false,
    about: "SCDP: endpoints, the model of RaptorQ, and switch ports.",
    keys: &[
        key(
            "initial_window",
            count(1, 4_096),
            sets!(settings.designs.scdp.initial_window),
            "Symbols pushed before the first pull. \"auto\": 12 up to 1 Gb/s, 24 up to 5 Gb/s, 32 above \
             (SCDP paper). Below the bandwidth-delay product it costs throughput.",
        )
        .or(&["auto"]),
        key(
            "shared_window",
            count(1, 4_096),
            sets!(settings.designs.scdp.shared_window),
            "Symbols that each sender of several pushes. \"auto\": two thirds of initial_window, so that \
             three push twice as much. The paper leaves it to the application.",
        )
        .or(&["auto"]),
        typed(
            "stragglers",
            sets!(settings.designs.scdp.stragglers.policy),
            "What the sender of a one-to-many transfer does about receivers that hold the others up, \
             beside reporting them: wait, drop them, or end the transfer at a quorum of receivers.",
        ),
        key(
            "straggler_after",
            SPAN,
            sets!(settings.designs.scdp.stragglers.after),
            "How long nothing could be sent for want of a receiver's pulls until it is a straggler.",
        ),
        key(
            "quorum",
            count(1, MAX_MEMBERS as u64),
            sets!(joint.quorum),
            "For stragglers = \"quorum\": receivers that must have everything.",
        ),
        key(
            "block_symbols",
            count(1, 56_403),
            sets!(settings.designs.scdp.block_symbols),
            "Source symbols of a block at most. Unknown in the paper.",
        ),
        key(
            "overhead",
            count(0, 1_000),
            sets!(settings.designs.scdp.overhead),
            "Symbols beyond K that a receiver asks for after a loss (SCDP paper).",
        ),
        typed(
            "decode_rate",
            sets!(settings.designs.scdp.decode_speed),
            "How fast a block is decoded that lacks a source symbol, by its number of source symbols; \
             between two of them linear (SCDP paper's model; beyond the ends as at the nearest).",
        ),
        key(
            "decode_cores",
            count(1, 100_000),
            sets!(settings.designs.scdp.decode_cores),
            "Blocks that a host decodes at a time. \"auto\": as many as decode at the rate of its link, by \
             decode_rate for full blocks, and at least 8: 308 at 400 Gb/s (106 with the rates that were \
             measured, docs/designs/scdp.md). The paper's model has no limit.",
        ),
        key(
            "group_header",
            count(1, 10_000),
            sets!(settings.designs.scdp.group_header),
            "Bytes more on a packet to several receivers, for the address of the group: at most 325, 114 in \
             the mean, in Elmo, whose switches read the tree off the packet. Off: switches know the groups.",
        )
        .or(&["off"]),
        typed(
            "decode_failure",
            sets!(settings.designs.scdp.decode_failure),
            "How likely it is that decoding fails with 0, 1, and 2 or more symbols over K (RFC 6330's \
             upper bounds).",
        ),
        key(
            "thresholds",
            THRESHOLDS,
            sets!(settings.designs.scdp.thresholds),
            "Bytes sent at which a session goes down a class (SCDP paper); of a read from several senders by \
             all of them, each taken to send as much.",
        ),
        typed(
            "host_order",
            sets!(settings.designs.scdp.host_order),
            "Whether hosts serve their own sessions by class, strictly, and in turn within a class; else \
             all in turn.",
        ),
        key(
            "timeout",
            SPAN,
            sets!(settings.designs.scdp.timeout),
            "How long either end waits before it tries again; twice as long each time, up to 1 s. Unknown \
             in the paper.",
        ),
        key(
            "max_timeouts",
            count(0, 1_000),
            sets!(settings.designs.scdp.max_timeouts),
            "Timeouts in a row after which either end gives a session up, a client also one of whose \
             senders it never heard: 11 s with the defaults. Unknown in the paper; Linux's for TCP.",
        ),
        key(
            "queue",
            PACKETS_OR_BYTES,
            sets!(settings.designs.scdp.queue),
            "Symbols that may wait at a switch port, split evenly among the classes (SCDP paper).",
        ),
        key(
            "header_queue",
            SIZE,
            sets!(settings.designs.scdp.header_queue),
            "Headers and pulls that may wait at a switch port; the paper takes this queue for never full.",
        ),
        key(
            "headers_per_data",
            count(1, 1_000_000),
            sets!(settings.designs.scdp.headers_per_data),
            "Headers and pulls that a port sends for each symbol while both wait. Unknown in the paper; \
             NDP's.",
        ),
        typed(
            "victim",
            sets!(settings.designs.scdp.victim),
            "What is trimmed when symbols find no room: what arrives, or by NDP's coin that or the tail.",
        ),
    ],
};

/// SCDP over switches that drop.
pub const SCDP_PLAIN: Section = Section {
    name: "scdp_plain",
    repeated: false,
    about: "SCDP over plain switches: a receiver gives each sender credits, as many as a window that it adapts. \
            What scdp.block_symbols, .overhead, .decode_rate and the like say holds too.",
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
            "Symbols in flight from one sender, at most.",
        ),
        key(
            "loss_by_chance",
            up_to(1.0),
            sets!(settings.designs.scdp_plain.loss_by_chance),
            "The share of symbols up to which losses do not close the window while there is no queue.",
        ),
        key(
            "min_timeout",
            SPAN,
            sets!(settings.designs.scdp_plain.min_timeout),
            "How long a receiver waits at least for a symbol that it has asked for before it asks whether it \
             will come.",
        ),
        key(
            "timeout",
            SPAN,
            sets!(settings.designs.scdp_plain.timeout),
            "How long either end waits before it knows a round trip. \"auto\": four times the longest one in \
             the empty network, at least 1 ms.",
        )
        .or(&["auto"]),
        typed(
            "ecn",
            sets!(settings.designs.scdp_plain.ecn),
            "Whether symbols are ECN-capable: a mark closes the window.",
        ),
    ],
};
