//! Progress of a study as text and as JSON.

use crate::forecast::rounded_time;
use crate::plan::PlannedCase;
use crate::prune::Prunable;
use crate::status::{CaseState, Status};
use crate::study_dir::{ExistingResults, StudyDir};
use serde_json::{Value, json};
use std::path::PathBuf;
use tailcut_record::RunSummary;

/// Returns a line about a run: its number of flows, and its CPU time.
pub fn in_a_line(summary: &RunSummary) -> String {
    let cpu = summary.cpu_seconds.or(summary.wall_seconds);
    let cpu = cpu_seconds(cpu.unwrap_or_default());
    match &summary.requests {
        Some(_) if summary.flows == 0 => format!("{cpu} CPU-seconds"),
        _ => format!("{} flows, {cpu} CPU-seconds", summary.flows),
    }
}

/// Returns CPU seconds in few digits: 0.12, 4.5, 380.
fn cpu_seconds(seconds: f64) -> String {
    match seconds {
        ..1.0 => format!("{seconds:.2}"),
        ..100.0 => format!("{seconds:.1}"),
        _ => format!("{seconds:.0}"),
    }
}

fn counted(cases: usize) -> String {
    match cases {
        1 => "1 case".to_owned(),
        _ => format!("{cases} cases"),
    }
}

/// Returns the first 300 characters of a text, on one line.
fn on_one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut line = text.trim().replace('\n', "; ");
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push_str("...");
    }
    line
}

/// Returns the remaining work as text. `cpu` is the remaining CPU time in seconds.
/// `seconds` is the remaining time in seconds, if `processes` processes run cases at the same time.
fn to_go(cpu: Option<f64>, seconds: Option<f64>, processes: usize) -> String {
    match (cpu, seconds) {
        (Some(0.0), _) => "To go: nothing".to_owned(),
        (Some(cpu), Some(seconds)) => format!(
            "To go: about {} CPU-seconds, {} with {processes} at a time",
            cpu_seconds(cpu),
            rounded_time(seconds)
        ),
        _ => "To go: unknown time".to_owned(),
    }
}

impl CaseState {
    /// Returns the name of the state: done, failed, running, stale or waiting.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Running(_) => "running",
            Self::Stale(_) => "stale",
            Self::Waiting => "waiting",
        }
    }
}

impl Status {
    /// Returns the number of cases in each state, by the state's name.
    fn counts(&self) -> [(&'static str, usize); 5] {
        let count = |name| {
            self.states
                .iter()
                .filter(|state| state.name() == name)
                .count()
        };
        ["done", "failed", "running", "stale", "waiting"].map(|name| (name, count(name)))
    }

    /// Returns the number of processes that are running cases.
    pub fn at_work(&self) -> usize {
        let states = self.states.iter();
        states
            .filter(|state| matches!(state, CaseState::Running(_)))
            .count()
    }

    /// Returns the progress as text. The remaining time in the text assumes `processes` processes at the same time.
    pub fn text(&self, study: &StudyDir, processes: usize) -> String {
        let cases = &study.plan().cases;
        let shown = self.counts().into_iter();
        let shown = shown.filter(|(name, count)| *count > 0 || *name == "done");
        let shown: Vec<String> = shown
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let dir = study.path().display();
        let all = counted(cases.len());
        let mut text = format!("{all} in {dir}: {}\n", shown.join(", "));
        for (place, (case, state)) in cases.iter().zip(&self.states).enumerate() {
            let detail = match state {
                CaseState::Done | CaseState::Waiting => continue,
                CaseState::Failed(failure) => on_one_line(&failure.error),
                CaseState::Running(holding) | CaseState::Stale(holding) => holding.to_string(),
            };
            let (label, name) = (case.key.label(), state.name());
            text.push_str(&format!("case {place}: {label}: {name}: {detail}\n"));
        }
        let expected = self.expected_of_done.map_or_else(String::new, |expected| {
            format!(", expected {}", cpu_seconds(expected))
        });
        let spent = cpu_seconds(self.spent);
        text.push_str(&format!("Spent: {spent} CPU-seconds{expected}\n"));
        let seconds = self.seconds_to_go(processes);
        text + &to_go(self.cpu_seconds_to_go(), seconds, processes)
    }

    /// Returns the progress as JSON, with every case.
    pub fn json(&self, study: &StudyDir, processes: usize) -> Value {
        let cases = study.plan().cases.iter().zip(&self.states).enumerate();
        let cases = cases.map(|(place, (case, state))| {
            let mut value = json!(state);
            value["case"] = place.into();
            value["hash"] = case.hash.as_str().into();
            value["run"] = json!(case.key);
            value["expected_cpu_seconds"] = case.cpu_seconds.into();
            value
        });
        let mut value = json!({
            "cases": cases.collect::<Vec<_>>(),
            "spent_cpu_seconds": self.spent,
            "expected_of_done_cpu_seconds": self.expected_of_done,
            "to_go_cpu_seconds": self.cpu_seconds_to_go(),
            "processes": processes,
            "to_go_seconds": self.seconds_to_go(processes),
        });
        for (name, count) in self.counts() {
            value[name] = count.into();
        }
        value
    }
}

impl ExistingResults {
    /// Returns the time in seconds that the unfinished cases need, if `processes` processes run them at the same time.
    fn seconds_to_go(&self, cases: &[PlannedCase], processes: usize) -> Option<f64> {
        let longest = cases
            .iter()
            .filter_map(|case| case.cpu_seconds)
            .fold(0.0, f64::max);
        let cpu = self.cpu_seconds_to_go?;
        // One case runs in one process, so the time of the longest case is a lower limit.
        // But the longest case may be done already, so the limit is at most the time of all unfinished cases.
        Some((cpu / processes.max(1) as f64).max(longest.min(cpu)))
    }

    /// Returns a text about a plan that was written.
    /// The remaining time in the text assumes `processes` processes at the same time.
    pub fn text(&self, study: &StudyDir, processes: usize) -> String {
        let cases = &study.plan().cases;
        let (dir, last) = (study.path().display(), cases.len().saturating_sub(1));
        let seconds = self.seconds_to_go(cases, processes);
        format!(
            "{} in {dir}, 0..{last}: {} done, {} failed\n{}",
            counted(cases.len()),
            self.done,
            self.failed,
            to_go(self.cpu_seconds_to_go, seconds, processes)
        )
    }

    /// Returns the data of [`ExistingResults::text`] as JSON.
    pub fn json(&self, study: &StudyDir, processes: usize) -> Value {
        let cases = &study.plan().cases;
        let expected: Option<f64> = cases.iter().map(|case| case.cpu_seconds).sum();
        json!({
            "cases": cases.len(),
            "done": self.done,
            "failed": self.failed,
            "left_over": self.left_over,
            "expected_cpu_seconds": expected,
            "to_go_cpu_seconds": self.cpu_seconds_to_go,
            "processes": processes,
            "to_go_seconds": self.seconds_to_go(cases, processes),
        })
    }
}

impl Prunable {
    /// Returns a text with one line per path.
    pub fn text(&self) -> String {
        let kinds: [(&str, &[PathBuf]); 6] = [
            ("results that are not planned", &self.results),
            (
                "failures of cases that are not planned or are done",
                &self.failures,
            ),
            ("files that the scenario does not read", &self.files),
            ("unfinished results and files", &self.partial),
            ("locks of processes that have ended", &self.locks),
            ("outputs of jobs", &self.printed),
        ];
        let mut text = String::new();
        for (what, paths) in kinds.iter().filter(|(_, paths)| !paths.is_empty()) {
            text.push_str(&format!("{what}: {}\n", paths.len()));
            for path in paths.iter() {
                text.push_str(&format!("  {}\n", path.display()));
            }
        }
        text
    }
}
