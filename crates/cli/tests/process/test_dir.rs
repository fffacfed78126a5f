//! Temporary directory in which a test runs the program as a process.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Temporary directory that is removed at the end of the test.
pub struct TestDir {
    dir: tempfile::TempDir,
}

/// Exit code and outputs of a finished command.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}

impl Ended {
    /// Returns the last line of standard error, which contains the error.
    pub fn complaint(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }

    /// Parses standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }
}

impl TestDir {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// Returns the command of the program with arguments. The command runs in this directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailcut"));
        command.args(arguments).current_dir(self.path());
        command
    }

    /// Runs the program with arguments until it ends.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments)
            .output()
            .expect("the command runs")
            .into()
    }
}

/// Flags of `compare` after the designs, for a study that takes less than a second.
pub const SMALL: [&str; 8] = [
    "--topology",
    "leaf-spine:leaves=2,spines=2,hosts=3",
    "--workload",
    "fixed:20KB",
    "--flows",
    "300",
    "--seeds",
    "2",
];

/// Returns the arguments of `compare` for the given designs on the small study, with additional flags.
pub fn compare<'a>(designs: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["compare"];
    arguments.extend(designs);
    arguments.extend(SMALL);
    arguments.extend(more);
    arguments
}
