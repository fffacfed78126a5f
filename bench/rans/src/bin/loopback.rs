//! Comparison of real and virtual time: the row of `study` at load 0.6, over real sockets and in real time.
//! The program needs little CPU time. Its duration depends on the rate of the requests, which is 66 per second.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin loopback -- [SEEDS] [REQUESTS]
//! ```

#[path = "../interval.rs"]
mod interval;
#[path = "../../../../crates/rans/tests/common/study/model.rs"]
#[allow(dead_code, reason = "each program uses other functions of the model")]
mod model;

use interval::ratio;
use model::{Design, Outcome, Question, Trouble, Wires, run};
use tailcut_rans::guard::OnCancel;

const DESIGNS: [Design; 3] = [Design::Duplicate, Design::Random, Design::ShorterOfTwo];

/// Runs the three designs in parallel. They share nothing except the processors of the machine.
fn ask(wires: Wires, requests: usize, seed: u64) -> [Outcome; 3] {
    let question = |design| Question {
        servers: 16,
        first: Trouble::None,
        load: 0.6,
        slow: 0.05,
        design,
        on_cancel: OnCancel::Kill,
        requests,
        seed,
        wires,
    };
    let ask = |design| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(wires == Wires::Memory)
            .build()
            .expect("a runtime");
        runtime.block_on(run(question(design)))
    };
    std::thread::scope(|scope| {
        let asked = DESIGNS.map(|design| scope.spawn(move || ask(design)));
        asked.map(|asked| asked.join().expect("no panic"))
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let requests: usize = arguments.next().map_or(Ok(4_000), |text| text.parse())?;
    println!(
        "Load 0.6, {seeds} seeds of {requests} requests; ratios, with intervals over seeds\n\n\
         | clock and connections | mean against one at random | p99 against it \
         | mean against the shorter of two | p99 against it |\n|---|---|---|---|---|"
    );
    for (name, wires) in [
        ("virtual, memory", Wires::Memory),
        ("wall, loopback", Wires::Sockets),
    ] {
        let mut ratios: [Vec<f64>; 4] = Default::default();
        let outcomes = std::thread::scope(|scope| {
            let asked: Vec<_> = (1..=seeds)
                .map(|seed| scope.spawn(move || ask(wires, requests, seed)))
                .collect();
            let ended = asked
                .into_iter()
                .map(|asked| asked.join().expect("no panic"));
            ended.collect::<Vec<_>>()
        });
        for [duplicate, random, shorter] in outcomes {
            for (other, ratios) in [random, shorter].iter().zip(ratios.chunks_mut(2)) {
                ratios[0].push(duplicate.mean() / other.mean());
                ratios[1].push(duplicate.p99() / other.p99());
            }
        }
        let ratios = ratios.map(|values| ratio(&values));
        println!("| {name} | {} |", ratios.join(" | "));
    }
    Ok(())
}
