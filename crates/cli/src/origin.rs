//! What decides the result of a study's runs, so that one that has finished is found again.

use crate::study::Study;
use anyhow::Context;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use tailcut_record::{Fingerprint, Origin, TableFormat};
use tailcut_sim::RunConfig;

/// The origin of each run of a study, in order.
///
/// # Errors
/// Where this program's own file cannot be read.
pub fn origins(study: &Study) -> anyhow::Result<Vec<Origin>> {
    let build = build().context("cannot read the file of this program")?;
    let origins = study.runs.iter().map(|config| Origin {
        config: fingerprint(config, study.format),
        build: build.clone(),
    });
    Ok(origins.collect())
}

/// The hash of everything that decides a run's files but for the program. A configuration in words
/// has all of its parameters in it, the flows of a trace and the sizes of a table too.
fn fingerprint(config: &RunConfig, format: TableFormat) -> String {
    let mut hash = Fingerprint::new();
    // A fingerprint takes everything.
    let _ = write!(hash, "{format:?} {config:?}");
    hash.digits()
}

/// The hash of this program's file.
fn build() -> io::Result<String> {
    let mut hash = Fingerprint::new();
    io::copy(&mut File::open(program()?)?, &mut hash)?;
    Ok(hash.digits())
}

/// The file that this process was started from.
fn program() -> io::Result<PathBuf> {
    // On Linux this is that very file, even after another one has taken its name.
    let running = PathBuf::from("/proc/self/exe");
    match running.exists() {
        true => Ok(running),
        false => std::env::current_exe(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use std::path::Path;

    fn fingerprints(dir: &Path, text: &str) -> Vec<String> {
        let scenario = Scenario::parse("s.toml", dir, text).expect("a scenario");
        let study = Study::of(&scenario).expect("a study");
        let origins = origins(&study).expect("this program");
        origins.into_iter().map(|origin| origin.config).collect()
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
