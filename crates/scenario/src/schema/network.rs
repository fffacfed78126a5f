//! Keys of the network: links, queues and the sizes of headers.

use super::key::Fallback::{Follows, Is};
use super::key::{ANY_SPAN, PACKETS_OR_BYTES, SIZE, SPAN, Section, count, key, sets, up_to};
use crate::value::Kind;

/// Keys of hosts, switches and links.
pub const TOPOLOGY: Section = Section {
    name: "topology",
    repeated: false,
    about: "The network. Every link has its full rate in both directions. A host with several links sends each \
            packet on the link that becomes free first, if the design sprays packets or permutes paths. Otherwise \
            the hash of a flow selects its link.",
    keys: &[
        key(
            "kind",
            Kind::Choice,
            Follows("\"leaf-spine\", or \"custom\" where there are [[nodes]]"),
            "Kind of network. A custom network consists of [[nodes]] and [[links]].",
        )
        .or(&["single-switch", "leaf-spine", "fat-tree", "custom"]),
        key(
            "name",
            Kind::Text("text"),
            Follows("the kind with the parameters that were given"),
            "Name of the network in results.",
        ),
        key(
            "hosts",
            count(1, 65_535),
            Follows("12 on a single switch, 8 per leaf"),
            "Number of hosts: in total for a single switch, per leaf for a leaf-spine.",
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
            "Spine switches of a leaf-spine, which is also the number of paths between two racks.",
        ),
        key(
            "k",
            count(2, 64),
            Is("8"),
            "Ports per switch of a fat-tree, an even number. The number of pods is the same.",
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
            "Ratio of the total rate of a rack's hosts to the rate of its uplinks, such as 3 or 2.5. For a \
             leaf-spine it sets the rate of the uplinks or, with fabric_rate, the number of spines. For a fat-tree \
             it sets the hosts per edge switch, to k/2 times the ratio.",
        ),
        key(
            "core_oversubscription",
            count(1, 32),
            Is("1"),
            "For a fat-tree of three tiers: ratio of the uplinks of an aggregation switch in the full tree to the \
             uplinks that it has. It must divide k/2.",
        ),
        key(
            "cores_per_aggregation",
            count(1, 32),
            Follows("k/2 over core_oversubscription"),
            "For a fat-tree of three tiers: number of cores that an aggregation switch reaches, up to k/2. It \
             replaces core_oversubscription for ratios that are not whole numbers.",
        ),
        key("rate", Kind::Rate, Is("10Gbps"), "Rate of a host's link."),
        key(
            "delay",
            ANY_SPAN,
            Is("1us"),
            "Propagation delay of a host's link.",
        ),
        key(
            "fabric_rate",
            Kind::Rate,
            Follows("the rate of a host's link"),
            "Rate of a link between switches.",
        ),
        key(
            "fabric_delay",
            ANY_SPAN,
            Follows("the delay of a host's link"),
            "Propagation delay of a link between switches.",
        ),
        key(
            "core_rate",
            Kind::Rate,
            Follows("fabric_rate"),
            "For a fat-tree of three tiers: rate of a link between an aggregation switch and a core.",
        ),
        key(
            "core_delay",
            ANY_SPAN,
            Follows("fabric_delay"),
            "For a fat-tree of three tiers: propagation delay of a link between an aggregation switch and a core.",
        ),
    ],
};

/// Keys of the nodes of a custom network.
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
            "Name of the node in links and results. If several nodes have this name, name[2] is the third node.",
        ),
        key(
            "kind",
            Kind::Choice,
            Follows("none; required"),
            "Kind of the node.",
        )
        .or(&["host", "switch"]),
        key(
            "count",
            count(1, 65_535),
            Is("1"),
            "Number of nodes with this name. A link to the name connects to each of these nodes.",
        ),
    ],
};

/// Keys of the links of a custom network.
pub const LINKS: Section = Section {
    name: "links",
    repeated: true,
    about: "Links of a custom topology. A host needs at least one link to a switch. Switches forward along all \
            shortest paths. If one end names several nodes, a link connects every pair. leaf[0] is the first node \
            with the name leaf, leaf[1..3] are the second and the third.",
    keys: &[
        key(
            "a",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "First end.",
        ),
        key(
            "b",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "Second end.",
        ),
        key(
            "rate",
            Kind::Rate,
            Follows("topology.rate"),
            "Rate of each direction.",
        ),
        key(
            "delay",
            ANY_SPAN,
            Follows("topology.delay"),
            "Propagation delay of each direction.",
        ),
    ],
};

/// Keys of impaired links.
pub const FAILURES: Section = Section {
    name: "failures",
    repeated: true,
    about: "Links that are slow, lossy or down, in both directions, from the start or for a limited time. Loads \
            refer to the network without failures. A packet that is sent into a link that is down is lost.",
    keys: &[
        key(
            "a",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "First end: the name of a node, as in the outputs. A leaf-spine has leaf[0] and spine[0]. A fat-tree has \
             edge[0.1], aggregation[0.1] (pod 0, the second) and core[0]. Other networks have the names of \
             [[nodes]]. h0 and s0 are the first host and the first switch by number. name[0..2] are the first two \
             nodes of a name, name[1.0..2] the first two in pod 1, name or name[..] all. leaf0 is short for leaf[0].",
        ),
        key(
            "b",
            Kind::Text("the name of a node"),
            Follows("none; required"),
            "Second end. Without link, the failure applies to every link between the two ends.",
        ),
        key(
            "link",
            count(0, 999_999),
            Is("all"),
            "Number of the link, from 0, if there are several between the two ends, in the order of [[links]]: in t>u#1 \
             it is 1.",
        )
        .or(&["all"]),
        key(
            "rate",
            Kind::Rate,
            Is("down"),
            "Rate that the link still has, at most its normal rate. \"down\" means that it carries nothing. With a \
             loss and without a rate, the link keeps its normal rate.",
        )
        .or(&["down"]),
        key(
            "loss",
            up_to(1.0),
            Is("off"),
            "Share of packets that the link loses at random, independently for each packet and in each direction.",
        )
        .or(&["off"]),
        key("from", ANY_SPAN, Is("0s"), "Start of the failure."),
        key("until", SPAN, Is("end"), "End of the failure. \"end\" means that the failure never ends.").or(&["end"]),
        key(
            "reconvergence",
            ANY_SPAN,
            Is("10ms"),
            "Time until routing detects that a link is down, or up again. Until then, switches send packets into a \
             link that is down. Routing avoids a link that is down at the start of the run.",
        ),
    ],
};

/// Keys of the queues at switch ports.
pub const QUEUE: Section = Section {
    name: "queue",
    repeated: false,
    about: "Queue of every switch port: FIFO, drop-tail, with an ECN threshold. The packet in transmission does not \
            count.",
    keys: &[
        key(
            "discipline",
            Kind::Text("the name of a queue discipline, as `tailcut list disciplines` shows them"),
            Is("fifo"),
            "Discipline of switch ports. \"fifo\" is the queue of this section, or the queue that the design \
             defines. Any other discipline reads its own section and has the capacity of this section. Designs that \
             require a special queue (with priorities, trimming or phantom queues) reject this key.",
        ),
        key(
            "limit",
            PACKETS_OR_BYTES,
            Is("auto"),
            "Capacity of the queue. \"auto\": 100 packets up to 10 Gb/s, and in proportion to the hosts' rate above. \
             Switches with a shared buffer have no limit per port.",
        )
        .or(&["auto", "unlimited"]),
        key(
            "mark_above",
            PACKETS_OR_BYTES,
            Is("auto"),
            "ECN threshold: an ECN-capable packet is marked if more than this waits when it arrives. \"auto\": 20 \
             packets up to 1 Gb/s, 65 at 10 Gb/s, linear between these and in proportion above, by the hosts' rate, \
             but at most 65 % of a limit in packets (RFC 8257, DCTCP paper).",
        )
        .or(&["auto", "off"]),
    ],
};

/// Keys of the shared buffers of switches.
pub const SHARED_BUFFER: Section = Section {
    name: "shared_buffer",
    repeated: false,
    about: "Shared buffer of a switch, with a dynamic threshold: a port can hold at most alpha times the free \
            memory.",
    keys: &[
        key(
            "capacity",
            SIZE,
            Is("off"),
            "Memory of a switch. off: every port has only its own queue.",
        )
        .or(&["off"]),
        key(
            "alpha",
            up_to(1_024.0),
            Is("1"),
            "Largest backlog of one port, as a multiple of the free memory.",
        ),
    ],
};

/// Keys of the header and framing overhead of packets.
pub const FRAMING: Section = Section {
    name: "framing",
    repeated: false,
    about: "Bytes of a packet in addition to its payload. The payload of a full packet is tcp.mss.",
    keys: &[
        key(
            "header",
            count(1, 10_000),
            sets!(settings.framing.header),
            "Header bytes per packet, of all layers, with the frame check sequence (Ethernet 18, IPv4 20, TCP 20).",
        ),
        key(
            "preamble_and_gap",
            count(0, 10_000),
            sets!(settings.framing.preamble_and_gap),
            "Preamble and inter-frame gap per packet, in bytes of line time.",
        ),
        key(
            "min_frame",
            count(1, 10_000),
            sets!(settings.framing.min_frame),
            "Size of the smallest frame in bytes, header included. A smaller frame is padded (64 B on Ethernet). \
             With \"off\", an ACK uses header and preamble_and_gap, which is 78 B; Ethernet uses 84 B. Published \
             results do not state which of the two they use.",
        )
        .or(&["off"]),
    ],
};
