//! Guards and clients under faults, for a chosen time.
//! The program ends with an error if the counters do not explain the result of each request.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin soak -- [SECONDS] [REQUESTS A SECOND] [FILE]
//! ```

#[path = "../../../../crates/rans/tests/common/soak/load.rs"]
mod load;
#[path = "../../../../crates/rans/tests/common/soak/service.rs"]
mod service;

use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(10.0), |text| text.parse())?;
    let rate: f64 = arguments.next().map_or(Ok(100.0), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(load::run(Duration::from_secs_f64(seconds), rate));
    println!("{}", outcome.page);
    for wrong in &outcome.wrong {
        println!("WRONG: {wrong}");
    }
    if let Some(file) = arguments.next() {
        let wrong = match outcome.wrong.len() {
            0 => "Nothing was wrong.".to_owned(),
            count => format!(
                "{count} faults of this project:\n\n{}",
                outcome.wrong.join("\n")
            ),
        };
        std::fs::write(file, format!("{}\n{wrong}\n", outcome.page))?;
    }
    match outcome.wrong.is_empty() {
        true => Ok(()),
        false => Err("the counters do not explain the result of every request".into()),
    }
}
