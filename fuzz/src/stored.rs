//! Targets for stored results: the manifest and the comparisons of a study, and the summary and the tables of a run.
//! Each target also writes the report of all these files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tailcut_record::{
    Error, Fingerprint, Manifest, OutputDir, RunKey, RunRecord, StoredStudy, TableFormat,
};
use tempfile::TempDir;

/// Reads `manifest.json`.
pub fn manifest(bytes: &[u8]) {
    let study = stored();
    put(&study.path().join("manifest.json"), bytes);
    read_and_report(study.path());
}

/// Reads `run.json`.
pub fn run(bytes: &[u8]) {
    let study = stored();
    put(&run_of(study.path()).join("run.json"), bytes);
    read_and_report(study.path());
}

/// Reads a table in CSV. The first line of the input is the name of the table.
pub fn table_csv(bytes: &[u8]) {
    table(bytes, "csv");
}

/// Reads a table in Parquet. The first line of the input is the name of the table.
pub fn table_parquet(bytes: &[u8]) {
    table(bytes, "parquet");
}

/// Reads `comparisons.json`.
pub fn comparisons(bytes: &[u8]) {
    beside_the_manifest("comparisons.json", bytes);
}

/// Reads `sensitivity.json`.
pub fn sensitivity(bytes: &[u8]) {
    beside_the_manifest("sensitivity.json", bytes);
}

fn beside_the_manifest(name: &str, bytes: &[u8]) {
    let study = stored();
    put(&study.path().join(name), bytes);
    read_and_report(study.path());
}

/// Stores the bytes as a table of the run, with the correct length and hash in `run.json`.
/// A table with a wrong length or hash would be refused before it is parsed.
fn table(bytes: &[u8], extension: &str) {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (name, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
    let name = String::from_utf8_lossy(name).trim().to_owned();
    let study = stored();
    let dir = run_of(study.path());
    let path = dir.join("run.json");
    let text = fs::read(&path).expect("a run");
    let mut run: serde_json::Value = serde_json::from_slice(&text).expect("a run");
    let mut hash = Fingerprint::new();
    hash.write_all(rest)
        .expect("a fingerprint takes everything");
    let file = format!("{name}.{extension}");
    run["tables"] = serde_json::json!([
        {"name": file, "rows": 1, "bytes": rest.len(), "xxh3_128": hash.digits()}
    ]);
    put(&path, run.to_string().as_bytes());
    if !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase()) {
        put(&dir.join(file), rest);
    }
    read_and_report(study.path());
}

/// Writes a study of one run to a new directory.
fn stored() -> TempDir {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    let dir = tempfile::tempdir().expect("a directory");
    for (path, bytes) in FILES.get_or_init(written) {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        put(&path, bytes);
    }
    dir
}

/// Returns the paths and contents of the files of a study with one run.
/// The files are created only once, because the creation waits for the disk.
fn written() -> Vec<(PathBuf, Vec<u8>)> {
    let dir = tempfile::tempdir().expect("a directory");
    let key = RunKey {
        design: "tcp".to_owned(),
        topology: "leaf-spine".to_owned(),
        workload: "websearch".to_owned(),
        load: Some(0.5),
        seed: 1,
        ..RunKey::default()
    };
    let manifest = Manifest::new("0.1.0", Vec::new(), 1, serde_json::json!({}), [key.clone()]);
    let output = OutputDir::create(dir.path(), manifest, TableFormat::Csv).expect("a new study");
    let mut run = RunRecord::new(key);
    run.classes = vec!["foreground".to_owned()];
    output.write_run(0, &run).expect("the planned run");
    output.conclude().expect("the manifest");
    let run = run_of(dir.path());
    let paths = [
        dir.path().join("manifest.json"),
        run.join("run.json"),
        run.join("flows.csv"),
    ];
    let files = paths.map(|path| {
        let bytes = fs::read(&path).expect("what was written");
        let name = path.strip_prefix(dir.path()).expect("a file of the study");
        (name.to_owned(), bytes)
    });
    files.into()
}

/// Returns the directory of the study's only run.
fn run_of(study: &Path) -> PathBuf {
    let runs = fs::read_dir(study.join("runs")).expect("the runs");
    let mut runs = runs.map(|entry| entry.expect("an entry").path());
    runs.next().expect("one run")
}

fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file in the directory of the study");
}

/// Reads a whole study, and writes the report in every format.
fn read_and_report(dir: &Path) {
    if let Err(error) = read(dir) {
        let shown = error.to_string();
        assert!(!shown.is_empty(), "{error:?}");
        assert!(
            matches!(error, Error::Damaged { .. } | Error::Io { .. }),
            "{error:?}"
        );
    }
    let Ok(study) = tailcut_report::load(dir) else {
        return;
    };
    if study.runs().is_empty() {
        return;
    }
    tailcut_report::answer(&study);
    tailcut_report::text_table(&study);
    tailcut_report::json(&study);
    tailcut_report::html(&study);
}

fn read(dir: &Path) -> Result<(), Error> {
    for run in StoredStudy::open(dir)?.runs() {
        run?.record()?.hash();
    }
    Ok(())
}
