//! Purges at real servers. For each kind of server, the program sends each request to two servers.
//! The program checks whether the servers accept the resets of purged copies and stop the work on purged copies.
//! The program needs Node, nginx and HAProxy. The program ends with an error if a request was lost.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin resets -- [SECONDS] [REQUESTS A SECOND]
//! ```

#[path = "../../../../crates/rans/tests/common/resets/load.rs"]
mod load;
#[path = "../../../../crates/rans/tests/common/programs.rs"]
mod programs;
#[path = "../../../../crates/rans/tests/common/resets/servers.rs"]
mod servers;

use servers::Kind;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(60.0), |text| text.parse())?;
    let rate: f64 = arguments.next().map_or(Ok(500.0), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    println!(
        "{seconds} s at {rate} requests a second, each to two servers over HTTP/2\n\n\
         | servers | requests | answered | failed copies | losers | reset while they ran | never begun \
         | ran to their end | purged | connections | GOAWAY with an error |\n\
         |---|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut faults = Vec::new();
    for kind in Kind::ALL {
        let time = Duration::from_secs_f64(seconds);
        let outcome = runtime.block_on(load::run(kind, time, rate));
        let sent = outcome.requests + outcome.client.copies;
        println!(
            "| {kind:?} | {} | {} | {} | {} | {} | {} | {} | {:.1} % | {} | {} |",
            outcome.requests,
            outcome.answered,
            outcome.client.failed,
            outcome.losers(),
            outcome.saw.left,
            sent.saturating_sub(outcome.saw.began),
            outcome.ran_to_their_end(),
            100.0 * outcome.purged(),
            outcome.connections.opened,
            outcome.connections.accused,
        );
        faults.extend(
            outcome
                .faults()
                .into_iter()
                .map(|fault| format!("{kind:?}: {fault}")),
        );
    }
    for fault in &faults {
        println!("WRONG: {fault}");
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err("not every request was answered and accounted for".into()),
    }
}
