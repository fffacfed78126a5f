//! How the command ends when it does not end well.

use std::fmt;
use std::io;
use std::process::ExitCode;
use tailcut_scenario::{RunFailed, ScenarioError, record};

/// Why the command stops before its end.
#[derive(Debug)]
pub enum Failure {
    /// Something that the user can mend: input, a directory, a full disk.
    Refused(anyhow::Error),
    /// A check that was asked for did not hold.
    CheckFailed,
    /// Cases have failed; in words.
    CasesFailed(String),
    /// Other processes are at the cases that are left; in words.
    Elsewhere(String),
    /// A command has ended with an exit code of its own; in words.
    #[cfg_attr(
        not(all(feature = "cast", target_os = "linux")),
        expect(dead_code, reason = "of `tailcut cast`")
    )]
    Ended(u8, String),
    /// The user interrupted it; what was finished is kept.
    Interrupted,
    /// Whoever read standard output has gone: nothing is left to do.
    NobodyReads,
}

impl Failure {
    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Refused(_) => ExitCode::from(2),
            Self::CheckFailed => ExitCode::from(1),
            Self::CasesFailed(_) => ExitCode::from(3),
            Self::Elsewhere(_) => ExitCode::from(4),
            Self::Ended(code, _) => ExitCode::from(*code),
            Self::Interrupted => ExitCode::from(130),
            Self::NobodyReads => ExitCode::SUCCESS,
        }
    }

    /// A failure to write standard output.
    pub fn of_stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Refused(anyhow::Error::new(error).context("cannot write standard output")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Some causes are part of the message before them already.
            Self::Refused(error) => {
                let mut shown = error.to_string();
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    if !shown.contains(&cause) {
                        shown = format!("{shown}: {cause}");
                    }
                }
                f.write_str(&shown)
            }
            Self::CasesFailed(words) | Self::Elsewhere(words) | Self::Ended(_, words) => {
                f.write_str(words)
            }
            Self::CheckFailed => f.write_str("a row left its band"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::NobodyReads => f.write_str("nobody reads standard output"),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Box<ScenarioError>> for Failure {
    fn from(error: Box<ScenarioError>) -> Self {
        Self::Refused(anyhow::Error::new(*error))
    }
}

impl From<tailcut_study::Error> for Failure {
    fn from(error: tailcut_study::Error) -> Self {
        Self::Refused(anyhow::Error::new(error))
    }
}

impl From<RunFailed> for Failure {
    fn from(error: RunFailed) -> Self {
        Self::Refused(anyhow::Error::new(error))
    }
}

impl From<record::Error> for Failure {
    fn from(error: record::Error) -> Self {
        Self::Refused(anyhow::Error::new(error))
    }
}
