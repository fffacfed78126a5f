//! Study as a directory of cases. Any number of processes on any number of machines run the cases.
//!
//! [`Draft::of`] plans a scenario. Each run of the scenario is a case.
//! A case is identified by the hash of everything that determines its result.
//! [`StudyDir::write`] writes the plan into a directory. A [`Runner`] runs cases.
//! The place of a case is its index in the plan. Several processes can run the cases of one directory at the same time.
//! Each process runs cases that no other process runs. A finished case never runs again.
//! [`StudyDir::collect`] writes the same output files as a single command that runs all cases.
//!
//! The directory stays consistent if a process is stopped at any time.
//! A result is written under a temporary name, and gets its final name when it is completely on the disk.
//! The file system must support two operations.
//! The first is the exclusive creation of a file, the second is the renaming of a file within a folder.
//!
//! The crate reads no environment variables and prints nothing.
//! Errors contain the place, the value that was found there, and the allowed values.

mod chunks;
mod clock;
mod collect;
mod cost;
mod error;
mod executable;
mod failed;
mod forecast;
mod holder;
pub mod hq;
mod layout;
mod lock;
mod paths;
mod places;
mod plan;
mod prune;
mod runner;
pub mod slurm;
mod state;
mod status;
mod study_dir;
mod tally;
mod text;
mod variation;
mod watch;

pub use chunks::Chunk;
pub use collect::{CollectOptions, Collected};
pub use error::Error;
pub use executable::identity;
pub use failed::Failure;
pub use forecast::{Forecast, UnderWay, rounded_time};
pub use holder::Holder;
pub use lock::{HEARTBEAT, LOCK_TIMEOUT};
pub use places::{as_argument, in_words};
pub use plan::{Draft, PLAN_FORMAT, Plan, PlannedCase, PlannedScenario, Program};
pub use prune::Prunable;
pub use runner::{CaseOutcome, Runner};
pub use state::StudyState;
pub use status::{CaseState, RunningCase, Status};
pub use study_dir::{ExistingResults, StudyDir};
pub use tally::Tally;
pub use text::in_a_line;
pub use variation::{VARIATIONS, Variation};
pub use watch::Watch;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
