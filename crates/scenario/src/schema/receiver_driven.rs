//! The keys of designs in which receivers pull over switches that trim.

use super::key::Fallback::Is;
use super::key::{PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key};
use crate::value::Kind;
use tailcut_sim::fabric::MAX_MEMBERS;

const THRESHOLDS: Kind = Kind::Sizes { most: 7 };

/// Who has the buffer of a port with classes.
pub(super) const BUFFERS: &[&str] = &["shared", "by-class"];

/// NDP and NDP+.
pub const NDP: Section = Section {
    name: "ndp",
    repeated: false,
    about: "NDP and NDP+: endpoints and switch ports.",
    keys: &[
        key(
            "initial_window",
            count(1, 1_000_000),
            Is("30"),
            "Packets pushed before the first pull (NDP paper; 12 in the SCDP paper's model, at 1 Gb/s). \
             Below the bandwidth-delay product it costs throughput.",
        ),
        key(
            "queue",
            PACKETS_OR_BYTES,
            Is("8 packets"),
            "Data that may wait at a switch port (NDP paper).",
        ),
        key(
            "header_queue",
            count(1, 1_000_000),
            Is("8"),
            "Headers and control packets that may wait at a switch port take as many bytes as so many \
             full packets (NDP paper).",
        ),
        key(
            "headers_per_data",
            count(1, 1_000_000),
            Is("10"),
            "Headers that a port sends for each data packet while both wait (NDP paper).",
        ),
        key(
            "min_rto",
            SPAN,
            Is("5ms"),
            "The lower bound of the retransmission timeout, for control packets that are lost.",
        ),
        key(
            "initial_rto",
            SPAN,
            Is("20ms"),
            "The retransmission timeout before the first sample, at least min_rto.",
        ),
        key(
            "thresholds",
            THRESHOLDS,
            Is("10KB, 100KB, 1MB, 10MB"),
            "For ndp-plus: bytes sent at which a flow goes down a class (SCDP paper).",
        ),
        key(
            "resends_count",
            Kind::Flag,
            Is("true"),
            "For ndp-plus: whether bytes that are sent again count towards the thresholds, as SCDP counts \
             every symbol that it sends.",
        ),
        key(
            "host_order",
            Kind::Flag,
            Is("true"),
            "For ndp-plus: whether hosts serve their own flows by class, strictly, and in turn within a \
             class; else all in turn.",
        ),
        key(
            "buffer",
            Kind::Choice,
            Is("shared"),
            "For ndp-plus: whether classes share ndp.queue or it is split evenly among them (by-class), as \
             in the SCDP paper.",
        )
        .or(BUFFERS),
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
            Is("auto"),
            "Symbols pushed before the first pull. \"auto\": 12 up to 1 Gb/s, 24 up to 5 Gb/s, 32 above \
             (SCDP paper). Below the bandwidth-delay product it costs throughput.",
        )
        .or(&["auto"]),
        key(
            "shared_window",
            count(1, 4_096),
            Is("auto"),
            "Symbols that each sender of several pushes. \"auto\": two thirds of initial_window, so that \
             three push twice as much. The paper leaves it to the application.",
        )
        .or(&["auto"]),
        key(
            "stragglers",
            Kind::Choice,
            Is("wait"),
            "What the sender of a one-to-many transfer does about receivers that hold the others up, \
             beside reporting them: wait, drop them, or end the transfer at a quorum of receivers.",
        )
        .or(&["wait", "drop", "quorum"]),
        key(
            "straggler_after",
            SPAN,
            Is("20ms"),
            "How long nothing could be sent for want of a receiver's pulls until it is a straggler.",
        ),
        key(
            "quorum",
            count(1, MAX_MEMBERS as u64),
            Is("2"),
            "For stragglers = \"quorum\": receivers that must have everything.",
        ),
        key(
            "block_symbols",
            count(1, 56_403),
            Is("100"),
            "Source symbols of a block at most. Unknown in the paper.",
        ),
        key(
            "overhead",
            count(0, 1_000),
            Is("2"),
            "Symbols beyond K that a receiver asks for after a loss (SCDP paper).",
        ),
        key(
            "decode_rate",
            Kind::RateBySize,
            Is("1.3Gbps"),
            "How fast a block is decoded that lacks a source symbol, by its number of source symbols; \
             between two of them linear (SCDP paper's model; beyond the ends as at the nearest).",
        ),
        key(
            "decode_cores",
            count(1, 100_000),
            Is("auto"),
            "Blocks that a host decodes at a time. \"auto\": as many as decode at the rate of its link, by \
             decode_rate for full blocks, and at least 8: 308 at 400 Gb/s (106 with the rates that were \
             measured, docs/designs/scdp.md). The paper's model has no limit.",
        )
        .or(&["auto", "unlimited"]),
        key(
            "group_header",
            count(1, 10_000),
            Is("off"),
            "Bytes more on a packet to several receivers, for the address of the group: at most 325, 114 in \
             the mean, in Elmo, whose switches read the tree off the packet. Off: switches know the groups.",
        )
        .or(&["off"]),
        key(
            "decode_failure",
            Kind::Probabilities { count: 3 },
            Is("0.01, 0.0001, 0.000001"),
            "How likely it is that decoding fails with 0, 1, and 2 or more symbols over K (RFC 6330's \
             upper bounds).",
        ),
        key(
            "thresholds",
            THRESHOLDS,
            Is("10KB, 100KB, 1MB, 10MB"),
            "Bytes sent at which a session goes down a class (SCDP paper); of a read from several senders by \
             all of them, each taken to send as much.",
        ),
        key(
            "host_order",
            Kind::Flag,
            Is("true"),
            "Whether hosts serve their own sessions by class, strictly, and in turn within a class; else \
             all in turn.",
        ),
        key(
            "timeout",
            SPAN,
            Is("20ms"),
            "How long either end waits before it tries again; twice as long each time, up to 1 s. Unknown \
             in the paper.",
        ),
        key(
            "max_timeouts",
            count(0, 1_000),
            Is("15"),
            "Timeouts in a row after which either end gives a session up, a client also one of whose \
             senders it never heard: 11 s with the defaults. Unknown in the paper; Linux's for TCP.",
        ),
        key(
            "queue",
            PACKETS_OR_BYTES,
            Is("100KB"),
            "Symbols that may wait at a switch port, split evenly among the classes (SCDP paper).",
        ),
        key(
            "header_queue",
            SIZE,
            Is("1MB"),
            "Headers and pulls that may wait at a switch port; the paper takes this queue for never full.",
        ),
        key(
            "headers_per_data",
            count(1, 1_000_000),
            Is("10"),
            "Headers and pulls that a port sends for each symbol while both wait. Unknown in the paper; \
             NDP's.",
        ),
        key(
            "victim",
            Kind::Choice,
            Is("arrival"),
            "What is trimmed when symbols find no room: what arrives, or by NDP's coin that or the tail.",
        )
        .or(&["arrival", "coin"]),
    ],
};
