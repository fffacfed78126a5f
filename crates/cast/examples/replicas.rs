//! Measures the time of a download from three replicas, if one of them is slow, stalls or is killed.
//! Compares it with a download from two replicas: `cargo run --release -p tailcut-cast --example replicas [ROUNDS]`.
//!
//! Each replica is a process on this machine and has a rate limit.
//! When the first bytes are verified, the third replica is stopped or killed.
//! At this time, it has not sent all of its slabs.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::files::{FileSource, Hash, ScanOptions, Source, StreamSink};
use tailcut_cast::transfer::{Event, get, serve};

type Failed = Box<dyn std::error::Error>;

/// Size of the file in bytes: 64 MB.
const LENGTH: usize = 64_000_000;
/// Rate limit of each replica in bytes per second: 100 Mbit/s.
const RATE: u64 = 12_500_000;

/// Fault of the third replica in a measurement.
#[derive(Clone, Copy, PartialEq)]
enum Third {
    Missing,
    Fine,
    Slow,
    Stalled,
    Killed,
}

const CASES: [(Third, &str); 5] = [
    (Third::Missing, "two replicas"),
    (Third::Fine, "three replicas"),
    (Third::Slow, "one at 1/100 of the rate"),
    (Third::Stalled, "one stalls"),
    (Third::Killed, "one is killed"),
];

/// Process that runs a replica. It is killed when this value is dropped.
struct Replica {
    child: Child,
    at: SocketAddr,
    root: Hash,
}

impl Replica {
    fn start(path: &str, rate: u64) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", path, &rate.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no pipe")?).read_line(&mut line)?;
        let (at, root) = line.trim().split_once(' ').ok_or("no address")?;
        Ok(Self {
            child,
            at: at.parse()?,
            root: Hash::from_hex(root).ok_or("no root")?,
        })
    }

    fn signal(&self, signal: rustix::process::Signal) -> Result<(), Failed> {
        let pid = rustix::process::Pid::from_raw(self.child.id().cast_signed());
        Ok(rustix::process::kill_process(
            pid.ok_or("no process")?,
            signal,
        )?)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve_for_ever(path: &str, rate: u64) -> Result<(), Failed> {
    let options = Options {
        rate: Some(rate),
        ..Options::default()
    };
    let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, &options)?;
    let scan = ScanOptions {
        slab_log2: 20,
        ..ScanOptions::default()
    };
    let mut source = FileSource::open(path.as_ref(), &scan, &mut |_| ())?;
    let root = source.root()?;
    println!("{} {root}", endpoint.local());
    let stop = AtomicBool::new(false);
    Ok(serve(
        &endpoint,
        Box::new(source),
        root,
        &stop,
        &mut |_| (),
    )?)
}

/// Returns the time of a download in seconds.
fn read(path: &str, third: Third) -> Result<f64, Failed> {
    let mut replicas = vec![Replica::start(path, RATE)?, Replica::start(path, RATE)?];
    match third {
        Third::Missing => {}
        Third::Slow => replicas.push(Replica::start(path, RATE / 100)?),
        _ => replicas.push(Replica::start(path, RATE)?),
    }
    let at: Vec<SocketAddr> = replicas.iter().map(|replica| replica.at).collect();
    let root = replicas[0].root;
    let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, &Options::default())?;
    let mut sink = StreamSink::new(std::io::sink(), 64, u64::MAX);
    let stop = AtomicBool::new(false);
    let mut is_due = matches!(third, Third::Stalled | Third::Killed);
    let mut on_event = |event| match event {
        Event::Progress(progress) if is_due && progress.moved() > 0 => {
            is_due = false;
            let signal = match third {
                Third::Killed => rustix::process::Signal::KILL,
                _ => rustix::process::Signal::STOP,
            };
            replicas[2].signal(signal).expect("a signal");
        }
        _ => {}
    };
    let begun = Instant::now();
    let taken = get(&endpoint, root, &at, &mut sink, &stop, &mut on_event)?;
    drop(endpoint);
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(taken.root, root);
    assert!(!is_due, "the third replica got its signal");
    Ok(seconds)
}

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, path, rate] = &arguments[..]
        && command == "serve"
    {
        return serve_for_ever(path, rate.parse()?);
    }
    let rounds: usize = arguments.first().map_or(Ok(5), |rounds| rounds.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    let mut state = 7u64;
    let words = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()
    });
    let bytes: Vec<u8> = words.take(LENGTH / 8).flatten().collect();
    std::fs::write(&path, bytes)?;
    let path = path.to_str().ok_or("a path that is not UTF-8")?;
    let mut seconds = CASES.map(|_| Vec::new());
    // The cases take turns in each round. So other load on the machine affects all of them equally.
    for _ in 0..rounds {
        for ((third, _), taken) in CASES.iter().zip(&mut seconds) {
            taken.push(read(path, *third)?);
        }
    }
    println!(
        "{:<26} {:>9} {:>24}",
        "", "seconds", "relative to two replicas"
    );
    let base = seconds[0].clone();
    for ((_, name), taken) in CASES.iter().zip(&seconds) {
        let mut ratios: Vec<f64> = taken
            .iter()
            .zip(&base)
            .map(|(one, base)| one / base)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let mut taken = taken.clone();
        taken.sort_by(f64::total_cmp);
        println!(
            "{name:<26} {:>9.2} {:>8.3} ({:.3} to {:.3}), n = {rounds}",
            taken[rounds / 2],
            ratios[rounds / 2],
            ratios[0],
            ratios[rounds - 1]
        );
    }
    Ok(())
}
