//! Origins of runs. The origin of a run is a hash of all its inputs.
//! If a finished run has the same origin, the run is not repeated.

use crate::study::Study;
use std::fmt::Write;
use tailcut_record::{Fingerprint, Origin, TableFormat};
use tailcut_sim::RunConfig;

impl Study {
    /// Returns the origin of each run, in order. `build` is the hash of the program that executes the runs.
    pub fn origins(&self, build: &str) -> Vec<Origin> {
        let origins = (0..self.runs.len()).filter_map(|run| self.origin(run, build));
        origins.collect()
    }

    /// Returns the origin of one run, or `None` if there is no run with this index.
    pub fn origin(&self, run: usize, build: &str) -> Option<Origin> {
        let config = self.runs.get(run)?;
        Some(Origin {
            config: fingerprint(config, self.format),
            build: build.to_owned(),
        })
    }
}

/// Hashes all inputs that determine a run's files, except the program.
/// The debug text of a configuration contains all parameters, including the flows of a trace and the sizes of a table.
fn fingerprint(config: &RunConfig, format: TableFormat) -> String {
    let mut hash = Fingerprint::new();
    // Writing to a fingerprint never fails.
    let _ = write!(hash, "{format:?} {config:?}");
    hash.digits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    fn fingerprints(dir: &Path, text: &str) -> Vec<String> {
        let scenario = Scenario::parse("s.toml", dir, text).expect("a scenario");
        let study = Study::of(&scenario).expect("a study");
        study
            .origins("a build")
            .into_iter()
            .map(|origin| origin.config)
            .collect()
    }

    #[test]
    fn a_run_is_the_same_in_a_study_with_more_seeds_loads_or_designs() {
        let small = "designs = [\"dctcp\"]\nloads = [0.5]\nseeds = 2\n";
        let large = "designs = [\"tcp\", \"dctcp\"]\nloads = [0.3, 0.5]\nseeds = 3\nname = \"x\"\n";
        let (small, large) = (
            fingerprints(Path::new(""), small),
            fingerprints(Path::new(""), large),
        );
        assert_ne!(small[0], small[1], "two seeds");
        assert_eq!(small.iter().filter(|one| large.contains(one)).count(), 2);
        let mut different = large.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 12);
    }

    #[test]
    fn a_changed_trace_or_table_makes_another_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).expect("a file");
        };
        let trace = "designs = [\"tcp\"]\n[[workload]]\nkind = \"trace\"\nfile = \"t.csv\"\n";
        let table = "designs = [\"tcp\"]\n[[workload]]\nsizes = \"table:t.csv\"\n";
        for (scenario, header, row, other) in [
            (
                trace,
                "start_ns,src,dst,bytes",
                "0.001,0,1,2920",
                "0.002,0,1,2920",
            ),
            (table, "bytes,cumulative", "2920,1", "2921,1"),
        ] {
            write("t.csv", &format!("{header}\n{row}\n"));
            let first = fingerprints(dir.path(), scenario);
            assert_eq!(first, fingerprints(dir.path(), scenario));
            write("t.csv", &format!("{header}\n{other}\n"));
            assert_ne!(first, fingerprints(dir.path(), scenario));
        }
    }
}
