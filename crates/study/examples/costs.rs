//! Accuracy of the estimated CPU time of a study.
//! The program runs each scenario of its arguments with two seeds, and compares the measured time with the estimate.
//!
//! `make costs` runs this program. docs/studies.md contains the printed table.

use std::error::Error;
use std::path::Path;
use tailcut_scenario::Scenario;
use tailcut_scenario::sim::{Unattended, run};
use tailcut_study::{Draft, Program};

/// Relative error up to which an estimate counts as correct.
const WITHIN: f64 = 0.3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut within = 0;
    let paths: Vec<String> = std::env::args().skip(1).collect();
    println!("| scenario | cases | expected, CPU s | measured, CPU s | expected over measured |");
    println!("|---|---|---|---|---|");
    for path in &paths {
        let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        let directory = Path::new(path).parent().unwrap_or(Path::new(""));
        let scenario = Scenario::parse_bytes(path, directory, bytes)?.with("seeds", 2)?;
        let mut draft = Draft::of(&scenario, Program::default())?;
        draft.estimate(&Unattended);
        let expected: Option<f64> = draft.plan.cases.iter().map(|case| case.cpu_seconds).sum();
        let expected =
            expected.ok_or_else(|| format!("{path}: at least one case has no estimate"))?;
        let mut measured = 0.0;
        for config in &draft.study.runs {
            let cost = run(config, &Unattended)?.cost;
            measured += cost.cpu_seconds.or(cost.wall_seconds).unwrap_or_default();
        }
        let ratio = expected / measured;
        within += usize::from((ratio - 1.0).abs() <= WITHIN);
        println!(
            "| `{}` | {} | {expected:.2} | {measured:.2} | {ratio:.2} |",
            draft.plan.name,
            draft.plan.cases.len()
        );
    }
    let percent = WITHIN * 100.0;
    println!(
        "\n{within} of {} scenarios within {percent:.0} %.",
        paths.len()
    );
    Ok(())
}
