//! The keys of a study, at the top of a scenario.

use super::key::Fallback::{Follows, Is};
use super::key::{ANY_SPAN, SPAN, Section, count, key, sets, typed};
use crate::value::Kind;

/// The keys before any header.
pub const STUDY: Section = Section {
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
            Kind::Texts(
                "names of designs, [replication+]transport[@routing], such as [\"tcp\", \"repflow+dctcp\"], or with \
                 settings { name = \"slow\", design = \"tcp\", \"tcp.min_rto\" = \"1s\" }",
            ),
            Follows("none; at least one is required"),
            "The designs to compare; the first one is what the others are compared with.",
        ),
        key(
            "loads",
            Kind::Loads,
            Is("0.5"),
            "The loads of every workload with load = \"sweep\": of the sending hosts' links, unless its load_of \
             says whose; of the servers' busiest stations for requests.",
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
            "How long flows arrive, in simulated time. Where it is given, the flows of a trace that start later \
             are left out.",
        ),
        key(
            "flows",
            count(1, u32::MAX as u64),
            Is("unlimited"),
            "How many flows a workload starts at most; of a trace the first ones.",
        )
        .or(&["unlimited"]),
        key(
            "drain",
            ANY_SPAN,
            sets!(course.drain),
            "How long the run waits, after the last arrival, for flows to finish; what has not \
             finished then is counted as unfinished.",
        ),
        key(
            "sample_every",
            SPAN,
            sets!(course.sample_every),
            "How often queues and links are sampled, for the report's drawing of the network and its \
             plots over time. A hundred to a thousand samples a run are enough to see where it is hot.",
        )
        .or(&["off"]),
        typed(
            "measure_waits",
            sets!(course.measures.waits),
            "Whether the run's summary tells how long packets waited at switch ports.",
        ),
        typed(
            "measure_bursts",
            sets!(course.measures.bursts),
            "Whether the run's summary tells in what bursts payload left the hosts.",
        ),
        typed(
            "measure_goodput",
            sets!(course.measures.goodput),
            "Whether the run's summary tells what payload reached the hosts while flows arrived.",
        ),
        key(
            "tables",
            Kind::Choice,
            Is("parquet"),
            "The format of the tables that are written.",
        )
        .or(&["parquet", "csv"]),
        typed(
            "engine",
            sets!(course.engine),
            "The event queue. Results do not depend on it; speed does.",
        ),
        key(
            "clock",
            Kind::Choice,
            Is("simulated"),
            "The clock that runs are under: the simulator's, the wall's with the kernels of real hosts \
             (docs/lab.md), or each design once under either.",
        )
        .or(&["simulated", "wall", "both"]),
        key(
            "slowdown",
            count(1, 10_000),
            sets!(course.slowdown),
            "How many times slower than the wall's the network's clock goes on real hosts. Results are by \
             the network's.",
        ),
        typed(
            "port_events",
            sets!(course.port_events),
            "Events a packet at FIFO ports: one where possible, or two everywhere. Results do \
             not depend on it; speed does.",
        ),
    ],
};
