//! The keys of the network: its links, its queues, and what a packet weighs.

use super::key::Fallback::{Follows, Is};
use super::key::{ANY_SPAN, PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key, sets, up_to};
use crate::value::Kind;

/// Hosts, switches and links.
pub const TOPOLOGY: Section = Section {
    name: "topology",
    repeated: false,
    about: "The network. Every link carries its rate in both directions at once. A host with several links \
            sends each packet on the one that is free first where the design sprays packets or permutes \
            paths; else each flow keeps to one, by its hash.",
    keys: &[
        key(
            "kind",
            Kind::Choice,
            Follows("\"leaf-spine\", or \"custom\" where there are [[nodes]]"),
            "The kind of network; custom is made of [[nodes]] and [[links]].",
        )
        .or(&["single-switch", "leaf-spine", "fat-tree", "custom"]),
        key(
            "name",
            Kind::Text("text"),
            Follows("the kind with the parameters that were given"),
            "Its name in results.",
        ),
        key(
            "hosts",
            count(1, 65_535),
            Follows("12 on a single switch, 8 per leaf"),
            "Hosts: of a single switch in all, of a leaf-spine per leaf.",
        ),
        key(
            "leaves",
            count(1, 4_096),
            Is("4"),
            "Leaf switches (racks) of a leaf-spine.",
        ),
        key(
            "spines",
            count(1, 4_096),
            Is("4"),
            "Spine switches of a leaf-spine: as many paths between two racks.",
        ),
        key(
            "k",
            count(2, 64),
            Is("8"),
            "Ports a switch of a fat-tree, even; also its number of pods.",
        ),
        key("tiers", count(2, 3), Is("3"), "Tiers of a fat-tree."),
        key(
            "host_links",
            count(1, 64),
            Is("1"),
            "Uplinks per host, of a leaf-spine or a fat-tree. With n > 1, n neighbouring leaves (edge switches \
             of a pod) form one rack and each host connects to all n. n must divide their number. A \
             fat-tree's edge switches keep their number of links, so it has fewer hosts.",
        ),
        key(
            "oversubscription",
            up_to(64.0),
            Follows("what hosts and rates give; 1 for a fat-tree"),
            "What the hosts of a rack can send over what its uplinks carry, such as 3 or 2.5. For a \
             leaf-spine it sets the rate of the uplinks or, with fabric_rate, the number of spines. For a \
             fat-tree it sets the hosts per edge switch, k/2 times the ratio.",
        ),
        key(
            "core_oversubscription",
            count(1, 32),
            Is("1"),
            "For a fat-tree of three tiers: uplinks of an aggregation switch in the full tree \
             over those that it has. It must divide k/2.",
        ),
        key(
            "cores_per_aggregation",
            count(1, 32),
            Follows("k/2 over core_oversubscription"),
            "For a fat-tree of three tiers: cores that an aggregation switch reaches, up to k/2. In \
             place of core_oversubscription, for ratios that are not whole.",
        ),
        key(
            "rate",
            Kind::Rate,
            Is("10Gbps"),
            "The rate of a host's link.",
        ),
        key(
            "delay",
            ANY_SPAN,
            Is("1us"),
            "The propagation delay of a host's link.",
        ),
        key(
            "fabric_rate",
            Kind::Rate,
            Follows("the rate of a host's link"),
            "The rate of a link between switches.",
        ),
        key(
            "fabric_delay",
            ANY_SPAN,
            Follows("the delay of a host's link"),
            "The propagation delay of a link between switches.",
        ),
        key(
            "core_rate",
            Kind::Rate,
            Follows("fabric_rate"),
            "For a fat-tree of three tiers: the rate of a link between an aggregation switch and a core.",
        ),
        key(
            "core_delay",
            ANY_SPAN,
            Follows("fabric_delay"),
            "For a fat-tree of three tiers: the propagation delay of such a link.",
        ),
    ],
};

/// Nodes of a network of one's own.
pub const NODES: Section = Section {
    name: "nodes",
    repeated: true,
    about: "Hosts and switches of a custom topology. Hosts are numbered in the order in which \
            they are listed.",
    keys: &[
        key(
            "name",
            Kind::Text("a name that no other node has"),
            Follows("none; required"),
            "What links and results call it; of several by one name, both call the third name[2].",
        ),
        key(
            "kind",
            Kind::Choice,
            Follows("none; required"),
            "What it is.",
        )
        .or(&["host", "switch"]),
        key(
            "count",
            count(1, 65_535),
            Is("1"),
            "How many there are; a link to the name goes to each of them.",
        ),
    ],
};

/// Links of a network of one's own.
pub const LINKS: Section = Section {
    name: "links",
    repeated: true,
    about: "Links of a custom topology: a host has one link to a switch or more; switches forward along all \
            shortest paths. Between a name with a count and another, every pair is linked. leaf[0] is the \
            first node by the name leaf, leaf[1..3] the second and the third.",
    keys: &[
        key(
            "a",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "One end.",
        ),
        key(
            "b",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "The other end.",
        ),
        key(
            "rate",
            Kind::Rate,
            Follows("topology.rate"),
            "The rate of both directions.",
        ),
        key(
            "delay",
            ANY_SPAN,
            Follows("topology.delay"),
            "The propagation delay of both directions.",
        ),
    ],
};

/// Links in trouble.
pub const FAILURES: Section = Section {
    name: "failures",
    repeated: true,
    about: "Links that are slow, lossy or down, in both directions, from the start or for a while. Loads refer to \
            the network without them. What is sent into a link that is down is lost.",
    keys: &[
        key(
            "a",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "One end: the name of a node, as outputs write it. Of a leaf-spine leaf[0] or spine[0], of a \
             fat-tree edge[0.1] or aggregation[0.1] (pod 0, the second) or core[0], else a name of \
             [[nodes]]; h0 or s0 by its number. name[0..2] are the first two of a name, name[1.0..2] of \
             pod 1, name or name[..] all; leaf0 is short for leaf[0].",
        ),
        key(
            "b",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "The other end. Every link between one and the other is in trouble.",
        ),
        key(
            "rate",
            Kind::Rate,
            Is("down"),
            "What the link still carries, at most its own rate; \"down\" for nothing. With a loss and no rate \
             the link keeps its own.",
        )
        .or(&["down"]),
        key(
            "loss",
            up_to(1.0),
            Is("off"),
            "The share of packets that the link loses at random, each on its own, in each direction.",
        )
        .or(&["off"]),
        key("from", ANY_SPAN, Is("0s"), "When the trouble begins."),
        key("until", SPAN, Is("end"), "When it ends; \"end\" for never.").or(&["end"]),
        key(
            "reconvergence",
            ANY_SPAN,
            Is("10ms"),
            "How long routing takes to notice that a link is down, and that it is up again. Until then \
             switches send into it. A link that is down from the start is avoided from the start.",
        ),
    ],
};

/// Queues.
pub const QUEUE: Section = Section {
    name: "queue",
    repeated: false,
    about: "The queue of every switch port: FIFO, drop-tail, with an ECN threshold. The packet \
            that is being sent does not count.",
    keys: &[
        key(
            "discipline",
            Kind::Text("the name of a queue discipline, as `tailcut list disciplines` shows them"),
            Is("fifo"),
            "The discipline of switch ports. \"fifo\" is the queue of this section, or the design's own. Another \
             discipline has a section of its name, and the room of this section. Designs that need their own \
             queue, with priorities, trimming or phantom queues, refuse it.",
        ),
        key(
            "limit",
            PACKETS_OR_BYTES,
            Is("auto"),
            "What may wait. \"auto\": 100 packets up to 10 Gb/s, above in proportion to the \
             hosts' rate; unlimited where switches have a shared buffer.",
        )
        .or(&["auto", "unlimited"]),
        key(
            "mark_above",
            PACKETS_OR_BYTES,
            Is("auto"),
            "An ECN-capable packet that finds more than this waiting is marked. \"auto\": 20 \
             packets up to 1 Gb/s, 65 at 10 Gb/s, linear between and in proportion above, by the \
             hosts' rate, but at most 65 % of a limit in packets (RFC 8257, DCTCP paper).",
        )
        .or(&["auto", "off"]),
    ],
};

/// Switches whose ports share memory.
pub const SHARED_BUFFER: Section = Section {
    name: "shared_buffer",
    repeated: false,
    about: "The memory of every switch where its ports share it, under a dynamic threshold: a \
            port may hold at most alpha times what is free.",
    keys: &[
        key(
            "capacity",
            SIZE,
            Is("off"),
            "The memory of a switch; off: every port has its own queue only.",
        )
        .or(&["off"]),
        key(
            "alpha",
            up_to(1_024.0),
            Is("1"),
            "The share of the free memory that one port may hold.",
        ),
    ],
};

/// Bytes beside the payload.
pub const FRAMING: Section = Section {
    name: "framing",
    repeated: false,
    about: "Bytes a packet beside its payload. The payload of a full packet is tcp.mss.",
    keys: &[
        key(
            "header",
            count(1, 10_000),
            sets!(settings.framing.header),
            "Header bytes a packet of all layers, with the frame check sequence (Ethernet 18, \
             IPv4 20, TCP 20).",
        ),
        key(
            "preamble_and_gap",
            count(0, 10_000),
            sets!(settings.framing.preamble_and_gap),
            "Preamble and inter-frame gap, in bytes of line time a packet.",
        ),
        key(
            "min_frame",
            count(1, 10_000),
            sets!(settings.framing.min_frame),
            "Bytes of the smallest frame, header included: a smaller one is padded, on Ethernet to 64. Off, an \
             ACK takes header and preamble_and_gap, 78 B, where Ethernet takes 84; published results do \
             not say which.",
        )
        .or(&["off"]),
    ],
};
