//! The prediction of a probe beside RepSYN run for real, interleaved: volleys, plain connections and RepSYN
//! connections to one RepNet server take turns, so that all of them meet the same network.
//!
//! On one host `repsyn serve 0.0.0.0:7000`, on another one `repsyn compare 10.0.0.8:7000 300`; on pairs of others
//! `repsyn load 10.0.0.7:9 80` for a network that has something to do (docs/probe.md has the whole run).

use anyhow::{Context, Result, bail};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tailcut_probe::net::{Ports, Shooter, handshake_of};
use tailcut_probe::stats::{Handshake, predict};
use tailcut_repnet::{Connector, Counters, FlowSettings, Mode, Pairing, Settings, TcpListener};

/// Ports in a volley.
const PORTS: usize = 24;
/// Plain connections, and RepSYN connections, after each volley.
const EACH: usize = 4;

#[tokio::main(flavor = "current_thread")]
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

/// RepSYN whose connections are open when the faster handshake is done: no hello is waited for.
fn settings() -> Settings {
    Settings {
        flow: FlowSettings {
            mode: Some(Mode::RepSyn),
            pairing: Pairing::Port,
            assume_capable: true,
            adaptive: false,
            fallback_delay: None,
            ..FlowSettings::default()
        },
        ..Settings::default()
    }
}

/// Takes connections, plain and replicated, and drops them when their peers have gone.
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
    let host = to.ip().to_string();
    let mut ports = Ports::new(to, std::process::id());
    let mut shooter = Shooter::new(to, &mut ports, PORTS, 320.0, 1)?;
    let (mut shot, mut plain, mut raced) = (Vec::new(), Vec::new(), Vec::new());
    let mut own = Vec::new();
    for _ in 0..volleys {
        shot.extend(shooter.shoot(&AtomicBool::new(false))?);
        for _ in 0..EACH {
            let began = Instant::now();
            let stream = tokio::net::TcpStream::connect(to).await?;
            let took = began.elapsed().as_secs_f64() * 1e6;
            plain.push(took);
            // What this process adds to what the kernel has measured of the same handshake.
            if let Some(Handshake { us, resent: 0, .. }) = handshake_of(&stream) {
                own.push(took - us);
            }
            stream.set_zero_linger()?;
            drop(stream);
            let began = Instant::now();
            let stream = connector.connect(&host, to.port()).await?;
            raced.push(began.elapsed().as_secs_f64() * 1e6);
            stream.reset();
            // Spread over the time until the next volley.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let prediction = predict(&shot).context("too few volleys: 60 at least")?;
    let (single, pair) = (prediction.mean.single, prediction.mean.pair);
    let own = mean(&own);
    let say = |what: &str, value: f64, low: f64, high: f64| {
        println!("{what:32}{value:8.0} ({low:.0} to {high:.0})");
    };
    println!(
        "means in us, {volleys} volleys of {PORTS} ports, {} connections each",
        raced.len()
    );
    println!("added by this process           {own:8.0}, taken off below");
    say(
        "one handshake, by volleys",
        single.value,
        single.low,
        single.high,
    );
    let (value, half) = with_interval(&plain);
    say(
        "one connection, for real",
        value - own,
        value - own - half,
        value - own + half,
    );
    say("faster of two, predicted", pair.value, pair.low, pair.high);
    let (value, half) = with_interval(&raced);
    say(
        "RepSYN, for real",
        value - own,
        value - own - half,
        value - own + half,
    );
    println!(
        "predicted, against real         {:8.1} %",
        (pair.value / (value - own) - 1.0) * 100.0
    );
    Ok(())
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

/// The mean, and half of its 95 % interval by the means of 20 batches.
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
    (mean(times), 2.09 * (variance / n).sqrt())
}

/// Sends bursts of datagrams, each from a port of its own and so on a path of its own, with pauses as long on
/// average: so many Mb/s while a burst lasts.
fn load(to: SocketAddr, mbps: f64) -> Result<()> {
    const DATAGRAM: [u8; 1_400] = [0; 1_400];
    let mut state = u64::from(std::process::id()) | 1;
    // An exponential draw with a mean of 20 ms (xorshift, Marsaglia 2003).
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
            // Nobody listens there, and says so.
            let _ = socket.send_to(&DATAGRAM, to);
            next += gap;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        std::thread::sleep(draw());
    }
}
