//! Compares the answers of this machine's kernel with the expected answers of each case.
//! The expected answers were measured on a kernel. The test can also measure the answers for new cases.
//!
//! A TUN device connects the kernel with the peer that a case plays.
//! Each thread has its own device and network namespace.
//! Settings of the machine and traffic of other programs therefore do not change the answers.
#![cfg(target_os = "linux")]

#[path = "../../../transport/tests/tcp/cases/mod.rs"]
mod cases;
mod device;
mod kernel;
mod packet;

use cases::parse::{Case, parse};
use cases::play::play;
use device::Device;
use kernel::Kernel;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{self, AtomicUsize};
use std::time::Duration;

const CASES: &str = include_str!("../../../transport/tests/cases/linux.txt");
/// Version of the kernel on which the expected answers were measured.
const MEASURED_ON: &str = "6.18.";
/// Number of runs of a case. A busy machine can delay a timer, so the majority decides.
const RUNS: usize = 3;
/// Maximum delay of an input on a busy machine. If the delay is longer and the answers differ, the run does not count.
const LATEST: Duration = Duration::from_millis(3);
/// Maximum number of runs of a case that do not count.
const REPEATS: usize = 12;
/// Number of cases that run at the same time. The cases mostly wait for timers.
const THREADS: usize = 6;

/// Results of the runs of a case.
struct Played<'a> {
    case: &'a Case,
    agreeing: usize,
    /// Deviations from the expected answers, for each run that deviated.
    deviating: Vec<Vec<String>>,
    /// Number of runs that do not count, because the machine was too busy.
    late: usize,
}

/// Result of the majority of the runs of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Agrees,
    Deviates,
    /// No verdict, because the machine was too busy.
    Open,
}

impl Played<'_> {
    fn verdict(&self) -> Verdict {
        match self.agreeing.cmp(&self.deviating.len()) {
            _ if self.agreeing + self.deviating.len() < RUNS / 2 + 1 => Verdict::Open,
            Ordering::Greater => Verdict::Agrees,
            Ordering::Less => Verdict::Deviates,
            Ordering::Equal => Verdict::Open,
        }
    }
}

#[test]
fn answers_of_this_kernel_are_those_of_the_cases() {
    let cases = parse(CASES).unwrap_or_else(|error| panic!("{error}"));
    // One variable selects cases by a part of their name.
    // A second variable sets the number of runs, which shows how stable the answers are.
    let wanted = std::env::var("TAILCUT_KERNEL_CASES").unwrap_or_default();
    let runs = std::env::var("TAILCUT_KERNEL_RUNS").ok();
    let runs = runs.map_or(RUNS, |runs| runs.parse().expect("a number of runs"));
    let cases: Vec<&Case> = cases
        .iter()
        .filter(|case| case.name.contains(&wanted))
        .collect();

    let (next, played) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let missing = std::thread::scope(|scope| {
        let work = || -> Result<(), String> {
            let device = Device::in_own_namespace()?;
            while let Some(case) = cases.get(next.fetch_add(1, atomic::Ordering::Relaxed)) {
                let result = play_often(case, runs, &device);
                played.lock().expect("no thread panics").push(result);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        let ends = threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"));
        ends.filter_map(Result::err).next()
    });
    if let Some(missing) = missing {
        println!("the cases were not played: {missing}");
        return;
    }
    let mut played = played.into_inner().expect("no thread panics");
    played.sort_by(|a, b| a.case.name.cmp(&b.case.name));
    report(&played);
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    if !release.starts_with(MEASURED_ON) {
        println!("this kernel is {release}: its answers may differ from Linux {MEASURED_ON}x");
        return;
    }
    assert!(
        !played
            .iter()
            .any(|result| result.verdict() == Verdict::Deviates),
        "the kernel deviates, see above"
    );
}

/// Plays a case `runs` times. With the default number of runs, stops as soon as the majority is known.
fn play_often<'a>(case: &'a Case, runs: usize, device: &Device) -> Played<'a> {
    let mut played = Played {
        case,
        agreeing: 0,
        deviating: Vec::new(),
        late: 0,
    };
    while played.agreeing + played.deviating.len() < runs && played.late < REPEATS {
        let (deviations, lateness) = match Kernel::new(device, &case.settings) {
            Ok(mut kernel) => (play(case, &mut kernel), kernel.lateness()),
            Err(error) => (vec![error], Duration::ZERO),
        };
        if deviations.is_empty() {
            played.agreeing += 1;
        } else if lateness > LATEST {
            played.late += 1;
        } else {
            played.deviating.push(deviations);
        }
        let most = played.agreeing.max(played.deviating.len());
        if runs == RUNS && most > RUNS / 2 {
            break;
        }
    }
    played
}

fn report(played: &[Played<'_>]) {
    let mut mechanisms: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for result in played {
        let verdict = result.verdict();
        let (agree, all) = mechanisms.entry(&result.case.mechanism).or_default();
        *agree += usize::from(verdict == Verdict::Agrees);
        *all += 1;
        if verdict != Verdict::Agrees || !result.deviating.is_empty() {
            let (agreeing, late) = (result.agreeing, result.late);
            let deviating = result.deviating.len();
            println!(
                "case {}: {verdict:?}; {agreeing} runs agree, {deviating} deviate, {late} were late",
                result.case.name
            );
        }
        if let Some(last) = result.deviating.last() {
            println!("  {}", last.join("\n  "));
        }
    }
    for (mechanism, (agree, all)) in &mechanisms {
        println!("{agree:4} of {all:2} agree: {mechanism}");
    }
    let agree: usize = mechanisms.values().map(|(agree, _)| agree).sum();
    let runs = played
        .iter()
        .map(|result| result.agreeing + result.deviating.len());
    let late = played.iter().map(|result| result.late);
    println!(
        "{agree:4} of {} agree, in {} runs and {} late ones",
        played.len(),
        runs.sum::<usize>(),
        late.sum::<usize>()
    );
}
