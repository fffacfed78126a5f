//! `tailcut study status`: how far a study is.

use crate::args::Common;
use crate::failure::Failure;
use crate::output::{print, print_json, seconds};
use crate::pool::threads;
use serde_json::{Value, json};
use tailcut_cases::{CaseState, Holding, Status, StudyDir};

/// Prints how far a study is.
///
/// # Errors
/// A result that cannot be read, or what the system refuses.
pub fn tell(study: &StudyDir, common: &Common) -> Result<(), Failure> {
    let status = study.status()?;
    let told = Told::new(study, &status, common)?;
    match common.json {
        true => print_json(&told.json()),
        false => print(&told.text()),
    }
}

struct Told<'a> {
    study: &'a StudyDir,
    status: &'a Status,
    /// Processes that the time to go is for.
    processes: usize,
}

impl<'a> Told<'a> {
    fn new(study: &'a StudyDir, status: &'a Status, common: &Common) -> Result<Self, Failure> {
        let at_work = status.states.iter();
        let at_work = at_work.filter(|state| matches!(state, CaseState::Running(_)));
        Ok(Self {
            study,
            status,
            processes: match (common.threads, at_work.count()) {
                (None, at_work) if at_work > 0 => at_work,
                _ => threads(common)?.get(),
            },
        })
    }

    fn count(&self, of: fn(&CaseState) -> bool) -> usize {
        self.status.states.iter().filter(|state| of(state)).count()
    }

    /// How many cases are in each state, by the state's name.
    fn counts(&self) -> [(&'static str, usize); 5] {
        [
            ("done", self.count(|state| matches!(state, CaseState::Done))),
            (
                "failed",
                self.count(|state| matches!(state, CaseState::Failed(_))),
            ),
            (
                "running",
                self.count(|state| matches!(state, CaseState::Running(_))),
            ),
            (
                "stale",
                self.count(|state| matches!(state, CaseState::Stale(_))),
            ),
            (
                "waiting",
                self.count(|state| matches!(state, CaseState::Waiting)),
            ),
        ]
    }

    fn text(&self) -> String {
        let (status, plan) = (self.status, self.study.plan());
        let shown = self.counts().into_iter();
        let shown = shown.filter(|(name, count)| *count > 0 || *name == "done");
        let shown: Vec<String> = shown
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let dir = self.study.path().display();
        let mut text = format!(
            "{} cases in {dir}: {}\n",
            plan.cases.len(),
            shown.join(", ")
        );
        for (place, (case, state)) in plan.cases.iter().zip(&status.states).enumerate() {
            let told = match state {
                CaseState::Done | CaseState::Waiting => continue,
                CaseState::Failed(failure) => format!("failed: {}", failure.error),
                CaseState::Running(holding) => format!("running: {}", by(holding)),
                CaseState::Stale(holding) => format!("stale: {}", by(holding)),
            };
            text.push_str(&format!("case {place}: {}: {told}\n", case.key.label()));
        }
        let expected = status
            .expected_of_done
            .map_or_else(String::new, |expected| {
                format!(", {} had been expected", seconds(expected))
            });
        text.push_str(&format!(
            "Spent: {} CPU-seconds{expected}\n",
            seconds(status.spent)
        ));
        let time = status.seconds_to_go(self.processes);
        text.push_str(&match (status.cpu_seconds_to_go(), time) {
            (Some(0.0), _) => "To go: nothing".to_owned(),
            (Some(cpu), Some(time)) => format!(
                "To go: about {} CPU-seconds, {} with {} at a time",
                seconds(cpu),
                tailcut_scenario::in_words(time),
                self.processes
            ),
            _ => "To go: a time that nobody can tell yet".to_owned(),
        });
        text
    }

    fn json(&self) -> Value {
        let (status, plan) = (self.status, self.study.plan());
        let cases = plan.cases.iter().zip(&status.states).enumerate();
        let cases = cases.map(|(place, (case, state))| {
            let mut told = json!({
                "case": place,
                "hash": case.hash,
                "run": case.key,
                "expected_cpu_seconds": case.cpu_seconds,
            });
            let (name, more) = match state {
                CaseState::Done => ("done", Value::Null),
                CaseState::Failed(failure) => ("failed", json!({ "error": failure.error })),
                CaseState::Running(holding) => ("running", of(holding)),
                CaseState::Stale(holding) => ("stale", of(holding)),
                CaseState::Waiting => ("waiting", Value::Null),
            };
            told["state"] = name.into();
            if let Value::Object(more) = more {
                for (key, value) in more {
                    told[key] = value;
                }
            }
            told
        });
        let mut told = json!({
            "cases": cases.collect::<Vec<_>>(),
            "spent_cpu_seconds": status.spent,
            "expected_of_done_cpu_seconds": status.expected_of_done,
            "to_go_cpu_seconds": status.cpu_seconds_to_go(),
            "processes": self.processes,
            "to_go_seconds": status.seconds_to_go(self.processes),
        });
        for (name, count) in self.counts() {
            told[name] = count.into();
        }
        told
    }
}

/// Who is at a case, and for how long.
fn by(holding: &Holding) -> String {
    let Some(holder) = &holding.by else {
        return format!(
            "a process that is silent for {} s",
            holding.silent.as_secs()
        );
    };
    let silent = holding.silent.as_secs();
    let silent = match silent > tailcut_cases::HEARTBEAT.as_secs() * 2 {
        true => format!(", silent for {silent} s"),
        false => String::new(),
    };
    format!("{holder}, for {:.0} s{silent}", holding.seconds())
}

fn of(holding: &Holding) -> Value {
    let holder = holding.by.as_ref();
    json!({
        "host": holder.map(|holder| &holder.host),
        "pid": holder.map(|holder| holder.pid),
        "since": holder.map(|holder| &holder.since),
        "seconds": holding.seconds(),
        "silent_seconds": holding.silent.as_secs_f64(),
    })
}
