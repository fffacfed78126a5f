//! Tests of the library and the npm package, each as client and as server.
//! The received bytes are correct, and each request runs once.
//!
//! `TAILCUT_REPNET_CHAOS` is the number of flows through a network with faults, for each of 16 combinations.
//! `make soak` runs a million flows in total, and prints the contents of `results.md`.

mod ends;
mod relay;

use ends::{
    Kind, Node, Outcome, QUARTERS, Report, RustServer, descriptors, node_client, rust_client,
};
use relay::Relay;
use std::io;
use std::time::Duration;
use tailcut_repnet::{Mode, Pairing};

const FLOWS: usize = 21;
/// Number of flows in a combination: a thousandth of the number in `make soak`.
const CHAOS_FLOWS: usize = 63;
const CONCURRENCY: usize = 7;
/// Smallest number of flows in a combination for which memory is checked.
const LONG: usize = 10_000;
const SEED: u64 = 20_261_120;

fn chaos_flows() -> usize {
    match std::env::var("TAILCUT_REPNET_CHAOS") {
        Ok(text) => text.parse().expect("TAILCUT_REPNET_CHAOS is a number"),
        Err(_) => CHAOS_FLOWS,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Rust,
    Node,
}

const PAIRS: [[End; 2]; 4] = [
    [End::Rust, End::Rust],
    [End::Rust, End::Node],
    [End::Node, End::Rust],
    [End::Node, End::Node],
];

enum Server {
    Rust(RustServer),
    Node(Box<Node>),
}

impl Server {
    async fn report(&mut self) -> io::Result<Report> {
        match self {
            Self::Rust(server) => Ok(server.report()),
            Self::Node(node) => node.report().await,
        }
    }

    async fn stop(self) -> io::Result<()> {
        match self {
            Self::Rust(server) => {
                server.stop().await;
                Ok(())
            }
            Self::Node(node) => node.stop().await,
        }
    }
}

/// Runs flows of one kind between a client and a server, directly or through a network with faults.
async fn run(
    [client, server]: [End; 2],
    kind: &Kind,
    chaos: Option<u64>,
) -> io::Result<(Outcome, Report)> {
    let own = descriptors();
    let (mut serving, ports) = match server {
        End::Rust => {
            let server = RustServer::start(kind).await?;
            let ports = server.ports;
            (Server::Rust(server), ports)
        }
        End::Node => {
            let (node, ports) = Node::server(kind).await?;
            (Server::Node(Box::new(node)), ports)
        }
    };
    let idle = serving.report().await?.descriptors;
    let relay = match chaos {
        Some(seed) => Some(Relay::start(ports, seed).await?),
        None => None,
    };
    let through = relay.as_ref().map_or(ports, |relay| relay.ports);
    let outcome = match client {
        End::Rust => rust_client(kind, through, SEED).await?,
        End::Node => node_client(kind, through).await?,
    };
    // Every flow of the server must end and close its descriptors.
    let held = relay.as_ref().map_or(0, |_| 6);
    let mut report = serving.report().await?;
    for _ in 0..2_000 {
        let flat = match server {
            End::Node => report.descriptors <= idle,
            End::Rust => report.descriptors <= idle + held,
        };
        if report.open == 0 && flat {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        report = serving.report().await?;
    }
    let most = idle + if server == End::Rust { held } else { 0 };
    assert!(
        report.open == 0 && report.descriptors <= most,
        "{report:?}, {idle}"
    );
    serving.stop().await?;
    if let Some(relay) = relay {
        relay.stop().await;
    }
    // All descriptors of this process must be closed, too.
    for _ in 0..2_000 {
        if descriptors() <= own {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(
        descriptors() <= own,
        "{} descriptors, {own} before",
        descriptors()
    );
    Ok((outcome, report))
}

async fn matrix() -> io::Result<()> {
    for mode in [Mode::RepFlow, Mode::RepSyn] {
        for pairing in [Pairing::Hello, Pairing::Port] {
            for ends in PAIRS {
                let flows = FLOWS;
                let kind = Kind {
                    mode,
                    pairing,
                    flows,
                    concurrency: CONCURRENCY,
                    hurried: false,
                };
                let (outcome, report) = run(ends, &kind, None).await?;
                let what = format!("{ends:?} {mode:?} {pairing:?}: {outcome:?}, {report:?}");
                // A client on Node runs one more flow first.
                let run = flows as u64 + u64::from(ends[0] == End::Node);
                assert_eq!((report.most, report.wrong), (1, 0), "{what}");
                assert_eq!((outcome.replicated, outcome.diverged), (run, 0), "{what}");
                assert!(outcome.after <= outcome.before, "{what}");
                let right = outcome.outcomes.get("right").copied().unwrap_or(0);
                assert!(!outcome.outcomes.contains_key("wrong"), "{what}");
                if (mode, pairing) == (Mode::RepSyn, Pairing::Port) {
                    // The server does not know that the client races only the handshakes.
                    // A server that writes too many bytes for its buffer continues on the first connection only.
                    // The client may have chosen the second connection.
                    assert!(right > 0, "{what}");
                    continue;
                }
                assert_eq!(right, flows as u64, "{what}");
                assert_eq!((report.ran, report.failed), (run, 0), "{what}");
            }
        }
    }
    Ok(())
}

async fn chaos() -> io::Result<()> {
    let flows = chaos_flows();
    // Long runs have more concurrent flows.
    let concurrency = if flows < LONG { CONCURRENCY } else { 50 };
    println!(
        "| client | server | mode | timeouts | right | failed | run | memory, MB: client | server |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let modes = [Mode::RepFlow, Mode::RepSyn];
    let all = modes.map(|mode| [(mode, false), (mode, true)]);
    for (seed, (mode, hurried)) in (1..).zip(all.into_iter().flatten()) {
        for ends in PAIRS {
            let kind = Kind {
                mode,
                pairing: Pairing::Hello,
                flows,
                concurrency,
                hurried,
            };
            if flows >= LONG {
                ports_are_free().await?;
            }
            let (outcome, report) = run(ends, &kind, Some(seed)).await?;
            println!("{}", row(ends, &kind, &outcome, &report));
            let what = format!("{ends:?} {kind:?}, seed {seed}: {outcome:?}, {report:?}");
            // If a connection is lost after the server has ended the flow on it, the flow ends with an error.
            // In RepSYN, a flow also ends with an error if its chosen connection is lost.
            // A flow never ends with wrong bytes.
            assert!(!outcome.outcomes.contains_key("wrong"), "{what}");
            assert!(outcome.outcomes.contains_key("right"), "{what}");
            assert!(
                !outcome.outcomes.keys().any(|key| key.starts_with("stuck")),
                "{what}"
            );
            assert_eq!((report.wrong, outcome.diverged), (0, 0), "{what}");
            assert!(report.most <= 1, "{what}");
            assert!(outcome.after <= outcome.before, "{what}");
            for memory in [outcome.memory, report.memory] {
                let [_, second, _, last] = memory;
                let is_flat = last <= second + second / 4 + (8 << 20);
                assert!(flows < LONG || is_flat, "{what}");
            }
        }
    }
    Ok(())
}

/// Waits until enough ports are free.
/// A server needs two neighbouring free ports, and the kernel keeps the ports of ended connections for a minute.
async fn ports_are_free() -> io::Result<()> {
    loop {
        let sockets = tokio::fs::read_to_string("/proc/net/sockstat").await?;
        let mut words = sockets.split_whitespace().skip_while(|word| *word != "tw");
        let kept = words.nth(1).and_then(|count| count.parse::<u32>().ok());
        if kept.is_none_or(|kept| kept < 2_000) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Returns a line of `results.md`.
fn row(ends: [End; 2], kind: &Kind, outcome: &Outcome, report: &Report) -> String {
    let right = outcome.outcomes.get("right").copied().unwrap_or(0);
    let failed: u64 = outcome.outcomes.values().sum::<u64>() - right;
    let megabytes = |memory: [u64; QUARTERS]| {
        let shown = memory.map(|bytes| format!("{:.0}", bytes as f64 / 1e6));
        shown.join(" / ")
    };
    let server = match ends[1] {
        End::Node => megabytes(report.memory),
        End::Rust => "–".to_owned(),
    };
    let timeouts = if kind.hurried { "20 ms" } else { "default" };
    format!(
        "| {:?} | {:?} | {:?} | {timeouts} | {right} | {failed} | {} | {} | {server} |",
        ends[0],
        ends[1],
        kind.mode,
        report.ran,
        megabytes(outcome.memory)
    )
}

/// One test runs all combinations, because it counts the descriptors of its process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ends_in_rust_and_on_node_agree_byte_for_byte_and_run_each_request_once()
-> io::Result<()> {
    ends::expect_node().await;
    matrix().await?;
    chaos().await
}
