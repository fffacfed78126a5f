//! The schema of what a run writes, and its readers and writers.
//!
//! A run fills a [`RunRecord`]; [`OutputDir`] writes it as tables (Parquet or CSV) with a
//! [`RunSummary`] and a [`Manifest`]; [`StoredStudy`] reads a directory back. `docs/output.md`
//! describes every file, column and unit.
//!
//! In memory times are exact picoseconds, and [`RunRecord::hash`] covers them; files keep whole
//! nanoseconds. The crate computes no statistics beyond the [`FctSummary`] that every run prints.

mod csv_file;
mod error;
mod failure;
mod fct;
mod flow;
mod hash;
mod manifest;
mod output;
mod parquet_file;
mod request;
mod rows;
mod run;
mod sample;
mod session;
mod stored;
mod table;
mod waits;
mod whole_file;

pub use error::Error;
pub use failure::LinkFailure;
pub use fct::{FctStats, FctSummary, SizeGroup, quantile_rank};
pub use flow::FlowRecord;
pub use hash::of_bytes as hash_of_bytes;
pub use manifest::{HostInfo, Manifest, ManifestRun, RunState, SCHEMA_VERSION};
pub use output::{OutputDir, TableFormat};
pub use request::{RequestRecord, RequestSummary};
pub use run::{DropCounts, PacketCount, RunCost, RunKey, RunRecord, RunSummary, RunTotals};
pub use sample::{LinkSample, PortTotals, QueueSample, Sampling, TopologyLink};
pub use session::{
    SessionEnd, SessionOperation, SessionOutcome, SessionRecord, SessionSummary, Straggling,
};
pub use stored::{StoredRun, StoredStudy};
pub use waits::{ArrivedPayload, BurstStats, SwitchWaits, WaitStats};
pub use whole_file::{read_json, write_json, write_whole};
