//! Keys of a study, at the top of a scenario.

use super::key::Fallback::{Follows, Is};
use super::key::{ANY_SPAN, SPAN, Section, count, key, sets, typed};
use crate::value::Kind;

/// Keys before any header.
pub const STUDY: Section = Section {
    name: "",
    repeated: false,
    about: "The study: designs, loads, seeds and duration. There is one run for each combination of design, load and \
            seed.",
    keys: &[
        key(
            "name",
            Kind::Text("text"),
            Follows("the file's name without its extension"),
            "Name of the study. Its results are written to out/NAME.",
        ),
        key(
            "about",
            Kind::Text("text"),
            Is(""),
            "Purpose of the study, in one line.",
        ),
        key(
            "designs",
            Kind::Texts(
                "names of designs, [replication+]transport[@routing], such as [\"tcp\", \"repflow+dctcp\"], or with \
                 settings { name = \"slow\", design = \"tcp\", \"tcp.min_rto\" = \"1s\" }",
            ),
            Follows("none; at least one is required"),
            "Designs to compare. The first design is the baseline of all others.",
        ),
        key(
            "loads",
            Kind::Loads,
            Is("0.5"),
            "Loads of every workload with load = \"sweep\". A load is a share of the rate of the sending hosts' \
             links, unless load_of selects something else. For requests it is a share of the capacity of the \
             servers' busiest stations.",
        ),
        key(
            "seed",
            count(0, u64::MAX),
            Is("1"),
            "First seed. All designs have the same flows under one seed.",
        ),
        key(
            "seeds",
            count(1, 10_000),
            Is("1"),
            "Number of seeds, counted up from the first. Confidence intervals need several seeds.",
        ),
        key(
            "duration",
            SPAN,
            Is("1s"),
            "Time in which flows arrive, in simulated time. A trace is cut at this time, if the key is set.",
        ),
        key(
            "flows",
            count(1, u32::MAX as u64),
            Is("unlimited"),
            "Largest number of flows that a workload starts. A trace is cut after this number.",
        )
        .or(&["unlimited"]),
        key(
            "drain",
            ANY_SPAN,
            sets!(options.drain),
            "Time that the run waits for flows to finish after the last arrival. Other flows count as unfinished.",
        ),
        key(
            "sample_every",
            SPAN,
            sets!(options.sample_every),
            "Interval between two samples of queues and links, for the report's drawing of the network and for plots \
             over time. A hundred to a thousand samples per run are enough to find the bottlenecks.",
        )
        .or(&["off"]),
        typed(
            "measure_waits",
            sets!(options.measures.waits),
            "Whether the summary of a run contains waiting times of packets at switch ports.",
        ),
        typed(
            "measure_bursts",
            sets!(options.measures.bursts),
            "Whether the summary of a run contains the sizes of payload bursts that left the hosts.",
        ),
        typed(
            "measure_goodput",
            sets!(options.measures.goodput),
            "Whether the summary of a run contains the payload that reached the hosts while flows arrived.",
        ),
        key(
            "tables",
            Kind::Choice,
            Is("parquet"),
            "Format of the tables.",
        )
        .or(&["parquet", "csv"]),
        typed(
            "engine",
            sets!(options.engine),
            "Event queue. The choice changes the speed, but not the results.",
        ),
        key(
            "clock",
            Kind::Choice,
            Is("simulated"),
            "Clock of the runs: simulated time, wall-clock time on the kernels of real hosts (docs/lab.md), or both, \
             with one run of each design under each clock.",
        )
        .or(&["simulated", "wall", "both"]),
        key(
            "slowdown",
            count(1, 10_000),
            sets!(options.slowdown),
            "Factor by which the clock of the network is slower than the wall clock, on real hosts. Results are in \
             network time.",
        ),
        typed(
            "port_events",
            sets!(options.port_events),
            "Events per packet at FIFO ports: one where possible, or two everywhere. It changes the speed, but not \
             the results.",
        ),
    ],
};

/// Keys of the measured part of each run.
pub const MEASURE: Section = Section {
    name: "measure",
    repeated: false,
    about: "The part of each run from which the answer and the report take their figures: the flows, requests and \
            sessions that start in it. The tables of a run contain all of them.",
    keys: &[
        key(
            "from",
            Kind::Text("a time such as \"10ms\", or a share of the flows such as \"20%\""),
            Is("auto"),
            "Start of the measured part. \"auto\": the end of the warm-up, if flows arrive at random; otherwise the start \
             of the run. The warm-up ends when the number of flows in the system reaches its mean for the first time, \
             in all designs and seeds of a setting. If that takes more than half of the arrivals, the answer says that \
             the run is not steady, and the second half is measured.",
        )
        .or(&["auto"]),
        key(
            "until",
            Kind::Text("a time such as \"10ms\", or a share of the flows such as \"80%\""),
            Is("end"),
            "End of the measured part. Flows that start before this end are measured until they finish.",
        )
        .or(&["end"]),
        typed(
            "continue_load",
            sets!(options.continues_load),
            "Whether flows keep arriving until the last recorded flow has ended, so that the last flows meet as much \
             traffic as the others. Without it, large flows that start last are too fast at loads of 0.5 or more. The \
             table of flows marks the later flows as load only. No time of a flow includes them, but their packets \
             count in the totals.",
        ),
    ],
};
