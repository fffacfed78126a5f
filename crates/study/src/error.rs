//! Errors of the crate.
//! Each text contains the file or flag with the fault, the value that was found, and the allowed values.

use crate::holder::Holder;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record as record;
use tailcut_scenario::ScenarioError;

/// Error of an operation on a study's directory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed, or a file is damaged.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// The plan's scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// The directory has no plan.
    #[error(
        "{}: found {found}; allowed: a directory that `tailcut study plan` has written",
        .path.display()
    )]
    NoStudy {
        /// Directory that was given.
        path: PathBuf,
        /// Reason: the directory does not exist, or contains no plan.
        found: &'static str,
    },
    /// The directory contains files but no plan.
    /// Files without a plan do not belong to a study, so the directory stays unchanged.
    #[error(
        "{}: found files and no plan.json, so it stays unchanged; allowed: a new or empty \
         directory, or the directory of a study",
        .path.display()
    )]
    OtherFiles {
        /// Directory that was given.
        path: PathBuf,
    },
    /// Another process is planning, collecting, retrying or pruning.
    #[error(
        "{}: {} is planning or collecting here; wait until it has ended, or name another directory",
        .path.display(),
        .by.as_ref().map_or("another process".to_owned(), |by| format!("{by}, since {}", by.since))
    )]
    Locked {
        /// Directory of the study.
        path: PathBuf,
        /// Process that has the lock. `None` if the lock file does not contain it yet.
        by: Option<Box<Holder>>,
    },
    /// An engine such as Slurm refuses the jobs, or its script cannot contain a path or flag.
    /// The text gives the reason.
    #[error("{0}")]
    Engine(String),
    /// The plan does not contain the named cases.
    #[error("cases: found '{found}'; allowed: {}", allowed_places(*.cases))]
    Places {
        /// Cases that the user named.
        found: String,
        /// Number of cases in the plan.
        cases: usize,
    },
    /// The case has another configuration in this build of the program than in the build that planned the case.
    #[error(
        "{}: case {case}: found another configuration in this build of tailcut than in \
         the plan; allowed: the build that planned it, or `tailcut study plan` again",
        .path.display()
    )]
    Changed {
        /// Directory of the study.
        path: PathBuf,
        /// Index of the case.
        case: usize,
    },
    /// Some cases are unfinished, and the user did not allow an incomplete result.
    #[error(
        "{}: found {} of {cases} cases missing ({:.1} %), {failed} of them failed: {}; \
         allowed: all cases done, or --partial for a report of the others",
        .path.display(),
        .missing.len(),
        .missing.len() as f64 / (*.cases).max(1) as f64 * 100.0,
        crate::places::in_words(.missing)
    )]
    Incomplete {
        /// Directory of the study.
        path: PathBuf,
        /// Number of cases in the plan.
        cases: usize,
        /// Indices of the missing cases.
        missing: Vec<usize>,
        /// Number of missing cases that have failed.
        failed: usize,
    },
    /// A process that should run cases could not be started, or refused its command line.
    #[error("{0}")]
    Process(String),
    /// Several builds of the program ran the cases, and the user did not allow that.
    #[error(
        "{}: found cases of {} builds of tailcut ({}); allowed: cases of one build, or \
         --accept-older for all of them",
        .path.display(),
        .cases.len(),
        .cases.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ")
    )]
    Builds {
        /// Directory of the study.
        path: PathBuf,
        /// Number of cases of each build, the largest first.
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

fn allowed_places(cases: usize) -> String {
    match cases {
        0 => "no place, because the plan has no cases".to_owned(),
        _ => format!(
            "I, I..J, I.. or ..J, or a list of these such as 0..3,7, with places from 0 to {}",
            cases - 1
        ),
    }
}
