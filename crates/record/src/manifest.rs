//! Manifest of a study: its origin and its runs.

use crate::{Fingerprint, RunKey};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Version of the output's layout and columns. Readers reject all other versions.
pub const SCHEMA_VERSION: u32 = 1;

/// Contents of `manifest.json`: origin of the study and list of its runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Arguments of the command line.
    pub command_line: Vec<String>,
    /// Start of the study: RFC 3339, UTC.
    pub started_at: String,
    /// Machine that ran the study.
    pub host: HostInfo,
    /// First seed of the study.
    pub seed: u64,
    /// Complete configuration, including defaults.
    pub config: serde_json::Value,
    /// All planned runs, in order.
    pub runs: Vec<ManifestRun>,
}

/// Machine that ran a study.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostInfo {
    /// Number of logical cores; 0: unknown.
    pub cores: usize,
    /// Operating system, such as `linux`.
    pub os: String,
    /// Processor architecture, such as `x86_64`.
    pub arch: String,
}

impl HostInfo {
    /// Returns the properties of this machine.
    pub fn this() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(0, |cores| cores.get()),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// Inputs that determine a run's result. A later study compares the inputs to find an existing run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// Hash of the run's complete configuration.
    /// The configuration includes all parameters, the seed, the flows of a trace, and the format of the tables.
    pub config: String,
    /// Identity of the executable file: its build id, or its hash.
    pub build: String,
}

impl Origin {
    /// Returns 12 digits that depend on both hashes. The digits make the names of run directories unique.
    fn digits(&self) -> String {
        let mut both = Fingerprint::new();
        // Writing to a fingerprint never fails.
        let _ = write!(both, "{} {}", self.config, self.build);
        both.digits()[..12].to_owned()
    }
}

/// One planned run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ManifestRun {
    /// Name of the run's directory under `runs/`.
    pub id: String,
    /// Key of the run.
    #[serde(flatten)]
    pub key: RunKey,
    /// Inputs that determine the result; `None`: unknown, and no later study reuses the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Progress of the run.
    pub state: RunState,
    /// Path of the run's capture, relative to the study's directory; `None`: no capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// The run was not finished when the manifest was written, at the start of the study.
    /// [`StoredStudy`](crate::StoredStudy) reports a planned run as finished if the run's files exist.
    Planned,
    /// The run has finished, and its files are complete.
    Finished,
    /// The run was stopped before its end. A stopped run has no files.
    Interrupted,
}

impl Manifest {
    /// Creates a manifest of planned runs on this machine, with the current time as the start.
    pub fn new(
        version: impl Into<String>,
        command_line: Vec<String>,
        seed: u64,
        config: serde_json::Value,
        runs: impl IntoIterator<Item = RunKey>,
    ) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            version: version.into(),
            command_line,
            started_at: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            host: HostInfo::this(),
            seed,
            config,
            runs: runs
                .into_iter()
                .enumerate()
                .map(|(index, key)| ManifestRun {
                    id: run_id(index, &key),
                    key,
                    origin: None,
                    state: RunState::Planned,
                    capture: None,
                })
                .collect(),
        }
    }

    /// Sets the origins of all runs, in order. Later studies find a run by its origin. `None`: unknown.
    pub fn with_origins<T: Into<Option<Origin>>>(
        mut self,
        origins: impl IntoIterator<Item = T>,
    ) -> Self {
        for (run, origin) in self.runs.iter_mut().zip(origins) {
            if let Some(origin) = origin.into() {
                run.id = format!("{}-{}", run_name(&run.key), origin.digits());
                run.origin = Some(origin);
            }
        }
        self
    }

    /// Returns the number of runs in `state`.
    pub fn count(&self, state: RunState) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }
}

/// Returns a directory name for a run without an origin. The run's number makes it unique.
fn run_id(index: usize, key: &RunKey) -> String {
    format!("{index:04}-{}", run_name(key))
}

/// Returns a readable name of the run that every common file system accepts as part of a file name.
fn run_name(key: &RunKey) -> String {
    let load = key
        .load
        .map_or_else(String::new, |load| format!("-load{load}"));
    let parameters = key.parameters.iter().map(|one| {
        let value = one.shown().replace(' ', "");
        format!("-{}{value}", one.key)
    });
    let parameters: String = parameters.collect();
    // The shortened names of two runs may be equal. The digits of the origin after the names distinguish equal names.
    let parameters: String = parameters.chars().take(LONGEST_PARAMETERS).collect();
    let name = format!("{}{load}{parameters}-seed{}", key.design, key.seed);
    name.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '+' | '@' | '-' => c,
            _ => '-',
        })
        .collect()
}

/// Maximum length of the parameters in a directory's name. File systems accept names of 255 bytes.
const LONGEST_PARAMETERS: usize = 100;

/// Whether `id` is a plain directory name.
/// A foreign manifest could otherwise name a path outside of the study's directory.
pub(crate) fn is_plain_name(id: &str) -> bool {
    !id.is_empty() && id != "." && id != ".." && !id.contains(['/', '\\', ':', '\0'])
}
