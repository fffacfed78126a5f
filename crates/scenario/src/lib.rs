//! Scenarios in TOML, and the simulation runs that they describe.
//!
//! A [`Scenario`] holds the keys that a user has set. Each value is checked against the [`schema`].
//! A scenario has three sources: a text ([`Scenario::from_text`]), a file, and values of a program.
//! [`Scenario::parse`] reads the text of a file, with the directory where its paths start.
//! [`Scenario::with`] sets values one by one.
//! A key that is not set has its default.
//!
//! A [`Study`] is derived from a scenario: one complete configuration for each design, load and seed.
//! [`Workers`] execute the runs on the cores of the machine and report to a [`Progress`].
//!
//! The crate reads no environment variables and prints nothing.
//! Errors contain the place, the value found there and the allowed values.
//!
//! ```
//! use tailcut_scenario::{Workers, Scenario, Study};
//!
//! let scenario = Scenario::from_text(
//!     r#"
//!     designs = ["tcp", "repflow"]
//!     loads = 0.3
//!     flows = 50
//!     [topology]
//!     kind = "leaf-spine"
//!     leaves = 2
//!     spines = 2
//!     hosts = 4
//!     [[workload]]
//!     sizes = "fixed:20KB"
//!     "#,
//! )?
//! .with("seed", 7)?
//! .with("tcp.min_rto", "1ms")?;
//!
//! let records = Study::of(&scenario)?.run(&Workers::default())?;
//! assert_eq!(records.len(), 2);
//! for record in &records {
//!     let finished = record.flows.iter().filter(|flow| flow.fct.is_some()).count();
//!     println!("{}: {finished} of {} flows", record.key.design, record.flows.len());
//!     assert_eq!((record.flows.len(), finished), (50, 50));
//! }
//!
//! // An error contains its place and a suggestion.
//! let error = Scenario::from_text("loads = 0.3\nflow = 50\n").unwrap_err();
//! assert_eq!(error.place.to_string(), "scenario:2");
//! assert_eq!(error.meant.as_deref(), Some("flows"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin;
mod capture;
mod differences;
mod error;
pub mod listing;
mod origin;
mod parameters;
mod path;
mod point;
mod recorded;
mod scenario;
pub mod schema;
mod searched;
mod study;
mod sweep;
mod terms;
mod text;
mod traces;
mod value;
mod workers;

pub use builtin::{BuiltIn, SCENARIOS};
pub use capture::{CapturePlan, RunCapture};
pub use differences::Differences;
pub use error::{Location, Outcome, ScenarioError, did_you_mean};
pub use path::KeyPath;
pub use scenario::{Entry, Scenario, Table};
pub use searched::SearchedKey;
pub use study::{
    NamedNodes, Study, TOPOLOGY_KINDS, design, replace_topology, replace_workload, topology_keys,
};
pub use text::ScenarioText;
pub use value::{Kind, Raw, Value, shortened};
pub use workers::{Ended, Progress, RealHosts, RunFailed, Silent, Watcher, Workers};
// Types that appear in studies and records.
pub use {
    tailcut_capture as captures, tailcut_record as record, tailcut_sim as sim,
    tailcut_units as units,
};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/own-discipline.md")]
struct OwnDiscipline;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/own-parts.md")]
struct OwnParts;
