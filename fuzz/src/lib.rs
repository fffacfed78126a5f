//! Fuzz targets: one target for each parser of bytes from outside.
//!
//! A target passes arbitrary bytes to a parser. It panics if the parser panics or violates a condition.
//! Accepted values must be within their limits, and must not change when they are written and read again.
//! An error must have only one line, and must name the location of the fault.
//! `tests/replay.rs` runs every target on its corpus and on changed files of the corpus, on stable Rust.
//! `make fuzz` searches with coverage (see `README.md`).

mod btf;
mod cast;
mod choice;
mod configuration;
mod driver;
mod exchange;
mod frames;
mod http;
mod http_fields;
mod machines;
mod network;
mod probe;
mod quantity;
mod scenario;
mod sinks;
mod stored;
mod studies;
mod wire;
mod workload;

pub use self::http::{http_priority, http_via};
pub use btf::btf;
pub use cast::{cast_manifest, cast_transfer};
pub use configuration::{cast_key, cast_key_file, configuration};
pub use driver::{cast_control, cast_driver};
pub use exchange::http_exchange;
pub use frames::lab_frame;
pub use http_fields::http_part;
pub use machines::{repnet_flow, repnet_table, requests_gate};
pub use network::{cast_network, cast_sealed};
pub use probe::probe_walk;
pub use quantity::quantity;
pub use scenario::{capture, design, page, scenario, setting};
pub use sinks::{cast_pipe, cast_sink, cast_state};
pub use stored::{comparisons, manifest, run, sensitivity, table_csv, table_parquet};
pub use studies::{places, study};
pub use wire::{
    wire_cast, wire_frame, wire_ndp, wire_pfabric, wire_rans, wire_repnet, wire_scdp, wire_segment,
};
pub use workload::{coflows, size_name, size_table, trace};

/// Name and function of a target. Its corpus has the same name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 48] = [
    ("scenario", scenario),
    ("setting", setting),
    ("design", design),
    ("page", page),
    ("trace", trace),
    ("size_table", size_table),
    ("coflows", coflows),
    ("size_name", size_name),
    ("manifest", manifest),
    ("run", run),
    ("table_csv", table_csv),
    ("table_parquet", table_parquet),
    ("comparisons", comparisons),
    ("sensitivity", sensitivity),
    ("wire_scdp", wire_scdp),
    ("wire_cast", wire_cast),
    ("wire_ndp", wire_ndp),
    ("wire_pfabric", wire_pfabric),
    ("wire_rans", wire_rans),
    ("wire_repnet", wire_repnet),
    ("wire_segment", wire_segment),
    ("wire_frame", wire_frame),
    ("http_priority", http_priority),
    ("http_via", http_via),
    ("cast_manifest", cast_manifest),
    ("cast_transfer", cast_transfer),
    ("cast_driver", cast_driver),
    ("cast_control", cast_control),
    ("http_part", http_part),
    ("configuration", configuration),
    ("cast_key", cast_key),
    ("quantity", quantity),
    ("btf", btf),
    ("capture", capture),
    ("cast_key_file", cast_key_file),
    ("cast_network", cast_network),
    ("cast_pipe", cast_pipe),
    ("cast_sealed", cast_sealed),
    ("cast_sink", cast_sink),
    ("cast_state", cast_state),
    ("http_exchange", http_exchange),
    ("lab_frame", lab_frame),
    ("places", places),
    ("probe_walk", probe_walk),
    ("repnet_flow", repnet_flow),
    ("repnet_table", repnet_table),
    ("requests_gate", requests_gate),
    ("study", study),
];
