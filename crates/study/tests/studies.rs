//! Studies within one process: plans, expected times, and runs that panic.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_scenario::Scenario;
use tailcut_scenario::sim::fabric::Packet;
use tailcut_scenario::sim::fabric::load_balancer::{LoadBalancer, PortView};
use tailcut_scenario::sim::{Choice, NamedBalancer, Registered, Unattended};
use tailcut_scenario::units::Time;
use tailcut_study::{CaseOutcome, CaseState, CollectOptions, Draft, Error, Program, StudyDir};

const SMALL: &str = r#"
designs = ["tcp", "repflow"]
loads = 0.3
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
[[workload]]
sizes = "fixed:20KB"
"#;

fn small() -> Scenario {
    Scenario::from_text(SMALL).expect("a scenario")
}

fn program() -> Program {
    Program {
        version: "1".to_owned(),
        build: "a build".to_owned(),
        command_line: vec!["a".to_owned(), "test".to_owned()],
    }
}

fn planned(scenario: &Scenario) -> Draft {
    Draft::of(scenario, program()).expect("a plan")
}

struct TestDir {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn test_dir() -> TestDir {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("study");
    TestDir { _dir: dir, path }
}

#[test]
fn more_work_is_expected_to_take_longer_and_designs_are_told_apart() {
    let mut scenario = small().with("loads", [0.2, 0.4]).expect("loads");
    let flag = tailcut_scenario::Location::flag("--sweep");
    scenario
        .sweep("flows", "100,200,400", &flag)
        .expect("a sweep");
    let mut draft = planned(&scenario);
    draft.estimate(&Unattended);
    assert_eq!(draft.plan.cases.len(), 12);
    let expected = |design: &str, flows: &str| {
        let of_it =
            draft.plan.cases.iter().filter(|case| {
                case.key.design == design && case.key.parameters[0].shown() == flows
            });
        let seconds: Option<f64> = of_it.map(|case| case.cpu_seconds).sum();
        seconds.expect("a time for each")
    };
    for design in ["tcp", "repflow"] {
        let [few, some, many] = ["100", "200", "400"].map(|flows| expected(design, flows));
        assert!(
            0.0 < few && few < some && some < many,
            "{few} {some} {many}"
        );
        // A run also has a fixed time. Without the fixed time, twice as many flows would take twice the time.
        let ratio = (many - some) / (some - few);
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
    }
    assert_ne!(expected("tcp", "400"), expected("repflow", "400"));
}

#[test]
fn what_is_expected_is_corrected_on_the_way() {
    let scenario = small()
        .with("flows", 50)
        .and_then(|s| s.with("seeds", 3))
        .expect("keys");
    let mut draft = planned(&scenario);
    for case in &mut draft.plan.cases {
        // The expected time of this case is far too long.
        case.cpu_seconds = Some(1_000.0);
    }
    let place = test_dir();
    let (study, found) = StudyDir::write(&place.path, draft).expect("a study");
    assert_eq!(found.cpu_seconds_to_go, Some(6_000.0));
    let status = study.status().expect("a status");
    assert_eq!(status.cpu_seconds_to_go(), Some(6_000.0));
    assert_eq!(status.seconds_to_go(2), Some(3_000.0));
    let runner = study.runner(program()).expect("a runner");
    assert!(matches!(
        runner.run(0, &Unattended),
        Ok(CaseOutcome::Done(_))
    ));
    let status = study.status().expect("a status");
    assert!(matches!(status.states[0], CaseState::Done));
    assert_eq!(status.expected_of_done, Some(1_000.0));
    let (spent, to_go) = (status.spent, status.cpu_seconds_to_go().expect("a time"));
    assert!(
        spent > 0.0 && (to_go - 5.0 * spent).abs() < 1e-9,
        "{spent} {to_go}"
    );
}

/// Load balancer that panics until the flag is set.
#[derive(Debug)]
struct Fragile(Arc<AtomicBool>);

impl LoadBalancer for Fragile {
    fn select(&mut self, _now: Time, _packet: &Packet, _ports: &[PortView]) -> usize {
        assert!(self.0.load(Ordering::Relaxed), "no path is known");
        0
    }
}

#[test]
fn a_run_that_panics_is_a_failure_and_can_be_run_again() {
    let mended = Arc::new(AtomicBool::new(false));
    let part = Arc::clone(&mended);
    NamedBalancer::custom("fragile", "for a test", Choice::Flow, move |_| {
        Fragile(Arc::clone(&part))
    })
    .register()
    .expect("a new name");
    let designs = ["tcp@fragile", "tcp"];
    let scenario = small()
        .with("designs", designs)
        .and_then(|s| s.with("flows", 20));
    let place = test_dir();
    let draft = planned(&scenario.expect("designs"));
    let (study, _) = StudyDir::write(&place.path, draft).expect("a study");
    let runner = study.runner(program()).expect("a runner");
    let ran = runner.run(0, &Unattended).expect("an end");
    let CaseOutcome::Failed(failure) = ran else {
        panic!("expected a failed case, found {ran:?}");
    };
    assert_eq!(failure.error, "panic: no path is known");
    assert_eq!(failure.by, program());
    assert!(matches!(
        runner.run(0, &Unattended),
        Ok(CaseOutcome::FailedBefore(_))
    ));
    assert!(matches!(
        runner.run(1, &Unattended),
        Ok(CaseOutcome::Done(_))
    ));

    let out = place.path.with_file_name("out");
    let missing = study.collect(&out, CollectOptions::default());
    let Err(Error::Incomplete {
        missing, failed, ..
    }) = missing
    else {
        panic!("expected an error about the missing case");
    };
    assert_eq!((missing, failed), (vec![0], 1));
    mended.store(true, Ordering::Relaxed);
    assert_eq!(study.retry().expect("a list"), [0]);
    assert!(matches!(
        runner.run(0, &Unattended),
        Ok(CaseOutcome::Done(_))
    ));
    let collected = study
        .collect(&out, CollectOptions::default())
        .expect("all of it");
    assert_eq!(collected.runs.iter().flatten().count(), 2);
}

#[test]
fn a_study_can_be_moved_and_its_files_come_along() {
    let place = test_dir();
    let trace = b"start_ns,src,dst,bytes\n0,0,1,2920\n5,2,3,1460\n";
    let scenario = Scenario::from_text(
        "designs = [\"tcp\"]\n[[workload]]\nkind = \"trace\"\nfile = \"mine\"\n",
    );
    let scenario = scenario.expect("a scenario").with_file("mine", *trace);
    let (study, _) = StudyDir::write(&place.path, planned(&scenario)).expect("a study");
    let file = std::fs::read_dir(place.path.join("files"))
        .expect("files")
        .next();
    let file = file.expect("a file").expect("a file").file_name();
    drop(study);
    let moved = place.path.with_file_name("moved");
    std::fs::rename(&place.path, &moved).expect("a move");
    let study = StudyDir::open(&moved).expect("a study");
    let runner = study.runner(program()).expect("a runner");
    assert!(matches!(
        runner.run(0, &Unattended),
        Ok(CaseOutcome::Done(_))
    ));

    std::fs::write(moved.join("files").join(file), "start_ns,src,dst,bytes\n").expect("a file");
    let error = study
        .runner(program())
        .expect_err("another file")
        .to_string();
    assert!(
        error.ends_with("damaged: it differs from the planned file"),
        "{error}"
    );
}
