//! Errors: each names the place, what was found and what is allowed.

use crate::holder::Holder;
use std::io;
use std::path::{Path, PathBuf};
use tailcut_record as record;
use tailcut_scenario::ScenarioError;

/// Why something could not be done with a study's directory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused, or a file is not what was written.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// What the plan's scenario cannot be.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// The directory has no plan.
    #[error(
        "{}: found {found}; allowed: a directory that `tailcut study plan` has written",
        .path.display()
    )]
    NoStudy {
        /// The directory.
        path: PathBuf,
        /// What it has instead.
        found: &'static str,
    },
    /// The directory has other files and no plan, and is left alone.
    #[error(
        "{}: found files and no plan.json, so it is left alone; allowed: a new or empty \
         directory, or that of a study",
        .path.display()
    )]
    OtherFiles {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody else plans, collects, retries or prunes.
    #[error(
        "{}: {} is planning or collecting here; wait until that has ended, or name another directory",
        .path.display(),
        .by.as_ref().map_or("another process".to_owned(), |by| format!("{by}, since {}", by.since))
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who; `None` where the lock does not say it yet.
        by: Option<Box<Holder>>,
    },
    /// What cannot be handed to an engine such as Slurm, or what that refuses; in words.
    #[error("{0}")]
    Engine(String),
    /// Places that the plan does not have.
    #[error("cases: found '{found}'; allowed: {}", allowed_places(*.cases))]
    Places {
        /// What was asked for.
        found: String,
        /// How many cases the plan has.
        cases: usize,
    },
    /// This program makes something else of a case than the one that planned it.
    #[error(
        "{}: case {case}: found another configuration of it in this build of tailcut than in \
         the plan; allowed: the build that planned it, or `tailcut study plan` again",
        .path.display()
    )]
    Changed {
        /// The directory.
        path: PathBuf,
        /// The case's place.
        case: usize,
    },
    /// Cases are not done, and a part of the study was not asked for.
    #[error(
        "{}: found {} of {cases} cases missing ({:.1} %), {failed} of them failed: {}; \
         allowed: all of them done, or --partial for a report of the others",
        .path.display(),
        .missing.len(),
        .missing.len() as f64 / (*.cases).max(1) as f64 * 100.0,
        crate::places::in_words(.missing)
    )]
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
    #[error("{0}")]
    Process(String),
    /// Cases were run by several builds of the program, and that was not accepted.
    #[error(
        "{}: found cases of {} builds of tailcut ({}); allowed: cases of one build, or \
         --accept-older for all of them",
        .path.display(),
        .cases.len(),
        .cases.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ")
    )]
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

fn allowed_places(cases: usize) -> String {
    match cases {
        0 => "nothing, as the plan has no cases".to_owned(),
        _ => format!(
            "I, I..J, I.. or ..J, or a list of these such as 0..3,7, with places from 0 to {}",
            cases - 1
        ),
    }
}
