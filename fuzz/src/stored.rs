//! Targets for stored results: the manifest and the comparisons of a study, and the summary and the tables of a run.
//! Each target also writes the report of all these files.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::panic::{self, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};
use tailcut_record::{
    Error, Fingerprint, Manifest, OutputDir, RunKey, RunRecord, StoredStudy, TableFormat,
};
use tempfile::TempDir;

/// Reads `manifest.json`.
pub fn manifest(bytes: &[u8]) {
    with(&[("manifest.json".into(), bytes)]);
}

/// Reads `run.json`.
pub fn run(bytes: &[u8]) {
    with(&[(run_folder().join("run.json"), bytes)]);
}

/// Reads a table in CSV. The first line of the input is the name of the table.
pub fn table_csv(bytes: &[u8]) {
    table(bytes, "csv");
}

/// Reads a table in Parquet. The first line of the input is the name of the table.
///
/// The target accepts panics of the crate parquet itself. `SECURITY.md` lists them as not promised.
pub fn table_parquet(bytes: &[u8]) {
    static HOOK: Once = Once::new();
    thread_local! {
        static IS_THEIRS: Cell<bool> = const { Cell::new(false) };
    }
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let location = info.location().map_or("", |location| location.file());
            IS_THEIRS.set(location.contains("/parquet-"));
            if !IS_THEIRS.get() {
                before(info);
            }
        }));
    });
    if let Err(panic) = catch_unwind(|| table(bytes, "parquet"))
        && !IS_THEIRS.take()
    {
        resume_unwind(panic);
    }
}

/// Reads `comparisons.json`.
pub fn comparisons(bytes: &[u8]) {
    with(&[("comparisons.json".into(), bytes)]);
}

/// Reads `sensitivity.json`.
pub fn sensitivity(bytes: &[u8]) {
    with(&[("sensitivity.json".into(), bytes)]);
}

/// Stores the bytes as a table of the run, with the correct length and hash in `run.json`.
/// A table with a wrong length or hash would be refused before it is parsed.
fn table(bytes: &[u8], extension: &str) {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (name, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
    let name = String::from_utf8_lossy(name).trim().to_owned();
    let path = run_folder().join("run.json");
    let text = contents_of(&path).expect("a run");
    let mut run: serde_json::Value = serde_json::from_slice(text).expect("a run");
    let mut hash = Fingerprint::new();
    hash.write_all(rest)
        .expect("a fingerprint takes everything");
    let file = format!("{name}.{extension}");
    run["tables"] = serde_json::json!([
        {"name": file, "rows": 1, "bytes": rest.len(), "xxh3_128": hash.digits()}
    ]);
    let run = run.to_string();
    let mut files = vec![(path, run.as_bytes())];
    if !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase()) {
        files.push((run_folder().join(file), rest));
    }
    with(&files);
}

/// Writes these files into a study of one run, reads the study, and restores the files.
fn with(files: &[(PathBuf, &[u8])]) {
    thread_local! {
        // New directories would take most of the time, so each thread has one for all inputs.
        static STUDY: TempDir = stored();
    }
    STUDY.with(|study| {
        let _restored = Changed {
            study: study.path(),
            files,
        };
        for (path, bytes) in files {
            put(&study.path().join(path), bytes);
        }
        read_and_report(study.path());
    });
}

/// Files that an input has changed. The end of this value restores them, also after a panic.
struct Changed<'a> {
    study: &'a Path,
    files: &'a [(PathBuf, &'a [u8])],
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        for (path, _) in self.files {
            let whole = self.study.join(path);
            match contents_of(path) {
                Some(bytes) => put(&whole, bytes),
                None => fs::remove_file(&whole).unwrap_or_default(),
            }
        }
    }
}

/// Writes a study of one run to a new directory.
fn stored() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (path, bytes) in files() {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        put(&path, bytes);
    }
    dir
}

/// Returns the paths and contents of the files of a study with one run.
fn files() -> &'static [(PathBuf, Vec<u8>)] {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(written)
}

/// Returns the contents of a file of the study. `path` is relative to the study.
fn contents_of(path: &Path) -> Option<&'static [u8]> {
    let mut files = files().iter();
    files.find_map(|(known, bytes)| (known == path).then_some(bytes.as_slice()))
}

/// Returns the path of the study's only run, relative to the study.
fn run_folder() -> &'static Path {
    let mut parents = files().iter().filter_map(|(path, _)| path.parent());
    let run = parents.find(|parent| parent.starts_with("runs"));
    run.expect("a run")
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
