//! Command `tailcut probe`.

use crate::mda::{Limits, Map, StoppingRule, Walk};
use crate::measurement::{Findings, Measurement};
use crate::net::{Ports, Shooter, Trouble, trace};
use crate::pace::MOST;
use crate::page::CSV_HEADER;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tailcut_units as units;
use tailcut_units::quantity::{self, QuantityError};

/// Probability with which a walk finds all next hops.
const CONFIDENCE: f64 = 0.999;
/// Longest single sleep while the probe waits. The sleep is short, so that the probe soon reacts to an interruption.
const LOOK: Duration = Duration::from_millis(100);

/// Flags of a probe.
#[derive(clap::Args, Clone, Debug)]
pub struct Probe {
    /// Target: a name or an address, and a port where a server listens
    #[arg(value_name = "HOST:PORT")]
    target: String,
    /// Volleys per round of --every, each a handshake from every source port at the same time
    #[arg(long, value_name = "N", default_value = "300", value_parser = |text: &str| quantity::within(text, 1..=100_000_u32))]
    volleys: u32,
    /// Source ports per volley
    #[arg(long, value_name = "N", default_value = "48", value_parser = |text: &str| quantity::within(text, 2..=512_u16))]
    ports: u16,
    /// SYNs per second on average, 640 at most
    #[arg(long, value_name = "N", default_value = "640", value_parser = rate)]
    rate: f64,
    /// Allow a --rate above 640; only for targets that you own or whose owner agrees
    #[arg(long)]
    allow_high_rate: bool,
    /// Time between two rounds of measurements, such as 5m
    #[arg(long, value_name = "TIME", value_parser = time, requires = "span")]
    every: Option<Duration>,
    /// Duration of all rounds, such as 6h
    #[arg(id = "span", long = "for", value_name = "TIME", value_parser = time, requires = "every")]
    span: Option<Duration>,
}

/// Progress of a probe, for the user.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// The probe searches for next hops. The fields are the TTL of the hop before them, and the number of probes sent.
    Paths(u8, u64),
    /// Number of volleys sent, and number of volleys in the round.
    Volleys(usize, usize),
    /// The probe pauses between rounds. The fields are the number of the next round and the remaining time.
    Resting(u32, Duration),
}

/// Result of a probe.
#[derive(Debug)]
pub struct Probed {
    /// Results and recommendation.
    pub findings: Findings,
    /// Path of the report, if a directory was given.
    pub report: Option<PathBuf>,
    /// Whether the user has interrupted the probe.
    pub is_interrupted: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    let whole = quantity::count(text).map(|count| count as f64).ok();
    let rate = whole.or_else(|| text.parse().ok());
    let is_sound = |rate: &f64| rate.is_finite() && *rate >= 1.0 && *rate <= 100_000.0;
    rate.filter(is_sound)
        .ok_or_else(|| "allowed: 1 to 640 a second, and more with --allow-high-rate".to_owned())
}

/// Parses the time of a flag, 1 s to 31 days.
fn time(text: &str) -> Result<Duration, QuantityError> {
    let range = units::Duration::from_ms(1_000)..=units::Duration::from_ms(31 * 86_400_000);
    quantity::within(text, range).map(Duration::from)
}

/// Returns an address of a target: its first IPv4 address, or without an IPv4 address, its first address.
fn resolve(target: &str) -> Result<SocketAddr> {
    let is_whole = target
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0));
    if !is_whole {
        bail!(
            "HOST:PORT: found '{target}'; allowed: a name or an address and a port, such as web1:443, \
             10.1.2.3:80 or [fd00::1]:80"
        );
    }
    let found = target
        .to_socket_addrs()
        .with_context(|| format!("HOST:PORT: cannot find an address of '{target}'"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    found
        .first()
        .copied()
        .with_context(|| format!("HOST:PORT: '{target}' has no address"))
}

/// Measures until all rounds have ended or `stop` is true. Calls `told` with each step of the progress.
/// The results are written into the directory `out`, if any.
///
/// # Errors
/// The input is wrong, or nothing could be measured.
pub fn run(
    arguments: &Probe,
    out: Option<&Path>,
    stop: &AtomicBool,
    told: &mut dyn FnMut(Progress),
) -> Result<Probed> {
    if arguments.rate > MOST && !arguments.allow_high_rate {
        bail!(
            "--rate: found {}; allowed: {MOST} SYNs a second at most, and more with --allow-high-rate if \
             you own the target",
            arguments.rate
        );
    }
    let address = resolve(&arguments.target)?;
    let mut files = out.map(Files::create).transpose()?;
    let mut ports = Ports::new(address, std::process::id());
    // An unreachable target is reported here immediately. The walk would need many probes to notice the problem.
    reach(address, &mut ports, stop)?;
    let map = paths(arguments, address, &mut ports, stop, told)?;
    let count = usize::from(arguments.ports);
    let seed = std::process::id().into();
    let mut shooter = Shooter::new(address, &mut ports, count, arguments.rate, seed)?;
    let mut measurement = Measurement {
        target: arguments.target.clone(),
        address,
        ports: shooter.ports().to_vec(),
        map,
        volleys: Vec::new(),
        span_us: 0.0,
    };
    let began = Instant::now();
    let mut round = 0;
    loop {
        let written = measurement.volleys.len();
        shoot(arguments, &mut shooter, &mut measurement, stop, told)?;
        if let Some(files) = &mut files {
            files.add(&measurement, written)?;
        }
        round += 1;
        let Some((every, span)) = arguments.every.zip(arguments.span) else {
            break;
        };
        if every * round >= span || !rest(began + every * round, round, stop, told) {
            break;
        }
    }
    let is_interrupted = stop.load(Ordering::Relaxed);
    if measurement.volleys.is_empty() {
        return Err(Trouble::Interrupted.into());
    }
    let findings = measurement.findings();
    let report = files
        .map(|files| files.finish(&measurement, &findings))
        .transpose()?;
    Ok(Probed {
        findings,
        report,
        is_interrupted,
    })
}

/// Tests whether the target accepts connections.
fn reach(to: SocketAddr, ports: &mut Ports, stop: &AtomicBool) -> Result<()> {
    let mut first = Shooter::new(to, ports, 1, MOST, 0)?;
    match first.shoot(stop)? {
        Some(_) => Ok(()),
        None => Err(Trouble::Interrupted.into()),
    }
}

fn paths(
    arguments: &Probe,
    to: SocketAddr,
    ports: &mut Ports,
    stop: &AtomicBool,
    told: &mut dyn FnMut(Progress),
) -> Result<Map> {
    let rule = StoppingRule::of_graph(CONFIDENCE);
    let walk = Walk::new(rule, Limits::default(), arguments.ports.into());
    let said = |walk: &Walk| told(Progress::Paths(walk.ttl() + 1, walk.sent()));
    Ok(trace(to, ports, walk, arguments.rate, stop, said)?)
}

/// Sends one round of volleys, unless it is interrupted.
fn shoot(
    arguments: &Probe,
    shooter: &mut Shooter,
    measurement: &mut Measurement,
    stop: &AtomicBool,
    told: &mut dyn FnMut(Progress),
) -> Result<()> {
    for number in 0..arguments.volleys as usize {
        told(Progress::Volleys(number, arguments.volleys as usize));
        match shooter.shoot(stop)? {
            Some(volley) => measurement.volleys.push(volley),
            None => break,
        }
    }
    measurement.span_us = shooter.median_span();
    Ok(())
}

/// Waits for the next round. Returns `false` if the user has interrupted the wait.
fn rest(until: Instant, round: u32, stop: &AtomicBool, told: &mut dyn FnMut(Progress)) -> bool {
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        told(Progress::Resting(round + 1, left));
        std::thread::sleep(left.min(LOOK));
    }
    !stop.load(Ordering::Relaxed)
}

/// Output files of a probe.
struct Files {
    dir: PathBuf,
    table: File,
}

impl Files {
    /// Creates the directory and the table. The table is written after each round, so no data is lost.
    fn create(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("--out: cannot make {}", dir.display()))?;
        let path = dir.join("handshakes.csv");
        let table = File::create_new(&path).with_context(|| {
            format!(
                "--out: cannot begin {}; allowed: a directory without an earlier probe",
                path.display()
            )
        });
        let mut files = Self {
            table: table?,
            dir: dir.to_owned(),
        };
        files.write(CSV_HEADER)?;
        Ok(files)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let written = self.table.write_all(text.as_bytes());
        written.with_context(|| format!("cannot write into {}", self.dir.display()))
    }

    /// Appends the volleys from index `from` to the end.
    fn add(&mut self, measurement: &Measurement, from: usize) -> Result<()> {
        self.write(&measurement.csv(from))
    }

    /// Writes the findings and the HTML report. Returns the path of the report.
    fn finish(self, measurement: &Measurement, findings: &Findings) -> Result<PathBuf> {
        tailcut_record::write_json(&self.dir.join("probe.json"), findings)?;
        let report = self.dir.join("report.html");
        let when = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        tailcut_record::write_whole(&report, measurement.html(findings, &when).as_bytes())?;
        Ok(report)
    }
}
