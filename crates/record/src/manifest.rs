//! The manifest: where a study comes from and which runs it has.

use crate::{Fingerprint, RunKey};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The version of the output's layout and columns. A reader refuses any other.
pub const SCHEMA_VERSION: u32 = 1;

/// `manifest.json`: provenance and the list of runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The program's version.
    pub version: String,
    /// The command line, one argument an element.
    pub command_line: Vec<String>,
    /// When the study was started: RFC 3339, UTC.
    pub started_at: String,
    /// The machine.
    pub host: HostInfo,
    /// The first seed.
    pub seed: u64,
    /// The whole configuration, defaults included.
    pub config: serde_json::Value,
    /// Every planned run, in order.
    pub runs: Vec<ManifestRun>,
}

/// The machine that ran a study.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostInfo {
    /// Logical cores; 0 where the system does not say.
    pub cores: usize,
    /// The operating system, such as `linux`.
    pub os: String,
    /// The processor architecture, such as `x86_64`.
    pub arch: String,
}

impl HostInfo {
    /// This machine.
    pub fn this() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(0, |cores| cores.get()),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// What decides a run's result. A run is found again by it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The hash of the run's whole configuration: every parameter, the seed, the flows of a trace,
    /// and how its tables are written.
    pub config: String,
    /// The hash of the executable.
    pub build: String,
}

impl Origin {
    /// Some digits of both hashes: enough to tell a directory's runs apart.
    fn digits(&self) -> String {
        let mut both = Fingerprint::new();
        // A fingerprint takes everything.
        let _ = write!(both, "{} {}", self.config, self.build);
        both.digits()[..12].to_owned()
    }
}

/// One planned run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ManifestRun {
    /// The name of its directory under `runs/`.
    pub id: String,
    /// What names the run.
    #[serde(flatten)]
    pub key: RunKey,
    /// What decides its result; `None` where nobody said, and then it is never found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How far it came.
    pub state: RunState,
    /// The file of its capture, from the study's directory; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
}

/// How far a run came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Not finished when the manifest was written: at the start.
    /// [`StoredStudy`](crate::StoredStudy) calls such a run finished where its files are there.
    Planned,
    /// Finished: its files are whole.
    Finished,
    /// Stopped before it finished; it has no files.
    Interrupted,
}

impl Manifest {
    /// A manifest of `runs`, all planned, on this machine, started now.
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

    /// Says of every run, in order, what decides its result, where that is known; it is then found again
    /// by that.
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

    /// How many runs are in `state`.
    pub fn count(&self, state: RunState) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }
}

/// A directory name that is unique by the run's number, where nobody says what decides its result.
fn run_id(index: usize, key: &RunKey) -> String {
    format!("{index:04}-{}", run_name(key))
}

/// What the run is, safe as part of a file name on every common file system.
fn run_name(key: &RunKey) -> String {
    let load = key
        .load
        .map_or_else(String::new, |load| format!("-load{load}"));
    let parameters = key.parameters.iter().map(|one| {
        let value = one.shown().replace(' ', "");
        format!("-{}{value}", one.key)
    });
    let parameters: String = parameters.collect();
    // What is cut off is in the digits that follow a name.
    let parameters: String = parameters.chars().take(LONGEST_PARAMETERS).collect();
    let name = format!("{}{load}{parameters}-seed{}", key.design, key.seed);
    name.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '+' | '@' | '-' => c,
            _ => '-',
        })
        .collect()
}

/// Letters of a directory's name that tell parameters: file systems take names of 255 bytes.
const LONGEST_PARAMETERS: usize = 100;

/// Whether `id` is a plain directory name, so that a manifest from elsewhere cannot lead a reader
/// or a writer out of its directory.
pub(crate) fn is_plain_name(id: &str) -> bool {
    !id.is_empty() && id != "." && id != ".." && !id.contains(['/', '\\', ':', '\0'])
}
