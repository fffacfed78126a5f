//! Errors: each names the place, what was found and what is allowed.

use crate::holder::Holder;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record as record;
use tailcut_scenario::ScenarioError;

/// Why something could not be done with a study's directory.
#[derive(Debug)]
pub enum Error {
    /// The system refused, or a file is not what was written.
    Record(record::Error),
    /// What the plan's scenario cannot be.
    Scenario(Box<ScenarioError>),
    /// The directory has no plan.
    NoStudy {
        /// The directory.
        path: PathBuf,
        /// What it has instead.
        found: &'static str,
    },
    /// The directory has other files and no plan, and is left alone.
    OtherFiles {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody else plans, collects, retries or prunes.
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who; `None` where the lock does not say it yet.
        by: Option<Box<Holder>>,
    },
    /// What cannot be handed to an engine such as Slurm, or what that refuses; in words.
    Engine(String),
    /// Places that the plan does not have.
    Places {
        /// What was asked for.
        found: String,
        /// How many cases the plan has.
        cases: usize,
    },
    /// This program makes something else of a case than the one that planned it.
    Changed {
        /// The directory.
        path: PathBuf,
        /// The case's place.
        case: usize,
    },
    /// Cases are not done, and a part of the study was not asked for.
    Incomplete {
        /// The directory.
        path: PathBuf,
        /// How many cases the plan has.
        cases: usize,
        /// The places of those that are missing.
        missing: Vec<usize>,
        /// How many of these failed.
        failed: usize,
    },
    /// A process that was to run cases could not be started, or was refused something.
    Process(String),
    /// Cases were run by several builds of the program, and that was not accepted.
    Builds {
        /// The directory.
        path: PathBuf,
        /// How many cases each build ran, the most first.
        cases: Vec<usize>,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| {
            Self::Record(record::Error::Io {
                action,
                path: path.to_owned(),
                cause,
            })
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => write!(f, "{error}"),
            Self::Scenario(error) => write!(f, "{error}"),
            Self::Engine(said) => f.write_str(said),
            Self::NoStudy { path, found } => write!(
                f,
                "{}: found {found}; allowed: a directory that `tailcut study plan` has written",
                path.display()
            ),
            Self::OtherFiles { path } => write!(
                f,
                "{}: found files and no plan.json, so it is left alone; allowed: a new or empty \
                 directory, or that of a study",
                path.display()
            ),
            Self::Locked { path, by } => {
                let who = by.as_ref().map_or("another process".to_owned(), |by| {
                    format!("{by}, since {}", by.since)
                });
                write!(
                    f,
                    "{}: {who} is planning or collecting here; wait until that has ended, or name \
                     another directory",
                    path.display()
                )
            }
            Self::Places { found, cases } => {
                let allowed = match cases {
                    0 => "nothing, as the plan has no cases".to_owned(),
                    _ => format!(
                        "I, I..J, I.. or ..J, or a list of these such as 0..3,7, with places from 0 to {}",
                        cases - 1
                    ),
                };
                write!(f, "cases: found '{found}'; allowed: {allowed}")
            }
            Self::Changed { path, case } => write!(
                f,
                "{}: case {case}: found another configuration of it in this build of tailcut than in \
                 the plan; allowed: the build that planned it, or `tailcut study plan` again",
                path.display()
            ),
            Self::Incomplete {
                path,
                cases,
                missing,
                failed,
            } => {
                let share = missing.len() as f64 / (*cases).max(1) as f64 * 100.0;
                write!(
                    f,
                    "{}: found {} of {cases} cases missing ({share:.1} %), {failed} of them failed: {}; \
                     allowed: all of them done, or --partial for a report of the others",
                    path.display(),
                    missing.len(),
                    crate::places::in_words(missing),
                )
            }
            Self::Process(said) => f.write_str(said),
            Self::Builds { path, cases } => {
                let counts: Vec<String> = cases.iter().map(usize::to_string).collect();
                write!(
                    f,
                    "{}: found cases of {} builds of tailcut ({}); allowed: cases of one build, or \
                     --accept-older for all of them",
                    path.display(),
                    cases.len(),
                    counts.join(" and ")
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record(error) => error.source(),
            _ => None,
        }
    }
}

impl From<record::Error> for Error {
    fn from(error: record::Error) -> Self {
        Self::Record(error)
    }
}

impl From<Box<ScenarioError>> for Error {
    fn from(error: Box<ScenarioError>) -> Self {
        Self::Scenario(error)
    }
}
