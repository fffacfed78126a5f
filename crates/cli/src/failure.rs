//! Errors that end a command, and the exit codes of errors.

use std::fmt;
use std::io;
use std::process::ExitCode;
use tailcut_scenario::{RunFailed, ScenarioError, record};

/// Reason why a command ends without success.
#[derive(Debug)]
pub enum Failure {
    /// The user can correct the error, such as wrong input, an unsuitable directory or a full disk.
    Refused(anyhow::Error),
    /// The check of `reproduce --check` failed.
    CheckFailed,
    /// Cases have failed. The text is the message for the user.
    CasesFailed(String),
    /// Other processes run the remaining cases. The text is the message for the user.
    CasesRunElsewhere(String),
    /// A command with its own exit codes has failed. The values are the exit code and the message.
    #[cfg_attr(
        not(all(feature = "cast", target_os = "linux")),
        expect(dead_code, reason = "used only by `tailcut cast`")
    )]
    Ended(u8, String),
    /// The user interrupted the command. Finished runs are kept.
    Interrupted,
    /// The reader has closed standard output, so no further output is needed.
    NobodyReads,
}

impl Failure {
    /// Returns the exit code of the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// Returns the name of this kind of failure in JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::CheckFailed => "check_failed",
            Self::CasesFailed(_) => "cases_failed",
            Self::CasesRunElsewhere(_) => "cases_run_elsewhere",
            Self::Ended(..) => "ended",
            Self::Interrupted => "interrupted",
            Self::NobodyReads => "nobody_reads",
        }
    }

    /// Returns the exit code as a number.
    pub fn code(&self) -> u8 {
        match self {
            Self::Refused(_) => 2,
            Self::CheckFailed => 1,
            Self::CasesFailed(_) => 3,
            Self::CasesRunElsewhere(_) => 4,
            Self::Ended(code, _) => *code,
            Self::Interrupted => 130,
            Self::NobodyReads => 0,
        }
    }

    /// Converts an error that occurred when the command wrote to standard output.
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
            // Some messages already contain the text of their cause. The text of the cause must not appear twice.
            Self::Refused(error) => {
                let mut shown = error.to_string();
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    if !shown.contains(&cause) {
                        shown = format!("{shown}: {cause}");
                    }
                }
                f.write_str(&shown)
            }
            Self::CasesFailed(words) | Self::CasesRunElsewhere(words) | Self::Ended(_, words) => {
                f.write_str(words)
            }
            Self::CheckFailed => f.write_str("a row is outside of its band"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::NobodyReads => f.write_str("standard output is closed"),
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

macro_rules! refused {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Refused(anyhow::Error::new(error))
            }
        }
    )*};
}

refused!(tailcut_study::Error RunFailed record::Error);
