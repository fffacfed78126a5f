//! Scenarios in TOML, and the runs that they describe.
//!
//! A [`Scenario`] is what a user has said: keys with values, each checked against one [`schema`].
//! It comes from a text ([`Scenario::from_text`]), from the text of a file with the directory in
//! which its paths start ([`Scenario::parse`]), or from values that are set one by one
//! ([`Scenario::with`]). Every key that is not given has its default. A [`Study`] is what follows
//! from it: one full configuration for each design, load and seed. A [`Crew`] runs them over the
//! cores of the machine and tells a [`Progress`] how far they are.
//!
//! The crate reads no environment and prints nothing. Errors name the place, what was found there
//! and what is allowed.
//!
//! ```
//! use tailcut_scenario::{Crew, Scenario, Study};
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
//! let records = Study::of(&scenario)?.run(&Crew::default())?;
//! assert_eq!(records.len(), 2);
//! for record in &records {
//!     let finished = record.flows.iter().filter(|flow| flow.fct.is_some()).count();
//!     println!("{}: {finished} of {} flows", record.key.design, record.flows.len());
//!     assert_eq!((record.flows.len(), finished), (50, 50));
//! }
//!
//! // What is wrong is told with its place.
//! let error = Scenario::from_text("loads = 0.3\nflow = 50\n").unwrap_err();
//! assert_eq!(error.place.to_string(), "scenario:2");
//! assert_eq!(error.meant.as_deref(), Some("flows"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin;
mod capture;
mod crew;
mod error;
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
mod text;
mod traces;
mod value;

pub use builtin::{BuiltIn, SCENARIOS};
pub use capture::{CapturePlan, RunCapture};
pub use crew::{Crew, Ended, Progress, RealHosts, RunFailed, Silent, Watcher};
pub use error::{Outcome, Place, ScenarioError, did_you_mean};
pub use path::KeyPath;
pub use recorded::{recorded_keys, recorded_parameters};
pub use scenario::{Entry, Scenario, Table};
pub use searched::SearchedKey;
pub use study::{
    NamedNodes, Study, TOPOLOGY_KINDS, design, replace_topology, replace_workload, topology_keys,
};
pub use sweep::alike;
pub use text::ScenarioText;
pub use value::{Kind, Raw, Value, shortened};
// What a study and its records are made of.
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
