//! The keys of designs whose switches or NICs do more than those of TCP.

use super::key::{ANY_SPAN, PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key, sets, typed, up_to};
use crate::value::Kind;

/// pFabric.
pub const PFABRIC: Section = Section {
    name: "pfabric",
    repeated: false,
    about: "pFabric's endpoints and switch ports.",
    keys: &[
        key(
            "queue",
            PACKETS_OR_BYTES,
            sets!(settings.designs.pfabric.queue),
            "What may wait at a switch port (pFabric paper; 140 packets in public code).",
        ),
        key(
            "initial_window",
            count(1, 1_000_000),
            sets!(settings.designs.pfabric.initial_window),
            "Packets that a flow starts with: about the bandwidth-delay product (pFabric paper; up to 70 \
             in public code).",
        ),
        key(
            "max_window",
            count(1, 1_000_000),
            sets!(settings.designs.pfabric.max_window),
            "Packets in flight at most. \"auto\": one full packet less than the queue holds.",
        )
        .or(&["auto"]),
        key(
            "rto",
            SPAN,
            sets!(settings.designs.pfabric.rto),
            "The fixed retransmission timeout. \"auto\": three round trips between the hosts that are \
             farthest apart, in the empty network (45 us in the pFabric paper, 250 us in public code).",
        )
        .or(&["auto"]),
        key(
            "probe_after",
            count(1, 255),
            sets!(settings.designs.pfabric.probe_after),
            "Timeouts in a row after which a flow only probes (pFabric paper).",
        ),
    ],
};

/// PIAS.
pub const PIAS: Section = Section {
    name: "pias",
    repeated: false,
    about: "PIAS: DCTCP over strict priorities. Switch ports mark at queue.mark_above, all classes \
            together.",
    keys: &[
        key(
            "thresholds",
            Kind::Sizes { most: 7 },
            sets!(settings.designs.pias.thresholds),
            "Bytes sent at which a flow goes down a class. The default is the authors' for web search at \
             load 0.8; the SCDP paper has 10KB, 100KB, 1MB, 10MB.",
        ),
        key(
            "limit",
            PACKETS_OR_BYTES,
            sets!(settings.designs.pias.limit),
            "What may wait at a switch port (authors' code).",
        ),
        typed(
            "buffer",
            sets!(settings.designs.pias.sharing),
            "Whether classes share the limit (authors' code) or it is split evenly among them (by-class), \
             as in the SCDP paper.",
        ),
        typed(
            "resends_count",
            sets!(settings.designs.pias.resends_count),
            "Whether bytes that are sent again count towards the thresholds: not in the authors' \
             simulation code, but in their kernel module.",
        ),
        typed(
            "host_order",
            sets!(settings.designs.pias.host_order),
            "Whether hosts serve their own connections by class, strictly, and in turn within a class; \
             else all in turn.",
        ),
    ],
};

/// QoS.
pub const QOS: Section = Section {
    name: "qos",
    repeated: false,
    about: "QoS: TCP over two strict priorities, small flows in the higher one. Each class has the room of \
            queue.limit.",
    keys: &[key(
        "small_below",
        SIZE,
        sets!(settings.designs.qos.small_below),
        "Flows under this size go first. HULL's comparison leaves it open between 1 KB and 10 MB.",
    )],
};

/// HULL.
pub const HULL: Section = Section {
    name: "hull",
    repeated: false,
    about: "HULL: DCTCP with a phantom queue at every switch port and a pacer in every NIC. With the \
            phantom queues off the ports mark at queue.mark_above.",
    keys: &[
        key(
            "phantom_drain",
            up_to(1.0),
            sets!(joint.hull.phantom_drain),
            "The phantom queue's drain rate over the link's (PQ950 in the HULL paper).",
        )
        .or(&["off"]),
        key(
            "phantom_mark_above",
            SIZE,
            sets!(joint.hull.phantom.mark_above),
            "Packets are marked when the phantom queue is above this (1 to 30 KB in the HULL deck).",
        ),
        typed(
            "phantom_compare",
            sets!(joint.hull.phantom.compare),
            "Which value of the phantom queue: what the packet finds, before it is counted (as ports \
             mark, RFC 8257), or after, as in one public emulator of HULL.",
        ),
        typed(
            "phantom_placement",
            sets!(joint.hull.phantom.placement),
            "Where the phantom queue counts packets: on the link behind the port, as the hardware does, \
             or beside the port as they arrive, as public simulation code does.",
        ),
        typed(
            "pacer",
            sets!(joint.hull.has_pacer),
            "Whether NICs pace flows whose packets were marked.",
        ),
        key(
            "pacer_interval",
            SPAN,
            sets!(joint.hull.pacer.pacer.interval),
            "T_r, the time between two updates of the pacer's rate (public code).",
        ),
        key(
            "pacer_measurement_gain",
            up_to(1.0),
            sets!(joint.hull.pacer.pacer.measurement_gain),
            "Eta, the weight of the newest measurement in the pacer's rate (public code).",
        ),
        key(
            "pacer_backlog_gain",
            up_to(1e6),
            sets!(joint.hull.pacer.pacer.backlog_gain),
            "Beta in Mb/s per KB: what an update adds to the pacer's rate for each 1,024 B that wait \
             (HULL paper; 1 is the default of public ns-2 code, which has it as 122 a second).",
        ),
        key(
            "pacer_association",
            up_to(1.0),
            sets!(joint.hull.pacer.pacer.association_probability),
            "The probability with which an ACK with ECN-Echo puts its flow under the pacer (public code).",
        ),
        key(
            "pacer_expiry",
            SPAN,
            sets!(joint.hull.pacer.pacer.association_expiry),
            "How long a flow is paced after it was last put under the pacer (public code).",
        ),
        typed(
            "pacer_min_rate",
            sets!(joint.hull.pacer.min_rate),
            "The lower bound of the pacer's rate. \"auto\": a hundredth of the host's link (10 Mb/s at \
             1 Gb/s in public code).",
        )
        .or(&["auto"]),
        typed(
            "pacer_max_rate",
            sets!(joint.hull.pacer.max_rate),
            "The upper bound of the pacer's rate. \"auto\": that of the host's link (public code).",
        )
        .or(&["auto"]),
        key(
            "pacer_bucket",
            SIZE,
            sets!(joint.hull.pacer.pacer.bucket_bytes),
            "Bytes that the pacer lets go at once after a pause; less than a packet counts as a packet \
             (public scripts).",
        ),
    ],
};

/// Hosts' own queues.
pub const HOST: Section = Section {
    name: "host",
    repeated: false,
    about: "What stands between the transports of a host and its NIC, whatever the design.",
    keys: &[key(
        "queue",
        count(1, 1_000_000),
        sets!(settings.nic.queue),
        "The host's own queue. \"fair\": none; when the link is free the transport serves what is ready, \
         one packet a connection in turn. A number: a FIFO of so many packets, which the host fills while \
         there is room (Linux 1,000, ns-3 100), so that small flows wait behind large ones of their host.",
    )
    .or(&["fair"])],
};

/// Hosts' NICs.
pub const NIC: Section = Section {
    name: "nic",
    repeated: false,
    about: "What the hosts' NICs do, whatever the design. Large-send offload is tcp.lso.",
    keys: &[
        key(
            "rx_frames",
            count(1, 65_536),
            sets!(joint.coalescing.frames),
            "Frames that are received for an interrupt (rx-frames of ethtool); 1 is no coalescing.",
        ),
        key(
            "rx_timeout",
            ANY_SPAN,
            sets!(joint.coalescing.timeout),
            "With rx_frames above 1: the longest that a frame waits for others (rx-usecs of ethtool). \
             Unknown in the HULL deck.",
        ),
        typed(
            "gro",
            sets!(joint.coalescing.merge),
            "With rx_frames above 1: whether the stack merges what an interrupt brings of a connection \
             before TCP sees it (generic receive offload of Linux), so that it is acknowledged together.",
        ),
    ],
};
