//! Duplicates over a network with priorities, on real hosts (`tailcut lab`).
//! The program compares the latency of primaries with and without duplicates, guards, and marked packets.
//!
//! Two services have 32 workers each.
//! A worker sleeps for a random time: exponential, 100 ms on average, equal for a primary and its copy.
//! Two clients receive answers of 5 KB over one link of 20 Mb/s.
//! Primaries alone use 44 % of the workers and 61 % of the link. So copies with the same priority overload the link.
//! Because the workers only sleep, processors do not limit the rate.
//!
//! ```sh
//! cargo build --release -p tailcut
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin network -- target/release/tailcut [SEEDS] [SECONDS]
//! ```

mod client;
#[path = "../../../../../crates/rans/tests/common/draw.rs"]
mod draw;
#[path = "../../interval.rs"]
mod interval;
mod server;
#[path = "../../../../../crates/rans/tests/common/work.rs"]
mod work;

use interval::ratio;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;
use tailcut_rans::socket::Dscp;

/// Combination of options that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Combination {
    /// Whether requests have copies.
    pub copies: bool,
    /// Whether the services are behind guards.
    pub guards: bool,
    /// DSCP of each class, if packets are marked.
    pub marks: Option<[Dscp; 3]>,
}

impl Combination {
    const ALL: [&str; 6] = ["---", "-g-", "c--", "c-m", "cg-", "cgm"];

    fn parse(text: &str) -> Self {
        let low = Dscp::LOWER_EFFORT;
        let high = Dscp::new(48).unwrap_or_default();
        Self {
            copies: text.contains('c'),
            guards: text.contains('g'),
            marks: text.contains('m').then_some([high, low, low]),
        }
    }

    fn name(text: &str) -> &'static str {
        match text {
            "---" => "no copies, no guards",
            "-g-" => "no copies, guards",
            "c--" => "copies, no guards, not marked",
            "c-m" => "copies, no guards, marked",
            "cg-" => "copies, guards, not marked",
            _ => "copies, guards, marked",
        }
    }
}

/// Running lab. Dropping this value ends the lab.
struct Lab {
    tailcut: String,
    process: Child,
    /// Pipe to which the lab writes. The pipe has to stay open as long as the lab runs.
    _lines: BufReader<ChildStderr>,
}

impl Lab {
    fn up(tailcut: &str) -> Result<Self, Box<dyn Error>> {
        let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/network/lab.toml");
        let mut command = Command::new(tailcut);
        command.args([
            "lab",
            "up",
            "--name",
            "rans-network",
            "--scenario",
            scenario,
        ]);
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(process.stderr.take().ok_or("no stderr")?);
        let mut said = String::new();
        // The lab prints this word when it is ready.
        while !said.contains("process ") {
            if lines.read_line(&mut said)? == 0 {
                return Err(format!("the lab did not start: {said}").into());
            }
        }
        Ok(Self {
            tailcut: tailcut.to_owned(),
            process,
            _lines: lines,
        })
    }

    /// Starts this program on a host with a role.
    fn exec(&self, host: &str, role: &[&str]) -> Result<Child, Box<dyn Error>> {
        let mut command = Command::new(&self.tailcut);
        command.args(["lab", "exec", "--lab", "rans-network", host, "--"]);
        command.arg(std::env::current_exe()?).args(role);
        Ok(command.stdout(Stdio::piped()).spawn()?)
    }

    /// Returns the latencies of all primaries in milliseconds, and the number of primaries that did not arrive in time.
    fn measure(
        &self,
        combination: &str,
        seed: u64,
        seconds: u64,
    ) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
        let mut servers = Vec::new();
        for host in ["h0", "h1"] {
            let mut server = self.exec(host, &["server", combination])?;
            let mut said = String::new();
            BufReader::new(server.stdout.take().ok_or("no stdout")?).read_line(&mut said)?;
            if said.is_empty() {
                return Err(format!("the server on {host} did not start").into());
            }
            servers.push(server);
        }
        let seconds = seconds.to_string();
        let clients = [("h2", 2 * seed), ("h3", 2 * seed + 1)].map(|(host, seed)| {
            self.exec(host, &["client", combination, &seed.to_string(), &seconds])
        });
        let (mut latencies, mut late) = (Vec::new(), 0);
        for client in clients {
            let told = client?.wait_with_output()?;
            if !told.status.success() {
                return Err(format!("a client ended with {}", told.status).into());
            }
            for line in String::from_utf8(told.stdout)?.lines() {
                let (latency, is_there) = line.split_once(' ').ok_or("a line without a space")?;
                latencies.push(latency.parse()?);
                late += usize::from(is_there != "true");
            }
        }
        for mut server in servers {
            server.kill()?;
            server.wait()?;
        }
        latencies.sort_by(f64::total_cmp);
        Ok((latencies, late))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let down = ["lab", "down", "--lab", "rans-network"];
        let _ = Command::new(&self.tailcut).args(down).status();
        let _ = self.process.wait();
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the 99th percentile by nearest rank.
fn p99(sorted: &[f64]) -> f64 {
    let rank = (0.99 * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

fn compare(tailcut: &str, seeds: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    let lab = Lab::up(tailcut)?;
    println!(
        "{seeds} seeds of {seconds} s; ratios to the case without copies and guards, with intervals over seeds\n"
    );
    println!(
        "| what | primaries | missing after 20 s | mean | p99 | mean against no copies | p99 against no copies |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut measured: Vec<Vec<(Vec<f64>, usize)>> = vec![Vec::new(); Combination::ALL.len()];
    for seed in 1..=seeds {
        for (combination, runs) in Combination::ALL.iter().zip(&mut measured) {
            runs.push(lab.measure(combination, seed, seconds)?);
        }
    }
    for (combination, runs) in Combination::ALL.iter().zip(&measured) {
        let all: Vec<f64> = runs
            .iter()
            .flat_map(|(latencies, _)| latencies)
            .copied()
            .collect();
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        let pairs = runs.iter().zip(&measured[0]);
        let means: Vec<f64> = pairs
            .clone()
            .map(|(run, base)| mean(&run.0) / mean(&base.0))
            .collect();
        let p99s: Vec<f64> = pairs
            .map(|(run, base)| p99(&run.0) / p99(&base.0))
            .collect();
        let late: usize = runs.iter().map(|(_, late)| late).sum();
        println!(
            "| {} | {} | {late} | {:.1} ms | {:.0} ms | {} | {} |",
            Combination::name(combination),
            all.len(),
            mean(&all),
            p99(&sorted),
            ratio(&means),
            ratio(&p99s)
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    match words[..] {
        ["server", combination] => {
            Ok(runtime()?.block_on(server::run(Combination::parse(combination)))?)
        }
        ["client", combination, seed, seconds] => {
            let time = Duration::from_secs(seconds.parse()?);
            let client = client::run(Combination::parse(combination), seed.parse()?, time);
            runtime()?.block_on(client)
        }
        [tailcut] => compare(tailcut, 6, 15),
        [tailcut, seeds, seconds] => compare(tailcut, seeds.parse()?, seconds.parse()?),
        _ => Err("network TAILCUT [SEEDS SECONDS]".into()),
    }
}
