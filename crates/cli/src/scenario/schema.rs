//! Every key of a scenario: what it holds, its default, what is allowed and what it means.
//!
//! This one table feeds the parser, the guesses at misspelt keys, `--set`, `tailcut list keys` and
//! the reference in `docs/scenario.md`.

use super::value::{Kind, Raw, Value};

/// A section of a scenario.
#[derive(Debug)]
pub struct Section {
    /// Its header; empty for the keys before any header.
    pub name: &'static str,
    /// Whether it is written `[[name]]` and may be given several times.
    pub repeated: bool,
    /// What it is about.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a section.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Words that it takes beside its kind.
    pub words: &'static [&'static str],
    /// What holds where the key is not given.
    pub default: Fallback,
    /// What it means.
    pub about: &'static str,
}

/// What holds where a key is not given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// This value, as written.
    Is(&'static str),
    /// Something that follows from other keys, or nothing; in words.
    Follows(&'static str),
}

use Fallback::{Follows, Is};

impl Section {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// A key's name with that of the section before it.
    pub fn path(&self, key: &str) -> String {
        match self.name {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }

    /// The section's header as it is written in a file.
    pub fn header(&self) -> String {
        match (self.name, self.repeated) {
            ("", _) => "the top of the file".to_owned(),
            (name, true) => format!("[[{name}]]"),
            (name, false) => format!("[{name}]"),
        }
    }
}

impl Key {
    /// Reads a value; `None` when it is not allowed.
    pub fn read(&self, raw: &Raw) -> Option<Value> {
        if let Raw::Text(text) | Raw::Argument(text) = raw
            && let Some(word) = self.words.iter().find(|word| **word == text.trim())
        {
            return Some(Value::Word(word));
        }
        self.kind.read(raw)
    }

    /// The default, where it is a value.
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            Is(text) => self.read(&Raw::Argument(text.to_owned())),
            Follows(_) => None,
        }
    }

    /// What is allowed, for errors and the reference.
    pub fn allowed(&self) -> String {
        let words = self.words.iter().map(|word| format!("\"{word}\""));
        let kind = self.kind.allowed();
        let kind = (!kind.is_empty()).then_some(kind);
        kind.into_iter().chain(words).collect::<Vec<_>>().join(", ")
    }
}

/// The section called `name`.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

const fn key(name: &'static str, kind: Kind, default: Fallback, about: &'static str) -> Key {
    Key {
        name,
        kind,
        words: &[],
        default,
        about,
    }
}

impl Key {
    const fn or(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }
}

const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most }
}

const ANY_SPAN: Kind = Kind::Duration { least: "0s" };
const SPAN: Kind = Kind::Duration { least: "1ns" };
const SIZE: Kind = Kind::Bytes { least: 1 };
const PACKETS_OR_BYTES: Kind = Kind::Sized {
    of: "packets",
    least: 1,
    most: 1_000_000_000,
};

/// Every section.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "",
        repeated: false,
        about: "The study: which designs, at which loads, with which seeds, for how long. It is the \
                product of designs, loads and seeds.",
        keys: &[
            key(
                "name",
                Kind::Text("text"),
                Follows("the file's name without its extension"),
                "The study's name; its results go to out/NAME.",
            ),
            key(
                "about",
                Kind::Text("text"),
                Is(""),
                "What the study shows, in a line.",
            ),
            key(
                "designs",
                Kind::Texts("names of designs, [replication+]transport[@routing], such as [\"tcp\", \"repflow+dctcp\"]"),
                Follows("none; at least one is required"),
                "The designs to compare; the first one is what the others are compared with.",
            ),
            key(
                "loads",
                Kind::Loads,
                Is("0.5"),
                "The loads of every workload with load = \"sweep\".",
            ),
            key(
                "seed",
                count(0, u64::MAX),
                Is("1"),
                "The first seed. All designs see the same flows under one seed.",
            ),
            key(
                "seeds",
                count(1, 10_000),
                Is("1"),
                "How many seeds, counted up from the first; confidence intervals need several.",
            ),
            key(
                "duration",
                SPAN,
                Is("1s"),
                "How long flows arrive, in simulated time.",
            ),
            key(
                "flows",
                count(1, u32::MAX as u64),
                Is("unlimited"),
                "How many flows a workload starts at most.",
            )
            .or(&["unlimited"]),
            key(
                "drain",
                ANY_SPAN,
                Is("10s"),
                "How long the run waits, after the last arrival, for flows to finish; what has not \
                 finished then is counted as unfinished.",
            ),
            key(
                "sample_every",
                SPAN,
                Is("off"),
                "How often queues and links are sampled.",
            )
            .or(&["off"]),
            key(
                "tables",
                Kind::Choice,
                Is("parquet"),
                "The format of the tables that are written.",
            )
            .or(&["parquet", "csv"]),
            key(
                "engine",
                Kind::Choice,
                Is("calendar"),
                "The event queue. Results do not depend on it; speed does.",
            )
            .or(&["calendar", "heap"]),
            key(
                "port_events",
                Kind::Choice,
                Is("one"),
                "Events a packet at FIFO ports: one where possible, or two everywhere. Results do \
                 not depend on it; speed does.",
            )
            .or(&["one", "two"]),
        ],
    },
    Section {
        name: "topology",
        repeated: false,
        about: "The network. Every link carries its rate in both directions at once.",
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
                Follows("12 on a single switch, 8 a leaf"),
                "Hosts: of a single switch in all, of a leaf-spine a leaf.",
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
                "oversubscription",
                count(1, 64),
                Follows("what hosts and rates give; 1 for a fat-tree"),
                "What the hosts of a rack can send over what its uplinks carry. For a leaf-spine it \
                 sets the rate of the uplinks; for a fat-tree the number of hosts an edge switch.",
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
            key("rate", Kind::Rate, Is("10Gbps"), "The rate of a host's link."),
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
        ],
    },
    Section {
        name: "nodes",
        repeated: true,
        about: "Hosts and switches of a custom topology. Hosts are numbered in the order in which \
                they are listed.",
        keys: &[
            key(
                "name",
                Kind::Text("a name that no other node has"),
                Follows("none; required"),
                "What links call it.",
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
    },
    Section {
        name: "links",
        repeated: true,
        about: "Links of a custom topology: a host is on exactly one switch; switches forward along \
                all shortest paths. Between a name with a count and another, every pair is linked.",
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
    },
    Section {
        name: "queue",
        repeated: false,
        about: "The queue of every switch port: FIFO, drop-tail, with an ECN threshold. The packet \
                that is being sent does not count.",
        keys: &[
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
    },
    Section {
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
                Kind::Number {
                    above: 0.0,
                    most: 1_024.0,
                },
                Is("1"),
                "The share of the free memory that one port may hold.",
            ),
        ],
    },
    Section {
        name: "framing",
        repeated: false,
        about: "Bytes a packet beside its payload. The payload of a full packet is tcp.mss.",
        keys: &[
            key(
                "header",
                count(1, 10_000),
                Is("58"),
                "Header bytes a packet of all layers, with the frame check sequence (Ethernet 18, \
                 IPv4 20, TCP 20).",
            ),
            key(
                "preamble_and_gap",
                count(0, 10_000),
                Is("20"),
                "Preamble and inter-frame gap, in bytes of line time a packet.",
            ),
        ],
    },
    Section {
        name: "tcp",
        repeated: false,
        about: "Every TCP connection, whatever governs its window: the design says that.",
        keys: &[
            key(
                "mss",
                count(64, 65_495),
                Is("1460"),
                "Payload bytes of a full segment.",
            ),
            key(
                "initial_window",
                Kind::Sized {
                    of: "segments",
                    least: 1,
                    most: 1_000_000,
                },
                Is("10 segments"),
                "What may be sent before the first ACK (RFC 6928).",
            ),
            key(
                "min_rto",
                SPAN,
                Is("200ms"),
                "The lower bound of the retransmission timeout (Linux; RFC 6298 asks for 1 s).",
            ),
            key(
                "initial_rto",
                SPAN,
                Is("1s"),
                "The retransmission timeout before the first sample, the SYN's included (RFC 6298).",
            ),
            key(
                "max_rto",
                SPAN,
                Is("60s"),
                "The upper bound of the retransmission timeout (RFC 6298).",
            ),
            key(
                "clock_granularity",
                ANY_SPAN,
                Is("1ms"),
                "The timeout is at least the smoothed round-trip time and this (G of RFC 6298, 2.3). \
                 Linux in effect sets it to min_rto.",
            ),
            key(
                "delayed_ack",
                count(2, 255),
                Is("2"),
                "Segments an ACK; off: every segment is acknowledged at once (RFC 5681).",
            )
            .or(&["off"]),
            key(
                "delayed_ack_timeout",
                SPAN,
                Is("auto"),
                "The longest that an ACK is held back, less than min_rto. \"auto\": 40 ms, or half of \
                 min_rto where that is shorter.",
            )
            .or(&["auto"]),
            key(
                "limited_transmit",
                Kind::Flag,
                Is("true"),
                "Whether the first two duplicate ACKs release new data (RFC 3042).",
            ),
            key(
                "sack",
                Kind::Flag,
                Is("false"),
                "Whether receivers report SACK blocks and senders recover by them (RFC 2018, 6675); \
                 otherwise NewReno's recovery (RFC 6582).",
            ),
            key(
                "lso",
                Kind::Bytes { least: 1 },
                Is("off"),
                "Large-send offload: payload bytes that leave as one burst.",
            )
            .or(&["off"]),
            key(
                "max_cwnd",
                SIZE,
                Is("unlimited"),
                "The congestion window's upper bound.",
            )
            .or(&["unlimited"]),
            key(
                "initial_ssthresh",
                SIZE,
                Is("unlimited"),
                "Where a connection's first slow start ends (64 KB in ns-3 for long; Linux's CUBIC leaves \
                 slow start by HyStart, from 16 segments on); unlimited: at the first congestion.",
            )
            .or(&["unlimited"]),
            key(
                "duplicate_ack_threshold",
                count(1, 255),
                Is("3"),
                "Duplicate ACKs that mean loss (RFC 5681).",
            ),
            key(
                "max_syn_retries",
                count(0, 255),
                Is("6"),
                "How often a SYN or SYN-ACK is sent again before the connection fails.",
            ),
            key(
                "max_data_retries",
                count(0, 255),
                Is("15"),
                "Timeouts in a row without progress before the connection fails.",
            ),
            key(
                "dctcp_gain",
                Kind::Number {
                    above: 0.0,
                    most: 1.0,
                },
                Is("0.0625"),
                "DCTCP's g, the weight of the newest window in the estimate of marking (RFC 8257).",
            ),
            key(
                "classic_ecn",
                Kind::Flag,
                Is("false"),
                "Whether NewReno and CUBIC negotiate ECN and answer a mark like a loss (RFC 3168). \
                 DCTCP always negotiates it.",
            ),
        ],
    },
    Section {
        name: "repnet",
        repeated: false,
        about: "RepFlow and RepSYN.",
        keys: &[
            key(
                "limit",
                SIZE,
                Is("100KB"),
                "Flows under this size are replicated (RepNet paper).",
            ),
            key(
                "archive_limit",
                SIZE,
                Is("100KB"),
                "A server that has archived more than this for a connection that has not come yet \
                 settles on the one that it has. The paper gives no value.",
            ),
            key(
                "waiting_list_timeout",
                SPAN,
                Is("1s"),
                "How long a server waits for the second connection of a flow (0.8 to 1 s in the \
                 released code).",
            ),
        ],
    },
    Section {
        name: "workload",
        repeated: true,
        about: "What the network is loaded with: one or more parts side by side. Without any, web \
                search in an open loop.",
        keys: WORKLOAD_KEYS,
    },
];

const WORKLOAD_KEYS: &[Key] = &[
    key(
        "kind",
        Kind::Choice,
        Is("open"),
        "open: flows arrive whether or not earlier ones have finished. closed: each source keeps a \
         number of flows outstanding. burst: each source starts one flow. trace: exactly the flows \
         of a file.",
    )
    .or(&["open", "closed", "burst", "trace"]),
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
        "Flow sizes. Not for a trace.",
    ),
    key(
        "file",
        Kind::Text("the path of a CSV with the columns start_ns,src,dst,bytes and, if wanted, path"),
        Follows("none; required for a trace"),
        "The file of a trace, relative to the scenario's.",
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
        "load",
        Kind::Number {
            above: 0.0,
            most: 10.0,
        },
        Is("sweep"),
        "For an open loop: the load; sweep: each of the study's loads in turn.",
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
        Kind::Number {
            above: 0.0,
            most: 1e12,
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_that_its_key_allows() {
        for section in SECTIONS {
            for key in section.keys {
                if let Is(text) = key.default {
                    assert!(
                        key.default_value().is_some(),
                        "{}: {text}",
                        section.path(key.name)
                    );
                }
            }
        }
    }

    #[test]
    fn names_are_unique_and_choices_have_words() {
        for (i, section) in SECTIONS.iter().enumerate() {
            assert!(SECTIONS[..i].iter().all(|s| s.name != section.name));
            for (j, key) in section.keys.iter().enumerate() {
                assert!(section.keys[..j].iter().all(|k| k.name != key.name));
                assert_eq!(
                    key.kind == Kind::Choice && key.words.is_empty(),
                    false,
                    "{}",
                    key.name
                );
            }
        }
    }
}
