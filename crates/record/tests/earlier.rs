//! Repeated studies in one directory: finished runs are reused.

mod keys;

use keys::key;
use std::fs;
use std::io::Write;
use std::path::Path;
use tailcut_record::{
    Earlier, Error, Manifest, Origin, OutputDir, RunKey, RunRecord, RunState, StoredStudy,
    TableFormat,
};

/// Returns the manifest of a study with `designs` and the seeds 1 to `seeds`. The executable `build` runs the study.
fn plan(designs: &[&str], seeds: u64, build: &str) -> Manifest {
    let runs = (1..=seeds).flat_map(|seed| designs.iter().map(move |design| key(design, seed)));
    let runs: Vec<RunKey> = runs.collect();
    let origins: Vec<Origin> = runs
        .iter()
        .map(|key| Origin {
            config: format!("{} {}", key.design, key.seed),
            build: build.to_owned(),
        })
        .collect();
    let config = serde_json::json!({});
    Manifest::new("0.1.0", Vec::new(), 1, config, runs).with_origins(origins)
}

fn open(dir: &Path, plan: Manifest, earlier: Earlier) -> OutputDir {
    OutputDir::open(dir, plan, TableFormat::Csv, earlier).expect("a directory of a study")
}

/// Executes the planned runs that do not exist yet. Returns their designs and seeds.
fn run(dir: &Path, plan: Manifest, earlier: Earlier) -> Vec<(String, u64)> {
    let keys: Vec<RunKey> = plan.runs.iter().map(|run| run.key.clone()).collect();
    let output = open(dir, plan, earlier);
    let mut done = Vec::new();
    for (index, key) in keys.into_iter().enumerate() {
        if output.found().taken[index].is_none() {
            done.push((key.design.clone(), key.seed));
            output
                .write_run(index, &RunRecord::new(key))
                .expect("a run");
        }
    }
    output.conclude().expect("a manifest");
    done
}

/// Returns all files of all finished runs with their contents.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for place in ["runs", "kept"] {
        let Ok(runs) = fs::read_dir(dir.join(place)) else {
            continue;
        };
        for run in runs.map(Result::unwrap) {
            for file in fs::read_dir(run.path()).unwrap().map(Result::unwrap) {
                let run = run.file_name().into_string().unwrap();
                let name = file.file_name().into_string().unwrap();
                files.push((format!("{run}/{name}"), fs::read(file.path()).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_study_that_grows_runs_what_it_has_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let six = run(dir.path(), plan(&["tcp"], 6, "a"), Earlier::SameBuild);
    assert_eq!(six.len(), 6);
    let before = files(dir.path());

    let twelve = run(dir.path(), plan(&["tcp"], 12, "a"), Earlier::SameBuild);
    let seeds: Vec<u64> = twelve.iter().map(|(_, seed)| *seed).collect();
    assert_eq!(seeds, [7, 8, 9, 10, 11, 12]);
    let after = files(dir.path());
    assert!(before.iter().all(|file| after.contains(file)));
    let study = StoredStudy::open(dir.path()).unwrap();
    assert_eq!(study.manifest.count(RunState::Finished), 12);
    assert_eq!(study.runs().map(Result::unwrap).count(), 12);
}

#[test]
fn a_run_is_found_again_wherever_its_design_stands() {
    let dir = tempfile::tempdir().unwrap();
    run(
        dir.path(),
        plan(&["tcp", "dctcp"], 2, "a"),
        Earlier::SameBuild,
    );
    let order = plan(&["repflow", "dctcp", "tcp"], 2, "a");
    let done = run(dir.path(), order, Earlier::SameBuild);
    assert_eq!(done, [("repflow".to_owned(), 1), ("repflow".to_owned(), 2)]);
}

#[test]
fn runs_of_another_study_stand_aside_until_they_are_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), plan(&["tcp"], 3, "a"), Earlier::SameBuild);
    let before = files(dir.path());

    let output = open(dir.path(), plan(&["dctcp"], 3, "a"), Earlier::SameBuild);
    assert_eq!(output.found().set_aside, 3);
    drop(output);
    assert_eq!(names(&dir.path().join("runs")), Vec::<String>::new());
    assert_eq!(names(&dir.path().join("kept")).len(), 3);
    assert_eq!(StoredStudy::open(dir.path()).unwrap().runs().count(), 0);
    run(dir.path(), plan(&["dctcp"], 3, "a"), Earlier::SameBuild);

    let done = run(dir.path(), plan(&["tcp"], 3, "a"), Earlier::SameBuild);
    assert_eq!(done, []);
    assert_eq!(names(&dir.path().join("runs")).len(), 3);
    let after = files(dir.path());
    assert!(before.iter().all(|file| after.contains(file)));
}

#[test]
fn runs_of_another_build_are_taken_only_when_that_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild);

    let accepting = open(dir.path(), plan(&["tcp"], 3, "b"), Earlier::AnyBuild);
    assert_eq!(accepting.found().count(), 2);
    assert_eq!(accepting.found().of_other_builds, 2);
    drop(accepting);
    let study = StoredStudy::open(dir.path()).unwrap();
    let builds = study.manifest.runs.iter().map(|run| {
        let origin = run.origin.as_ref().expect("an origin");
        origin.build.as_str()
    });
    assert_eq!(builds.collect::<Vec<_>>(), ["a", "a", "b"]);

    let refusing = open(dir.path(), plan(&["tcp"], 2, "b"), Earlier::SameBuild);
    assert_eq!(refusing.found().count(), 0);
    assert_eq!(refusing.found().left_of_other_builds, 2);
    drop(refusing);
    let done = run(dir.path(), plan(&["tcp"], 2, "b"), Earlier::SameBuild);
    assert_eq!(done.len(), 2);
    assert_eq!(names(&dir.path().join("kept")).len(), 2, "runs of build a");

    let both = open(dir.path(), plan(&["tcp"], 2, "b"), Earlier::AnyBuild);
    assert_eq!(
        both.found().of_other_builds,
        0,
        "the same build comes first"
    );
}

#[test]
fn a_run_that_somebody_changed_is_run_again_and_named() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild);
    let spoilt = names(&dir.path().join("runs")).remove(0);
    let table = dir.path().join("runs").join(&spoilt).join("flows.csv");
    fs::write(&table, "mine").unwrap();

    let output = open(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild);
    let [reason] = &output.found().damaged[..] else {
        panic!("{:?}", output.found().damaged);
    };
    assert!(reason.contains("flows.csv"), "{reason}");
    drop(output);
    assert_eq!(
        run(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild).len(),
        1
    );
    assert_eq!(
        run(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild).len(),
        0
    );
    assert_eq!(names(&dir.path().join("kept")), [spoilt.as_str()]);
}

#[test]
fn starting_over_removes_every_run_and_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild);
    run(dir.path(), plan(&["dctcp"], 2, "a"), Earlier::SameBuild);
    let kept = names(&dir.path().join("kept")).remove(0);
    let note = dir.path().join("kept").join(&kept).join("note.txt");
    fs::write(&note, "mine").unwrap();

    let output = open(dir.path(), plan(&["dctcp"], 2, "a"), Earlier::Remove);
    assert_eq!(output.found().count(), 0);
    assert_eq!(names(&dir.path().join("runs")), Vec::<String>::new());
    assert_eq!(
        files(dir.path()),
        [(format!("{kept}/note.txt"), b"mine".to_vec())]
    );
}

#[test]
fn a_second_writer_is_refused_until_the_first_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path(), plan(&["tcp"], 1, "a"), Earlier::SameBuild);
    for earlier in [Earlier::SameBuild, Earlier::AnyBuild, Earlier::Remove] {
        let second = OutputDir::open(
            dir.path(),
            plan(&["dctcp"], 1, "a"),
            TableFormat::Csv,
            earlier,
        );
        let error = second.expect_err("the first process writes");
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        assert!(error.to_string().contains("another tailcut"), "{error}");
    }
    let study = StoredStudy::open(dir.path()).unwrap();
    assert_eq!(study.manifest.runs[0].key.design, "tcp");
    drop(first);
    assert_eq!(
        run(dir.path(), plan(&["dctcp"], 1, "a"), Earlier::SameBuild).len(),
        1
    );
}

#[test]
fn a_kill_before_the_first_manifest_leaves_a_directory_that_a_study_takes() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".lock"), "").unwrap();
    fs::write(dir.path().join("manifest.json.partial"), "{").unwrap();
    assert_eq!(
        run(dir.path(), plan(&["tcp"], 1, "a"), Earlier::SameBuild).len(),
        1
    );
}

#[test]
fn a_half_written_run_is_removed_and_run_again() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), plan(&["tcp"], 1, "a"), Earlier::SameBuild);
    let whole = dir
        .path()
        .join("runs")
        .join(&names(&dir.path().join("runs"))[0]);
    let half = whole.with_file_name(format!("{}.partial", whole.file_name().unwrap().display()));
    // A program that is killed after it has written the last file, but before the rename, leaves this state.
    fs::rename(&whole, &half).unwrap();
    let output = open(dir.path(), plan(&["tcp"], 1, "a"), Earlier::SameBuild);
    assert_eq!(output.found().count(), 0);
    assert_eq!(names(&dir.path().join("runs")), Vec::<String>::new());
}

#[test]
fn a_run_that_was_read_back_is_the_one_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut written = RunRecord::new(key("tcp", 1));
    written.classes = vec!["foreground".to_owned()];
    written.totals.packet_hops = 7;
    written.totals.sent.add(1_500);
    written.totals.simulated = tailcut_units::Duration::from_ps(1_234_567_890_123);
    let output = open(dir.path(), plan(&["tcp"], 1, "a"), Earlier::SameBuild);
    output.write_run(0, &written).unwrap();
    drop(output);
    let study = StoredStudy::open(dir.path()).unwrap();
    let read = study.runs().next().unwrap().unwrap().record().unwrap();
    assert_eq!(read, written);
}

#[test]
fn runs_of_a_version_without_origins_are_readable_and_never_removed() {
    let dir = tempfile::tempdir().unwrap();
    let keys = [key("tcp", 1), key("tcp", 2)];
    let old = Manifest::new("0.1.0", Vec::new(), 1, serde_json::json!({}), keys);
    assert_eq!(run(dir.path(), old, Earlier::SameBuild).len(), 2);
    let study = StoredStudy::open(dir.path()).unwrap();
    assert_eq!(study.runs().map(Result::unwrap).count(), 2);

    let new = open(dir.path(), plan(&["tcp"], 2, "a"), Earlier::AnyBuild);
    assert_eq!((new.found().count(), new.found().set_aside), (0, 2));
    assert_eq!(
        names(&dir.path().join("kept")),
        ["0000-tcp-load0.5-seed1", "0001-tcp-load0.5-seed2"]
    );
}

#[test]
fn starting_over_leaves_a_manifest_at_every_moment() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), plan(&["tcp"], 2, "a"), Earlier::SameBuild);
    // A directory with the name of a file cannot be removed as a file.
    // The removal therefore stops in the middle, as if the process was killed.
    let stuck = names(&dir.path().join("runs")).remove(1);
    let stuck = dir.path().join("runs").join(stuck).join("flows.csv");
    fs::remove_file(&stuck).unwrap();
    fs::create_dir(&stuck).unwrap();
    let plan = || plan(&["tcp"], 2, "a");
    let error = OutputDir::open(dir.path(), plan(), TableFormat::Csv, Earlier::Remove);
    assert!(error.expect_err("stuck").to_string().contains("flows.csv"));
    assert!(StoredStudy::open(dir.path()).is_ok());
    let output = open(dir.path(), plan(), Earlier::SameBuild);
    assert_eq!(output.found().count(), 0);
    assert_eq!(output.found().damaged, Vec::<String>::new());
}

#[test]
fn a_capture_is_named_in_the_manifest_and_nothing_is_left_of_one_that_was_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let names = || -> Vec<String> {
        let captures = fs::read_dir(dir.path().join("captures")).unwrap();
        let names = captures.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let named = || -> Vec<Option<String>> {
        let study = StoredStudy::open(dir.path()).unwrap();
        study.manifest.runs.into_iter().map(|r| r.capture).collect()
    };
    let output = open(dir.path(), plan(&["tcp"], 2, "one"), Earlier::SameBuild);
    let mut left = output.begin_capture(0).unwrap();
    left.write_all(b"the first half").unwrap();
    assert!(names()[0].ends_with(".pcapng.partial"));
    drop(left);
    assert_eq!(names(), [""; 0]);

    let mut kept = output.begin_capture(1).unwrap();
    kept.write_all(b"all").unwrap();
    let path = output.keep_capture(1, kept).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"all");
    assert_eq!(output.conclude().unwrap(), (0, 2));
    drop(output);
    let file = format!("captures/{}", names()[0]);
    assert_eq!(path, dir.path().join(&file));
    assert!(file.starts_with("captures/tcp-") && file.ends_with(".pcapng"));
    assert_eq!(named(), [None, Some(file.clone())]);

    // A later study of the run finds the capture, and removes the incomplete capture of a killed program.
    fs::write(dir.path().join("captures/x.pcapng.partial"), b"x").unwrap();
    fs::write(dir.path().join("captures/notes.txt"), b"mine").unwrap();
    drop(open(
        dir.path(),
        plan(&["tcp"], 2, "one"),
        Earlier::SameBuild,
    ));
    assert_eq!(named(), [None, Some(file)]);
    assert_eq!(names().len(), 2);
    // A study with `Earlier::Remove` removes the captures, and keeps other files.
    drop(open(dir.path(), plan(&["tcp"], 2, "one"), Earlier::Remove));
    assert_eq!(named(), [None, None]);
    assert_eq!(names(), ["notes.txt"]);
}

#[test]
fn a_capture_of_a_run_that_is_not_planned_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = open(dir.path(), plan(&["tcp"], 1, "one"), Earlier::SameBuild);
    let error = output.begin_capture(1).expect_err("one run");
    assert_eq!(
        error.to_string(),
        "run 1 is not planned; the manifest plans 1"
    );
}
