//! Compares a probe's prediction with real RepSYN connections. The program sends volleys.
//! At the same time, it opens plain and RepSYN connections to one RepNet server in turn.
//! The plain connections and the RepSYN connections therefore meet the same network.
//!
//! Run `repsyn serve 0.0.0.0:7000` on one host and `repsyn compare 10.0.0.8:7000 300` on another host.
//! To load the network, run `repsyn load 10.0.0.7:9 80` on further pairs of hosts.
//! docs/probe.md has the whole procedure.

use anyhow::{Context, Result, bail};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tailcut_probe::net::{PATIENCE, Ports, Shooter, handshake_of};
use tailcut_probe::stats::{Handshake, Volley, predict};
use tailcut_repnet::{Connector, Counters, FlowSettings, Mode, Pairing, Settings, TcpListener};
use tokio::task::JoinSet;

/// Ports in a volley.
const PORTS: usize = 24;
/// Interval between two connections. Plain and RepSYN connections take turns.
const EVERY: Duration = Duration::from_millis(10);
/// Time in microseconds above which a handshake must have lost a SYN. The kernel repeats a SYN after 1 s.
const LATE_US: f64 = 900_000.0;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", at] => serve(at.parse()?).await,
        ["compare", to, volleys] => compare(to.parse()?, volleys.parse()?).await,
        ["load", to, mbps] => load(to.parse()?, mbps.parse()?),
        _ => bail!("repsyn: allowed: serve ADDRESS, compare ADDRESS VOLLEYS, or load ADDRESS MBPS"),
    }
}

/// Returns the settings of RepSYN.
/// A connection is open as soon as the faster handshake is complete, without waiting for a hello.
fn settings() -> Settings {
    Settings {
        flow: FlowSettings {
            mode: Some(Mode::RepSyn),
            pairing: Pairing::Port,
            assume_capable: true,
            adaptive: false,
            fallback_delay: None,
            leg_deadline: Duration::from_secs(10),
            ..FlowSettings::default()
        },
        ..Settings::default()
    }
}

/// Accepts plain and replicated connections, and closes them when their peers have closed.
async fn serve(at: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind_with(at, settings(), Counters::new()).await?;
    println!("ready");
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        });
    }
}

async fn compare(to: SocketAddr, volleys: usize) -> Result<()> {
    let connector = Connector::new(settings())?;
    let mut ports = Ports::new(to, std::process::id());
    let mut shooter = Shooter::new(to, &mut ports, PORTS, 320.0, 1)?;
    let shooting = tokio::task::spawn_blocking(move || {
        let shot = (0..volleys).map(|_| shooter.shoot(&AtomicBool::new(false)));
        shot.collect::<Result<Vec<_>, _>>()
    });
    let (mut plain_ones, mut raced_ones) = (JoinSet::new(), JoinSet::new());
    let mut turns = tokio::time::interval(EVERY);
    while !shooting.is_finished() {
        turns.tick().await;
        plain_ones.spawn(plain_connection(to));
        turns.tick().await;
        raced_ones.spawn(raced_connection(connector.clone(), to));
    }
    let shot: Vec<Volley> = shooting.await??.into_iter().flatten().collect();
    let (mut plain, mut own) = (Vec::new(), Vec::new());
    for (took, added) in plain_ones.join_all().await {
        plain.push(took);
        own.extend(added);
    }
    let raced = raced_ones.join_all().await;
    let late = |times: &[f64]| times.iter().filter(|us| **us >= LATE_US).count();
    let prediction = predict(&shot).context("too few volleys: 60 at least")?;
    let (single, pair) = (prediction.mean.single, prediction.mean.pair);
    let own = mean(&own);
    let say = |what: &str, value: f64, low: f64, high: f64| {
        println!("{what:32}{value:8.0} ({low:.0} to {high:.0})");
    };
    let resent = shot.iter().flat_map(|volley| &volley.handshakes).flatten();
    let resent = resent.filter(|one| one.resent > 0).count();
    println!(
        "SYNs lost: {resent} in volleys, {} of plain connections, both in {} of RepSYN",
        late(&plain),
        late(&raced)
    );
    println!(
        "means in us, {volleys} volleys of {PORTS} ports, {} connections of each kind",
        raced.len()
    );
    println!("added by this process           {own:8.0}, subtracted below");
    say(
        "one handshake, by volleys",
        single.value,
        single.low,
        single.high,
    );
    let (value, half) = with_interval(&plain);
    say(
        "one connection, real",
        value - own,
        value - own - half,
        value - own + half,
    );
    say("faster of two, predicted", pair.value, pair.low, pair.high);
    let near: Vec<f64> = shot.iter().filter_map(neighbours).collect();
    let (value, half) = with_interval(&near);
    say(
        "faster of two neighbours",
        value,
        value - half,
        value + half,
    );
    let (value, half) = with_interval(&raced);
    say(
        "RepSYN, real",
        value - own,
        value - own - half,
        value - own + half,
    );
    println!(
        "predicted, relative to real     {:8.1} %",
        (pair.value / (value - own) - 1.0) * 100.0
    );
    Ok(())
}

/// Returns the mean time of the faster of two handshakes. The SYNs of each pair were sent one at a time.
fn neighbours(volley: &Volley) -> Option<f64> {
    let mut sent: Vec<Handshake> = volley.handshakes.iter().flatten().copied().collect();
    sent.sort_by(|a, b| a.sent_us.total_cmp(&b.sent_us));
    let faster: Vec<f64> = sent
        .windows(2)
        .map(|two| two[0].us.min(two[1].us))
        .collect();
    (!faster.is_empty()).then(|| mean(&faster))
}

/// Waits for a connection. Returns the connection, and its time in microseconds, at most the time limit of a volley.
async fn within<T>(connecting: impl Future<Output = std::io::Result<T>>) -> (f64, Option<T>) {
    let began = Instant::now();
    let connected = tokio::time::timeout(PATIENCE, connecting).await;
    let took = began.elapsed().min(PATIENCE);
    (
        took.as_secs_f64() * 1e6,
        connected.ok().and_then(Result::ok),
    )
}

/// Opens one plain connection.
/// Returns its time, and the extra time that this process adds to the kernel's measurement of the handshake.
async fn plain_connection(to: SocketAddr) -> (f64, Option<f64>) {
    let (took, stream) = within(tokio::net::TcpStream::connect(to)).await;
    let Some(stream) = stream else {
        return (took, None);
    };
    let added = match handshake_of(&stream) {
        Some(Handshake { us, resent: 0, .. }) => Some(took - us),
        _ => None,
    };
    // An error means that the connection is closed already, so it is ignored.
    let _ = stream.set_zero_linger();
    (took, added)
}

async fn raced_connection(connector: Connector, to: SocketAddr) -> f64 {
    let host = to.ip().to_string();
    let (took, stream) = within(connector.connect(&host, to.port())).await;
    if let Some(stream) = stream {
        stream.reset();
    }
    took
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

/// Returns the mean, and half the width of its 95 % interval. The interval comes from the means of 20 batches.
fn with_interval(times: &[f64]) -> (f64, f64) {
    let batches: Vec<f64> = times
        .chunks(times.len().div_ceil(20).max(1))
        .map(mean)
        .collect();
    let (n, middle) = (batches.len() as f64, mean(&batches));
    let variance = batches
        .iter()
        .map(|one| (one - middle).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    // 2.09 is the 97.5 % quantile of Student's t with 19 degrees of freedom.
    (mean(times), 2.09 * (variance / n).sqrt())
}

/// Sends bursts of datagrams at `mbps` Mb/s, with pauses of the same average length.
/// Each burst has a new source port and so another path.
fn load(to: SocketAddr, mbps: f64) -> Result<()> {
    const DATAGRAM: [u8; 1_400] = [0; 1_400];
    let mut state = u64::from(std::process::id()) | 1;
    // Each call returns an exponential random time with a mean of 20 ms (xorshift, Marsaglia 2003).
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        Duration::from_secs_f64(-0.02 * (uniform + 1e-9).ln())
    };
    let gap = Duration::from_secs_f64(1_400.0 * 8.0 / (mbps * 1e6));
    loop {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        let until = Instant::now() + draw();
        let mut next = Instant::now();
        while Instant::now() < until {
            // No program listens at the port. The call may fail with an earlier ICMP error. This error is ignored.
            let _ = socket.send_to(&DATAGRAM, to);
            next += gap;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        std::thread::sleep(draw());
    }
}
