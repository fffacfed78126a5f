//! Programs that `tailcut reproduce` runs on real hosts.

use crate::args::Reproduce;
use crate::failure::Failure;
use crate::output::note;
use anyhow::{Context, anyhow};
use serde::Deserialize;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tailcut_reproduce::{PartRuns, Program, Times};
use tailcut_scenario::record::{self, Fingerprint};

/// Parsed line of a program's output.
#[derive(Deserialize)]
#[serde(untagged)]
enum OutputLine {
    Round {
        transport: String,
        milliseconds: Vec<f64>,
        /// Share of the machine's processors that was busy, 0 to 1.
        busy: f64,
    },
    End {
        #[serde(rename = "isValid")]
        is_valid: bool,
        #[serde(rename = "whyNot")]
        why_not: String,
    },
}

/// Runs a program and stores its output in `dir`.
///
/// # Errors
/// A required file is missing, the program fails, or its output cannot be parsed.
pub fn run(
    program: &Program,
    arguments: &Reproduce,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<(Vec<Times>, PartRuns), Failure> {
    let script = (
        program.script,
        "run it in the folder of tailcut's repository",
    );
    for (file, made_by) in std::iter::once(&script).chain(program.needs) {
        if !Path::new(file).exists() {
            return Err(anyhow!("{}: found no {file}; {made_by}", program.name).into());
        }
    }
    let mut words: Vec<String> = program
        .arguments(arguments.quick)
        .map(str::to_owned)
        .collect();
    if let Some(slowdown) = arguments.slowdown {
        // If a flag occurs twice, the program uses its last value.
        words.extend(["--slowdown".to_owned(), slowdown.to_string()]);
    }
    let own = std::env::current_exe().context("cannot find the program tailcut")?;
    let mut child = Command::new("node")
        .arg(program.script)
        .arg("--json")
        .args(&words)
        .env("TAILCUT", own)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run node")?;
    let out = child.stdout.take().context("node has no output")?;
    let printed = run_to_end(&child, out, stop)?;
    let status = child.wait().context("cannot wait for node")?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    if !status.success() {
        return Err(anyhow!("{}: node {}: {status}", program.name, program.script).into());
    }
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    record::write_whole(&dir.join("rounds.jsonl"), printed.as_bytes())?;
    read(program, &words, &printed)
}

/// Interval between two checks for an interruption while the program prints nothing.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until a program ends, and returns its output. After an interruption, the program gets one SIGTERM.
/// After SIGTERM, the program removes its lab.
fn run_to_end(child: &Child, out: ChildStdout, stop: &AtomicBool) -> Result<String, Failure> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut printed = String::new();
    let mut was_terminated = false;
    loop {
        match lines.recv_timeout(CHECK_INTERVAL) {
            Ok(line) => {
                printed.push_str(&line.context("cannot read what node prints")?);
                printed.push('\n');
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(printed),
        }
        if !was_terminated && stop.load(Ordering::Relaxed) {
            was_terminated = true;
            terminate(child);
        }
    }
}

#[cfg(unix)]
fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    // The error is ignored: it means that the program has already ended.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
}

/// Does nothing. Only Linux has labs, so no other system has a lab to end.
#[cfg(not(unix))]
fn terminate(_: &Child) {}

fn read(
    program: &Program,
    words: &[String],
    printed: &str,
) -> Result<(Vec<Times>, PartRuns), Failure> {
    let mut all: Vec<Times> = Vec::new();
    let mut most_busy = 0.0_f64;
    for line in printed.lines() {
        let read = serde_json::from_str(line)
            .with_context(|| format!("{}: found '{line}'", program.name))?;
        match read {
            OutputLine::Round {
                transport,
                milliseconds,
                busy,
            } => {
                most_busy = most_busy.max(busy);
                match all.iter_mut().find(|times| times.design == transport) {
                    Some(times) => times.rounds.push(milliseconds),
                    None => all.push(Times {
                        program: program.name,
                        design: transport,
                        rounds: vec![milliseconds],
                    }),
                }
            }
            OutputLine::End { is_valid, why_not } if !is_valid => {
                note(&format!("{}: NOT VALID: {why_not}", program.name));
            }
            OutputLine::End { .. } => {}
        }
    }
    note(&format!(
        "{}: processors were {:.0} % busy at most in a round",
        program.name,
        most_busy * 100.0
    ));
    let mut hash = Fingerprint::new();
    // Writing to a hash never fails.
    let _ = hash.write_str(printed);
    let rounds = all.iter().map(|times| times.rounds.len());
    let runs = PartRuns {
        part: program.name.to_owned(),
        scenario: program.script.to_owned(),
        changes: [("arguments".to_owned(), words.join(" "))].into(),
        seeds: (1..=rounds.clone().max().unwrap_or_default() as u64).collect(),
        runs: rounds.sum(),
        hash: hash.digits(),
        cpu_seconds: 0.0,
    };
    Ok((all, runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Program = Program {
        name: "node",
        needs: &[],
        script: "lab.js",
        arguments: "",
        quick: "",
        full: "",
    };

    #[test]
    fn rounds_are_put_together_by_design() {
        let printed = "{\"round\":0,\"transport\":\"net\",\"milliseconds\":[1,2],\"busy\":0.5}\n\
                       {\"round\":0,\"transport\":\"repsyn\",\"milliseconds\":[3],\"busy\":0.5}\n\
                       {\"round\":1,\"transport\":\"net\",\"milliseconds\":[4],\"busy\":0.5}\n\
                       {\"lateness\":{},\"isValid\":true,\"whyNot\":\"\"}\n";
        let (times, runs) = read(&PROGRAM, &[], printed).unwrap();
        let designs: Vec<&str> = times.iter().map(|times| times.design.as_str()).collect();
        assert_eq!(designs, ["net", "repsyn"]);
        assert_eq!(times[0].rounds, [vec![1.0, 2.0], vec![4.0]]);
        assert_eq!((runs.runs, runs.seeds), (3, vec![1, 2]));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_is_interrupted_is_asked_to_end_and_what_it_printed_is_kept() {
        // The script exits when it receives SIGTERM.
        let script = "trap 'kill $!; echo asked; exit 1' TERM; sleep 1000 & echo ready; wait";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        // When the script prints "ready", it has already installed its handler.
        let mut ready = [0; 6];
        std::io::Read::read_exact(&mut out, &mut ready).unwrap();
        let printed = run_to_end(&child, out, &AtomicBool::new(true)).unwrap();
        assert_eq!((&ready, printed.as_str()), (b"ready\n", "asked\n"));
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }

    #[test]
    fn a_line_that_is_none_is_an_error_that_shows_it() {
        let error = read(&PROGRAM, &[], "| a table |\n").unwrap_err();
        assert!(error.to_string().contains("| a table |"), "{error}");
    }
}
