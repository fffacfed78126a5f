//! Schema of a run's results, with readers and writers.
//!
//! A run fills a [`RunRecord`]. [`StoredStudy`] reads a directory.
//! [`OutputDir`] writes the record as tables (Parquet or CSV) with a [`RunSummary`] and a [`Manifest`].
//! `docs/output.md` describes every file, column and unit.
//!
//! Times in memory are exact picoseconds, and [`RunRecord::hash`] includes them. Times in files are whole nanoseconds.
//! The crate computes statistics only for the [`RunSummary`] of a run.

mod capture_file;
mod cell;
mod coflow;
mod csv_file;
mod earlier;
mod error;
mod failure;
mod fct;
mod fields;
mod fingerprint;
mod flow;
mod flow_log;
mod hash;
mod layout;
mod lock;
mod manifest;
mod measure;
mod node;
mod offered;
mod output;
mod parameter;
mod parquet_file;
mod request;
mod row;
mod run;
mod run_files;
mod run_key;
mod sample;
mod session;
mod stored;
mod table;
mod table_file;
mod table_kind;
mod timers;
mod waits;
mod wall;
mod whole_file;

pub use capture_file::CaptureFile;
pub use cell::{Cell, Kind, Value};
pub use coflow::{CoflowKind, CoflowRecord};
pub use earlier::{Earlier, Found};
pub use error::Error;
pub use failure::{LinkFailure, LinkTrouble};
pub use fct::{FctStats, FctSummary, SizeGroup, quantile_rank};
pub use fingerprint::Fingerprint;
pub use flow::{FlowRecord, FlowRows};
pub use flow_log::FlowLog;
pub use layout::TableFormat;
pub use manifest::{HostInfo, Manifest, ManifestRun, Origin, RunState, SCHEMA_VERSION};
pub use measure::MeasureBound;
pub use node::{NodeKind, NodeRecord};
pub use offered::{LinkLoad, OfferedLoad, TierLoad, UnfinishedBytes};
pub use output::OutputDir;
pub use parameter::{Parameter, ParameterUnit, ParameterValue};
pub use request::{RequestRecord, RequestSummary};
pub use row::{Heading, Row};
pub use run::{DropCounts, PackedRun, PacketCount, RunCost, RunRecord, RunSummary, RunTotals};
pub use run_key::RunKey;
pub use sample::{LinkSample, PortTotals, QueueSample, Sampling, TopologyLink, link_numbers};
pub use session::{
    SessionEnd, SessionOperation, SessionOutcome, SessionRecord, SessionSummary, Straggling,
};
pub use stored::{StoredRun, StoredStudy, WrittenRun};
pub use table::{Column, Data, Table};
pub use table_kind::{Pieces, TableKind};
pub use timers::{CoarseChunk, FlowletGap, SlowCodec, Timer, Timers};
pub use waits::{ArrivedPayload, BurstStats, SwitchWaits, WaitStats};
pub use wall::WallClock;
pub use whole_file::{read_json, write_json, write_whole};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
