//! A study as a directory of cases, which any number of processes on any number of machines run.
//!
//! [`Draft::of`] plans a scenario: each of its runs is a case, known by the hash of all that decides its
//! result. [`StudyDir::write`] puts the plan into a directory. A [`Runner`] runs cases by their places;
//! whoever else does the same in the same directory takes the others. A case that is done is never run
//! again. [`StudyDir::collect`] makes of the results what one command would have written.
//!
//! Whatever stops a process, and whenever, the directory stays sound: a result is written under another
//! name and renamed once the disk has all of it. All that is asked of a file system is that it creates a
//! file exclusively and renames within a folder.
//!
//! The crate reads no environment and prints nothing. Errors name the place, what was found there and
//! what is allowed.

mod chunks;
mod clock;
mod collect;
mod cost;
mod error;
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
mod status;
mod study_dir;
mod tally;
mod told;
mod variation;
mod watch;

pub use chunks::Chunk;
pub use collect::{Collected, Collecting};
pub use error::Error;
pub use failed::Failure;
pub use forecast::{Forecast, UnderWay, rounded_time};
pub use holder::Holder;
pub use lock::{HEARTBEAT, SILENCE};
pub use places::{as_argument, in_words};
pub use plan::{Draft, PLAN_FORMAT, Plan, PlannedCase, PlannedScenario, Program};
pub use prune::Prunable;
pub use runner::{Ran, Runner};
pub use status::{CaseState, Holding, Status};
pub use study_dir::{Found, StudyDir};
pub use tally::Tally;
pub use told::in_a_line;
pub use variation::{VARIATIONS, Variation};
pub use watch::Watch;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
