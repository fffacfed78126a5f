//! Keys of designs whose switches or NICs have more functions than TCP needs.

use super::key::{ANY_SPAN, PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key, sets, typed, up_to};
use crate::value::Kind;

/// Keys of pFabric.
pub const PFABRIC: Section = Section {
    name: "pfabric",
    repeated: false,
    about: "Endpoints and switch ports of pFabric.",
    keys: &[
        key(
            "queue",
            PACKETS_OR_BYTES,
            sets!(settings.designs.pfabric.queue),
            "Capacity of the queue at a switch port (pFabric paper; 140 packets in public code).",
        ),
        key(
            "initial_window",
            count(1, 1_000_000),
            sets!(settings.designs.pfabric.initial_window),
            "Packets that a new flow sends at once: about the bandwidth-delay product (pFabric paper; up to 70 in \
             public code).",
        ),
        key(
            "max_window",
            count(1, 1_000_000),
            sets!(settings.designs.pfabric.max_window),
            "Largest number of packets in flight. \"auto\": one full packet less than the queue holds.",
        )
        .or(&["auto"]),
        key(
            "rto",
            SPAN,
            sets!(settings.designs.pfabric.rto),
            "Fixed retransmission timeout. \"auto\": three round trips, in the empty network, between the two hosts \
             that are farthest apart (45 us in the pFabric paper, 250 us in public code).",
        )
        .or(&["auto"]),
        key(
            "probe_after",
            count(1, 255),
            sets!(settings.designs.pfabric.probe_after),
            "Number of successive timeouts after which a flow sends only probes (pFabric paper).",
        ),
    ],
};

/// Keys of PIAS.
pub const PIAS: Section = Section {
    name: "pias",
    repeated: false,
    about: "PIAS: DCTCP over strict priorities. Switch ports mark at queue.mark_above, with the bytes of all classes \
            counted together.",
    keys: &[
        key(
            "thresholds",
            Kind::Sizes { most: 7 },
            sets!(settings.designs.pias.thresholds),
            "Numbers of sent bytes after which a flow moves to the next lower class. The default is the authors' \
             setting for web search at load 0.8. The SCDP paper has 10KB, 100KB, 1MB, 10MB.",
        ),
        key(
            "limit",
            PACKETS_OR_BYTES,
            sets!(settings.designs.pias.limit),
            "Capacity of the queues at a switch port (authors' code).",
        ),
        typed(
            "buffer",
            sets!(settings.designs.pias.sharing),
            "Use of the limit: all classes share it (shared, authors' code), or each class has an equal part \
             (by-class, SCDP paper).",
        ),
        typed(
            "resends_count",
            sets!(settings.designs.pias.resends_count),
            "Whether retransmitted bytes count towards the thresholds. They do not in the authors' simulation code \
             and kernel module. If true, a retransmission also has the class of all bytes that the flow has sent.",
        ),
        key(
            "relief_after",
            count(1, 255),
            sets!(settings.designs.pias.relief_after),
            "Number of timeouts in a row after which a flow counts its sent bytes from zero again, so that it returns \
             to the highest class. \"off\" is the rule of the authors' simulation code. The kernel modules have 2 or 3.",
        )
        .or(&["off"]),
        typed(
            "host_order",
            sets!(settings.designs.pias.host_order),
            "Whether a host serves its connections by class, with strict priority and in turn within a class. If \
             false, it serves all connections in turn.",
        ),
    ],
};

/// Keys of QoS.
pub const QOS: Section = Section {
    name: "qos",
    repeated: false,
    about: "QoS: TCP over two strict priorities, with small flows in the higher one. Each class has its own capacity \
            of queue.limit.",
    keys: &[key(
        "small_below",
        SIZE,
        sets!(settings.designs.qos.small_below),
        "Flows below this size have the higher priority. HULL's comparison leaves the size open, between 1 KB and 10 \
         MB.",
    )],
};

/// Keys of HULL.
pub const HULL: Section = Section {
    name: "hull",
    repeated: false,
    about: "HULL: DCTCP with a phantom queue at every switch port and a pacer in every NIC. Without phantom queues, \
            the ports mark at queue.mark_above.",
    keys: &[
        key(
            "phantom_drain",
            up_to(1.0),
            sets!(combined.hull.phantom_drain),
            "Drain rate of the phantom queue, as a share of the link's rate (PQ950 in the HULL paper).",
        )
        .or(&["off"]),
        key(
            "phantom_mark_above",
            SIZE,
            sets!(combined.hull.phantom.mark_above),
            "Size of the phantom queue above which packets are marked (1 to 30 KB in the HULL deck).",
        ),
        typed(
            "phantom_compare",
            sets!(combined.hull.phantom.compare),
            "Size that is compared with the threshold: before the packet is added (as ports mark, RFC 8257), or \
             after it, as in one public emulator of HULL.",
        ),
        typed(
            "phantom_placement",
            sets!(combined.hull.phantom.placement),
            "Place where the phantom queue counts packets. series: on the link behind the port, as the hardware \
             does. parallel: on arrival at the port, as public simulation code does.",
        ),
        typed(
            "pacer",
            sets!(combined.hull.has_pacer),
            "Whether NICs pace flows whose packets were marked.",
        ),
        key(
            "pacer_interval",
            SPAN,
            sets!(combined.hull.pacer.interval),
            "T_r, the time between two updates of the pacer's rate. \"auto\": 64 us up to 1 Gb/s (public code), 7.2 us \
             at 10 Gb/s (public scripts), the time of 8,000 to 9,000 B between them, and of 9,000 B above.",
        )
        .or(&["auto"]),
        key(
            "pacer_measurement_gain",
            up_to(1.0),
            sets!(combined.hull.pacer.measurement_gain),
            "Eta, the weight of the newest measurement in the pacer's rate (public code).",
        ),
        key(
            "pacer_backlog_gain",
            up_to(1e6),
            sets!(combined.hull.pacer.backlog_gain),
            "Beta, in Mb/s per KB: the increase of the pacer's rate at an update, for each 1,024 B that wait. \"auto\": \
             16 up to 1 Gb/s (HULL paper), 24.576 from 10 Gb/s (public scripts: 3,000 per second), linear between \
             them. The default of public ns-2 code is 1, which that code writes as 122 per second.",
        )
        .or(&["auto"]),
        key(
            "pacer_association",
            up_to(1.0),
            sets!(combined.hull.pacer.association_probability),
            "Probability that an ACK with ECN-Echo makes the pacer pace its flow (public code).",
        ),
        key(
            "pacer_expiry",
            SPAN,
            sets!(combined.hull.pacer.association_expiry),
            "T_i, the time that a flow stays under the pacer after its last association. \"auto\": 10 ms up to 1 Gb/s \
             (public code), the time of 1.25 MB above, which is 1 ms at 10 Gb/s (public scripts).",
        )
        .or(&["auto"]),
        typed(
            "pacer_min_rate",
            sets!(combined.hull.pacer.min_rate),
            "Lower bound of the pacer's rate. \"auto\": a hundredth of the rate of the host's link (10 Mb/s at 1 \
             Gb/s in public code).",
        )
        .or(&["auto"]),
        typed(
            "pacer_max_rate",
            sets!(combined.hull.pacer.max_rate),
            "Upper bound of the pacer's rate. \"auto\": the rate of the host's link (public code).",
        )
        .or(&["auto"]),
        key(
            "pacer_bucket",
            SIZE,
            sets!(combined.hull.pacer.bucket_bytes),
            "Burst that the pacer allows after a pause, in bytes. A value below one packet means one packet (public \
             scripts).",
        ),
    ],
};

/// Keys of the queues in hosts.
pub const HOST: Section = Section {
    name: "host",
    repeated: false,
    about: "Queue between the transports of a host and its NIC, and clocks of hosts, for all designs.",
    keys: &[
        key(
            "queue",
            count(1, 1_000_000),
            sets!(settings.nic.queue),
            "Queue of the host. \"fair\": no queue. When the link is free, the connections with data send one packet \
             each, in turn. A number: a FIFO of this many packets, which the host keeps full (Linux 1,000, ns-3 100). \
             Small flows then wait behind large flows of the same host.",
        )
        .or(&["fair"]),
        key(
            "jitter",
            ANY_SPAN,
            sets!(settings.nic.jitter),
            "Longest random delay of each packet before it leaves its host, uniformly distributed, without reordering. \
             Real hosts have such delays. The time of one packet (1.2us at 10 Gb/s) is enough against packets that \
             meet in the same order for ever. Longer delays also make busy links idle.",
        ),
        key(
            "drift",
            up_to(1_000.0),
            sets!(settings.nic.drift),
            "Largest deviation of a host's clock, in parts per million. Each host has a random deviation, which scales \
             the rate of its uplinks. Ethernet allows 100 (IEEE 802.3). \"none\": clocks are exact.",
        )
        .or(&["none"]),
    ],
};

/// Keys of the NICs in hosts.
pub const NIC: Section = Section {
    name: "nic",
    repeated: false,
    about: "NICs of the hosts, for all designs. The key of large-send offload is tcp.lso.",
    keys: &[
        key(
            "rx_frames",
            count(1, 65_536),
            sets!(combined.coalescing.frames),
            "Frames received per interrupt (rx-frames of ethtool). 1 means no coalescing.",
        ),
        key(
            "rx_timeout",
            ANY_SPAN,
            sets!(combined.coalescing.timeout),
            "With rx_frames above 1: longest time that a frame waits for others (rx-usecs of ethtool). Unknown in \
             the HULL deck.",
        ),
        typed(
            "gro",
            sets!(combined.coalescing.merge),
            "With rx_frames above 1: whether the stack merges the segments of a connection that one interrupt \
             delivers before TCP receives them (generic receive offload of Linux). They are then acknowledged \
             together.",
        ),
    ],
};
