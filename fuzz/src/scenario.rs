//! Targets for inputs of the command: scenarios, `--set`, `--capture`, names of designs, and the page that
//! `reproduce --page` fills.

use std::str::from_utf8;
use std::sync::OnceLock;
use tailcut_report::Comparison;
use tailcut_reproduce::page;
use tailcut_scenario::{
    CapturePlan, Location, Scenario, ScenarioError, Study, replace_topology, replace_workload,
};
use tailcut_sim::Stack;

const FILE: &str = "s.toml";

/// Reads a scenario up to its list of runs.
///
/// # Panics
/// If an error has several lines, or if it names a line that the text does not have.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    let Err(error) = Scenario::parse(FILE, "/nonexistent", text).and_then(whole_study) else {
        return;
    };
    one_line(&error);
    let Location::Line { file, line } = &error.place else {
        panic!("no line: {error}");
    };
    assert_eq!(&**file, FILE, "{error}");
    let lines = text.matches('\n').count() + 1;
    assert!((1..=lines).contains(line), "of {lines} lines: {error}");
}

/// Applies `KEY=VALUE` (as in `--set`), `--topology=TEXT` or `--workload=TEXT` to an empty scenario.
///
/// # Panics
/// If an error has several lines.
pub fn setting(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    let (path, value) = text.split_once('=').unwrap_or((text, ""));
    let mut scenario = Scenario::parse(FILE, "/nonexistent", "").expect("no text is a scenario");
    let changed = match path {
        "--topology" => replace_topology(&mut scenario, value, &Location::flag(path)),
        "--workload" => replace_workload(&mut scenario, value, &Location::flag(path)),
        _ => scenario.set(path, value, &Location::flag("--set")),
    };
    if let Err(error) = changed.and_then(|()| whole_study(scenario)) {
        one_line(&error);
    }
}

/// Reads the text as the names of `--capture` and `--capture-bytes`, which a line separates.
///
/// # Panics
/// If the text of an error has several lines.
pub fn capture(bytes: &[u8]) {
    const NETWORK: &str = "designs = [\"tcp\"]\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\n";
    static STUDY: OnceLock<Study> = OnceLock::new();
    let Ok(text) = from_utf8(bytes) else { return };
    let study = STUDY.get_or_init(|| {
        let scenario = Scenario::parse(FILE, "/nonexistent", NETWORK).expect("a scenario");
        Study::of(&scenario).expect("a study")
    });
    let (name, size) = text.split_once('\n').unwrap_or((text, "1MB"));
    if let Err(error) = CapturePlan::new(study, name).and_then(|plan| plan.with_bytes(size)) {
        one_line(&error);
    }
}

/// Reads the name of a design.
///
/// # Panics
/// If the resulting design's own name gives another design, or if the text of an error is empty.
pub fn design(bytes: &[u8]) {
    let Ok(name) = from_utf8(bytes) else { return };
    match name.parse::<Stack>() {
        Ok(design) => assert_eq!(design.to_string().parse(), Ok(design)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Fills a page of reproductions.
///
/// # Panics
/// If the line that is returned for an unknown mark does not contain the mark.
/// If the page changes outside of the tables, or if a second call changes the filled page.
pub fn page(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    for (line, name) in page::unknown_marks(text) {
        assert!(
            text.lines()
                .nth(line - 1)
                .is_some_and(|line| line.contains(name))
        );
    }
    let comparison = Comparison {
        name: "a figure".to_owned(),
        rows: Vec::new(),
    };
    assert_eq!(page::fill(text, "no name of a mark\n", &comparison), text);
    let filled = page::fill(text, "repnet-incast", &comparison);
    assert_eq!(page::fill(&filled, "repnet-incast", &comparison), filled);
}

fn whole_study(scenario: Scenario) -> Result<(), Box<ScenarioError>> {
    scenario.to_json();
    Study::of(&scenario).map(drop)
}

fn one_line(error: &ScenarioError) {
    let shown = error.to_string();
    assert!(!shown.contains('\n') && shown.contains("found"), "{shown}");
}
