//! The keys of a workload.

use super::key::Fallback::{Follows, Is};
use super::key::{ANY_SPAN, Key, SIZE, SPAN, Section, count, key, up_to};
use crate::value::Kind;
use tailcut_sim::fabric::MAX_MEMBERS;

/// What the network is loaded with.
pub const WORKLOAD: Section = Section {
    name: "workload",
    repeated: true,
    about: "What the network is loaded with: one or more parts side by side. Without any, web \
            search in an open loop.",
    keys: WORKLOAD_KEYS,
};

const WEIGHT: Kind = Kind::Number {
    above: 0.0,
    most: 1e6,
};

/// Hosts that send or receive more than others.
pub const GROUPS: Section = Section {
    name: "groups",
    repeated: true,
    about: "Hosts that send or receive more than others, in parts of the workload that draw who sends to whom \
            (matrix anywhere or between-racks). Loads stay what they are: weights say which hosts they are \
            of.",
    keys: &[
        key(
            "hosts",
            Kind::Texts("names of hosts, such as [\"h0\", \"h[4..8]\"]"),
            Follows("none; required"),
            "The hosts, by their names or by ranges of them: h[4..8] are h4 to h7, storage or storage[..] all \
             of a name of [[nodes]]. A host is in one group at most.",
        ),
        key(
            "source_weight",
            WEIGHT,
            Is("1"),
            "How much each of them sends, over what a host in no group does: 3 is three times as many flows, \
             of the same load. Of open loops; in a closed loop and in a burst each source has its number of \
             flows.",
        ),
        key(
            "destination_weight",
            WEIGHT,
            Is("1"),
            "How often each of them is picked as destination, over a host in no group, among those that a \
             source may pick.",
        ),
    ],
};

const WORKLOAD_KEYS: &[Key] = &[
    key(
        "kind",
        Kind::Choice,
        Is("open"),
        "open: flows arrive whether or not earlier ones have finished. closed: each source keeps a \
         number of flows outstanding. burst: each source starts one flow. trace: exactly the flows \
         of a file. requests: clients ask servers for objects. storage: clients write and read \
         replicated blocks over the network; one such part at most. application: an application \
         that this program has been given by name, in place of storage.",
    )
    .or(&["open", "closed", "burst", "trace", "requests", "storage", "application"]),
    key(
        "class",
        Kind::Choice,
        Is("foreground"),
        "What the flows are to the experiment.",
    )
    .or(&["foreground", "background", "incast", "probe"]),
    key(
        "sizes",
        Kind::Text("a name of `tailcut list workloads`, fixed:BYTES, uniform:MIN:MAX or table:FILE.csv"),
        Is("websearch"),
        "Flow sizes; for requests, those of the objects; for storage, those of the sessions. Not for a trace.",
    ),
    key(
        "file",
        Kind::Text("the path of a CSV with the columns start_ns,src,dst,bytes and, if wanted, path"),
        Follows("none; required for a trace"),
        "The file of a trace, relative to the scenario's.",
    ),
    key(
        "application",
        Kind::Text("the name of an application that this program has been given"),
        Follows("none; required for an application"),
        "The application. Programs with applications of their own are built with the Rust libraries.",
    ),
    key(
        "matrix",
        Kind::Choice,
        Is("auto"),
        "Who sends to whom. \"auto\": between racks where there are several, else anywhere. \
         permutation: a derangement drawn by the seed.",
    )
    .or(&[
        "auto",
        "anywhere",
        "between-racks",
        "permutation",
        "incast",
        "pairs",
    ]),
    key(
        "within_racks",
        Kind::Flag,
        Is("true"),
        "For a permutation: whether flows may stay within a rack.",
    ),
    key(
        "share",
        up_to(1.0),
        Is("1"),
        "For a permutation: the share of the hosts that take part, drawn by the seed, at least two of \
         them; sweep: each of the study's loads in turn.",
    )
    .or(&["sweep"]),
    key(
        "leave_out",
        up_to(1.0),
        Is("off"),
        "For anywhere and for storage: the share of the hosts that neither send nor receive, the very hosts that a \
         permutation of that share takes; at least two hosts stay. sweep: each of the study's loads.",
    )
    .or(&["off", "sweep"]),
    key(
        "senders",
        count(1, 65_534),
        Follows("all other hosts"),
        "For an incast: how many hosts send, those of other racks first.",
    ),
    key(
        "receiver",
        count(0, 65_534),
        Is("0"),
        "For an incast: the host that receives.",
    ),
    key(
        "pairs",
        Kind::Pairs,
        Follows("none; required for pairs"),
        "For pairs: source and destination of each.",
    ),
    key(
        "clients",
        count(1, 65_534),
        Is("10"),
        "For requests: how many clients ask.",
    ),
    key(
        "servers",
        count(1, 65_534),
        Is("10"),
        "For requests: how many servers there are; each request draws its own evenly.",
    ),
    key(
        "requests_per_second",
        up_to(1e12),
        Is("off"),
        "For requests: requests a second of all clients together, in place of a load.",
    )
    .or(&["off"]),
    key(
        "sessions_per_second",
        up_to(1e12),
        Follows("none; required for storage"),
        "For storage: sessions a second of all clients together. Every host is a client.",
    ),
    key(
        "replicas",
        count(1, MAX_MEMBERS as u64),
        Is("3"),
        "For storage: replicas of a block, none on the client: the first anywhere, the second in another \
         rack, the third in the rack of the second (HDFS), the rest anywhere.",
    ),
    key(
        "read_share",
        up_to(1.0),
        Is("off"),
        "For storage: the share of sessions that read; the others write.",
    )
    .or(&["off"]),
    key(
        "write",
        Kind::Choice,
        Is("multicast"),
        "For storage: how a block reaches its replicas. multicast: one transfer to all, where the design \
         has that (scdp), else as multi-unicast. multi-unicast: a flow to each. daisy-chain: a flow to \
         the first, and on from each once it has begun to receive.",
    )
    .or(&["multicast", "multi-unicast", "daisy-chain"]),
    key(
        "chunk",
        SIZE,
        Is("64KB"),
        "For a daisy chain: a replica sends on once it has received so much.",
    ),
    key(
        "read",
        Kind::Choice,
        Is("all-replicas"),
        "For storage: how a block is read. all-replicas: one transfer from all of them, where the design \
         has that (scdp), else as one-replica. one-replica: a flow from that in the client's rack, or \
         from any.",
    )
    .or(&["all-replicas", "one-replica"]),
    key(
        "blocks",
        count(1, 1_000),
        Is("1"),
        "For storage with read = \"one-replica\": blocks, each placed by itself, that a session reads at \
         once (read-ahead; 3 in the SCDP paper). The session's bytes are split among them.",
    ),
    key(
        "load",
        up_to(10.0),
        Is("sweep"),
        "For an open loop: the load of what load_of says, that is of the sending hosts' links unless it is \
         given; sweep: each of the study's loads in turn. What that is on the other links, an answer \
         tells. For requests it is of the servers' busiest stations, duplicates not counted.",
    )
    .or(&["sweep"]),
    key(
        "load_of",
        Kind::Rate,
        Is("hosts"),
        "What the load is a fraction of: the links of the sending hosts, the uplinks of the racks \
         (counting the bytes that leave a rack), or a rate.",
    )
    .or(&["hosts", "racks"]),
    key(
        "count_headers",
        Kind::Flag,
        Is("false"),
        "Whether the load counts headers, preamble and gap, or payload only.",
    ),
    key(
        "flows_per_second",
        up_to(1e12),
        Is("off"),
        "For an open loop: flows a second of all sources together, in place of a load.",
    )
    .or(&["off"]),
    key(
        "arrivals",
        Kind::Choice,
        Is("poisson"),
        "For an open loop: gaps between a source's flows. uniform: 0.5 to 1.5 of the mean, as in \
         RepNet's scripts.",
    )
    .or(&["poisson", "uniform", "fixed"]),
    key(
        "from",
        ANY_SPAN,
        Is("0s"),
        "For an open or closed loop: when flows begin to arrive.",
    ),
    key(
        "until",
        SPAN,
        Follows("the study's duration"),
        "For an open or closed loop: when they cease to.",
    ),
    key(
        "flows",
        count(1, u32::MAX as u64),
        Follows("the study's flows"),
        "For an open or closed loop: how many flows there are at most.",
    )
    .or(&["unlimited"]),
    key(
        "fan_in_senders",
        count(2, 65_534),
        Is("off"),
        "For an open loop: for each flow under fan_in_below so many hosts in all send a flow of its \
         size to its destination at the same instant (11 in the RepNet paper).",
    )
    .or(&["off"]),
    key(
        "fan_in_below",
        SIZE,
        Is("100KB"),
        "For an open loop: flows under this size fan in.",
    ),
    key(
        "outstanding",
        count(1, 65_536),
        Is("1"),
        "For a closed loop: flows outstanding a source.",
    ),
    key(
        "think",
        ANY_SPAN,
        Is("0s"),
        "For a closed loop: the pause from a flow's end to the next one's start.",
    ),
    key(
        "path",
        count(0, 65_535),
        Is("any"),
        "The equal-cost path that the flows and their ACKs are pinned to, counted from 0 (leaf-spine: \
         the spine; fat-tree with m = k/2: aggregation switch p mod m, then its core p div m). A \
         trace has a column for it.",
    )
    .or(&["any"]),
    key("at", ANY_SPAN, Is("0s"), "For a burst: when it starts."),
    key(
        "jitter",
        ANY_SPAN,
        Is("0s"),
        "For a burst: starts are spread evenly over this span.",
    ),
];
