//! Keys of a workload.

use super::key::Fallback::{Follows, Is};
use super::key::{ANY_SPAN, Key, SIZE, SPAN, Section, count, key, up_to};
use crate::value::Kind;
use tailcut_sim::fabric::MAX_MEMBERS;

/// Keys of the traffic in the network.
pub const WORKLOAD: Section = Section {
    name: "workload",
    repeated: true,
    about: "Traffic in the network: one or more parts that run at the same time. Without any part, the workload is \
            web search in an open loop.",
    keys: WORKLOAD_KEYS,
};

const WEIGHT: Kind = Kind::Number {
    above: 0.0,
    most: 1e6,
};

/// Keys of hosts that send or receive more than others.
pub const GROUPS: Section = Section {
    name: "groups",
    repeated: true,
    about: "Hosts that send or receive more than others. Groups apply to parts of the workload that draw source and \
            destination (matrix anywhere or between-racks). They do not change the load: weights determine its \
            distribution over the hosts.",
    keys: &[
        key(
            "hosts",
            Kind::Texts("names of hosts, such as [\"h0\", \"h[4..8]\"]"),
            Follows("none; required"),
            "Hosts, as names or as ranges of names. h[4..8] are h4 to h7; storage or storage[..] are all [[nodes]] \
             of that name. A host can be in at most one group.",
        ),
        key(
            "source_weight",
            WEIGHT,
            Is("1"),
            "Flows that each of these hosts sends, relative to a host in no group: 3 means three times as many. The \
             total load stays the same. It applies to open loops. In a closed loop and in a burst, each source has \
             its fixed number of flows.",
        ),
        key(
            "destination_weight",
            WEIGHT,
            Is("1"),
            "Probability that a source picks each of these hosts as destination, relative to a host in no group, \
             among the hosts that the source can pick.",
        ),
    ],
};

const WORKLOAD_KEYS: &[Key] = &[
    key(
        "kind",
        Kind::Choice,
        Is("open"),
        "open: flows arrive even if earlier ones have not finished. closed: each source keeps a number of flows \
         outstanding. burst: each source starts one flow. queries: each aggregator asks several workers, and asks again \
         when it has all answers. trace: exactly the flows of a file. coflows: the \
         coflows of a file, whose completion times the answer compares. requests: clients \
         request objects from servers. storage: clients write and read replicated blocks over the network; at most \
         one such part is allowed. application: an application that was registered by name in this program, instead \
         of storage.",
    )
    .or(&["open", "closed", "burst", "queries", "trace", "coflows", "requests", "storage", "application"]),
    key(
        "class",
        Kind::Choice,
        Is("foreground"),
        "Role of the flows in the experiment.",
    )
    .or(&["foreground", "background", "incast", "probe"]),
    key(
        "sizes",
        Kind::Text("a name of `tailcut list workloads`, fixed:BYTES, uniform:MIN:MAX or table:FILE"),
        Is("websearch"),
        "Flow sizes; sizes of the answers for queries; object sizes for requests; session sizes for storage. Not used \
         for a trace and for coflows.",
    ),
    key(
        "table_unit",
        SIZE,
        Is("auto"),
        "For sizes from a table: size of one unit of the table. \"auto\": a byte, or 1,460 bytes in a table of ns-2.",
    )
    .or(&["auto"]),
    key(
        "file",
        Kind::Text(
            "the path of a CSV file with the columns start_ns,src,dst,bytes and optionally path; for coflows, of a file \
             of the Coflow-Benchmark",
        ),
        Follows("none; required for a trace and for coflows"),
        "File of a trace or of coflows. A relative path starts at the directory of the scenario.",
    ),
    key(
        "size_factor",
        Kind::Number {
            above: 0.0,
            most: 1e6,
        },
        Is("1"),
        "For coflows: factor of all sizes of the file. A small network cannot carry the sizes of a cluster.",
    ),
    key(
        "application",
        Kind::Text("the name of an application that is registered in this program"),
        Follows("none; required for an application"),
        "Name of the application. Programs that use the Rust libraries can register applications.",
    ),
    key(
        "matrix",
        Kind::Choice,
        Is("auto"),
        "Selection of source and destination. \"auto\": between racks if there are several racks, otherwise \
         anywhere. permutation: a random derangement, drawn by the seed.",
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
        "For a permutation: whether flows can stay within a rack.",
    ),
    key(
        "share",
        up_to(1.0),
        Is("1"),
        "For a permutation: share of the hosts that take part, at least two hosts, drawn by the seed. sweep: each \
         load of the study in turn.",
    )
    .or(&["sweep"]),
    key(
        "leave_out",
        up_to(1.0),
        Is("off"),
        "For anywhere and for storage: share of the hosts that neither send nor receive. They are the same hosts as \
         in a permutation with this share. At least two hosts remain. sweep: each load of the study in turn.",
    )
    .or(&["off", "sweep"]),
    key(
        "senders",
        count(1, 65_534),
        Follows("all other hosts"),
        "For an incast: number of senders. Hosts of other racks come first.",
    ),
    key(
        "receiver",
        count(0, 65_534),
        Is("0"),
        "For an incast: host that receives.",
    ),
    key(
        "pairs",
        Kind::Pairs,
        Follows("none; required for pairs"),
        "For pairs: source and destination of each pair.",
    ),
    key(
        "clients",
        count(1, 65_534),
        Is("10"),
        "For requests: number of clients.",
    ),
    key(
        "servers",
        count(1, 65_534),
        Is("10"),
        "For requests: number of servers. Each request draws its servers uniformly at random.",
    ),
    key(
        "requests_per_second",
        up_to(1e12),
        Is("off"),
        "For requests: request rate of all clients together, per second. The rate replaces the load.",
    )
    .or(&["off"]),
    key(
        "sessions_per_second",
        up_to(1e12),
        Follows("none; required for storage"),
        "For storage: session rate of all clients together, per second. Every host is a client.",
    ),
    key(
        "replicas",
        count(1, MAX_MEMBERS as u64),
        Is("3"),
        "For storage: replicas of a block, none on the client. The first is on any host, the second in another rack, \
         the third in the rack of the second (HDFS), all others on any host.",
    ),
    key(
        "read_share",
        up_to(1.0),
        Is("off"),
        "For storage: share of sessions that read. All other sessions write.",
    )
    .or(&["off"]),
    key(
        "write",
        Kind::Choice,
        Is("multicast"),
        "For storage: method of writing a block to its replicas. multicast: one transfer to all replicas, in designs \
         that support it (scdp); in other designs the same as multi-unicast. multi-unicast: one flow to each \
         replica. daisy-chain: a flow to the first replica; each replica forwards the block to the next one as soon \
         as it has begun to receive it.",
    )
    .or(&["multicast", "multi-unicast", "daisy-chain"]),
    key(
        "chunk",
        SIZE,
        Is("64KB"),
        "For a daisy chain: number of bytes that a replica receives before it starts to forward.",
    ),
    key(
        "read",
        Kind::Choice,
        Is("all-replicas"),
        "For storage: method of reading a block. all-replicas: one transfer from all replicas, in designs that \
         support it (scdp); in other designs the same as one-replica. one-replica: a flow from the replica in the \
         client's rack, or from any replica.",
    )
    .or(&["all-replicas", "one-replica"]),
    key(
        "blocks",
        count(1, 1_000),
        Is("1"),
        "For storage with read = \"one-replica\": number of blocks that a session reads at the same time \
         (read-ahead; 3 in the SCDP paper). Each block has its own placement. The bytes of the session are split \
         among the blocks.",
    ),
    key(
        "load",
        up_to(10.0),
        Is("sweep"),
        "For an open loop: load of the links that load_of selects, by default the links of the sending hosts. sweep: \
         each load of the study in turn. The answer shows the load of all other links. For requests: load of the \
         servers' busiest stations, without duplicates.",
    )
    .or(&["sweep"]),
    key(
        "load_of",
        Kind::Rate,
        Is("hosts"),
        "Reference of the load: the links of the sending hosts, the uplinks of the racks (counting the bytes that \
         leave a rack), or a rate.",
    )
    .or(&["hosts", "racks"]),
    key(
        "count_headers",
        Kind::Flag,
        Is("false"),
        "Whether the load counts headers, preamble and gap. If false, the load counts only payload.",
    ),
    key(
        "flows_per_second",
        up_to(1e12),
        Is("off"),
        "For an open loop: flow rate of all sources together, per second. The rate replaces the load.",
    )
    .or(&["off"]),
    key(
        "arrivals",
        Kind::Choice,
        Is("poisson"),
        "For an open loop: distribution of the time between two flows of a source. uniform: 0.5 to 1.5 times the \
         mean, as in RepNet's scripts.",
    )
    .or(&["poisson", "uniform", "fixed"]),
    key(
        "from",
        ANY_SPAN,
        Is("0s"),
        "For an open or closed loop and for queries: time when flows begin to arrive.",
    ),
    key(
        "until",
        SPAN,
        Follows("the study's duration"),
        "For an open or closed loop and for queries: time when flows or queries stop arriving.",
    ),
    key(
        "flows",
        count(1, u32::MAX as u64),
        Follows("the study's flows"),
        "For an open or closed loop: largest number of flows. For queries: largest number of queries.",
    )
    .or(&["unlimited"]),
    key(
        "fan_in_senders",
        count(2, 65_534),
        Is("off"),
        "For an open loop: number of hosts that send, at the same instant, a flow of the same size to the \
         destination of each flow below fan_in_below. It includes the flow's own source (11 in the RepNet paper).",
    )
    .or(&["off"]),
    key(
        "fan_in_below",
        SIZE,
        Is("100KB"),
        "For an open loop: flows below this size are part of a fan-in.",
    ),
    key(
        "outstanding",
        count(1, 65_536),
        Is("1"),
        "For a closed loop: flows outstanding per source. For queries: queries outstanding per aggregator.",
    ),
    key(
        "think",
        ANY_SPAN,
        Is("0s"),
        "For a closed loop: pause between the end of a flow and the start of the next one. For queries: pause between \
         the last answer of a query and the next query.",
    ),
    key(
        "think_times",
        Kind::Choice,
        Is("fixed"),
        "Distribution of this pause. fixed: always the value of think. exponential: exponential with the mean think.",
    )
    .or(&["fixed", "exponential"]),
    key(
        "aggregators",
        count(1, 65_536),
        Follows("all hosts"),
        "For queries: number of hosts that ask, drawn by the seed.",
    ),
    key(
        "fan_out",
        count(1, 65_535),
        Is("10"),
        "For queries: number of workers that a query asks. They are different hosts, drawn evenly from all hosts but the \
         aggregator.",
    ),
    key(
        "question",
        SIZE,
        Is("off"),
        "For queries: size of the question to each worker. The worker answers when it has the question. off: all answers \
         start with the query.",
    )
    .or(&["off"]),
    key(
        "path",
        count(0, 65_535),
        Is("any"),
        "Equal-cost path of the flows and their ACKs, counted from 0. In a leaf-spine it is the spine. In a fat-tree \
         with m = k/2 it is aggregation switch p mod m, then its core p div m. A trace has a column for it.",
    )
    .or(&["any"]),
    key("at", ANY_SPAN, Is("0s"), "For a burst: start time."),
    key(
        "jitter",
        ANY_SPAN,
        Is("0s"),
        "For a burst: flows start at times that are spread evenly over this span.",
    ),
];
