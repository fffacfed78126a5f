//! Gain of duplicates at several loads. The duplicates are compared with two designs that send only one copy.
//! One single-copy design chooses a random server, and the second design chooses the shorter queue of two servers.
//! The code is the same as for real requests, but time is virtual, and connections are in memory.
//!
//! ```sh
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin study -- [SEEDS] [REQUESTS]
//! cargo run --release --manifest-path bench/rans/Cargo.toml --bin study -- objects [SEEDS] [OBJECTS] [LOAD] [SLOW]
//! ```
//!
//! `objects` runs the same comparison for objects that are requested in ranges.
//! With a load, it runs only objects of 64 chunks at this load. A share `SLOW` of the copies is slow (default 0).
//! The program `loopback` runs the first comparison over TCP in real time.

#[path = "../interval.rs"]
mod interval;
#[path = "../../../../crates/rans/tests/common/study/model.rs"]
mod model;
#[path = "../../../../crates/rans/tests/common/study/objects.rs"]
mod objects;

use interval::ratio;
use model::{Design, Outcome, Question, Trouble, Wires, run};
use objects::{By, MEAN_WORK, Objects};
use tailcut_rans::guard::OnCancel;

fn runtime(wires: Wires) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(wires == Wires::Memory)
        .build()
        .expect("a runtime")
}

fn ask(question: Question) -> Outcome {
    runtime(question.wires).block_on(run(question))
}

fn ask_for(objects: Objects) -> (Outcome, f64) {
    runtime(objects.wires).block_on(objects::run(objects))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let what = arguments.next_if(|word| word == "objects");
    let mut number = |default: usize| match arguments.next() {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    if what.is_some() {
        let (seeds, count) = (number(10)?, number(2_000)?);
        match arguments.next() {
            Some(load) => {
                let slow = arguments.next().map_or(Ok(0.0), |text| text.parse())?;
                by_ranges(seeds, count, &[(64, slow)], &[load.parse()?]);
            }
            None => {
                let kinds = [(64, 0.0), (64, 0.05), (256, 0.0)];
                by_ranges(seeds, count, &kinds, &[0.3, 0.6, 0.9]);
            }
        }
        return Ok(());
    }
    let (seeds, requests) = (number(10)?, number(5_000)?);
    println!("{seeds} seeds of {requests} requests; ratios, with intervals over seeds\n");
    println!(
        "| slow copies | load | guards | mean against one at random | p99 against it \
         | mean against the shorter of two | p99 against it |"
    );
    println!("|---|---|---|---|---|---|---|");
    for slow in [0.05, 0.0] {
        for on_cancel in [OnCancel::Kill, OnCancel::HoldSlot] {
            for load in [0.3, 0.6, 0.9] {
                let mut ratios: [Vec<f64>; 4] = Default::default();
                for seed in 1..=seeds as u64 {
                    let of = |design| {
                        ask(Question {
                            servers: 16,
                            first: Trouble::None,
                            load,
                            slow,
                            design,
                            on_cancel,
                            requests,
                            seed,
                            wires: Wires::Memory,
                        })
                    };
                    let duplicate = of(Design::Duplicate);
                    let others = [of(Design::Random), of(Design::ShorterOfTwo)];
                    for (other, ratios) in others.iter().zip(ratios.chunks_mut(2)) {
                        ratios[0].push(duplicate.mean() / other.mean());
                        ratios[1].push(duplicate.p99() / other.p99());
                    }
                }
                let [mean, p99, mean_two, p99_two] = ratios.map(|values| ratio(&values));
                println!(
                    "| {:.0} % | {load} | {on_cancel:?} | {mean} | {p99} | {mean_two} | {p99_two} |",
                    slow * 100.0
                );
            }
        }
    }
    six_servers(seeds, requests);
    Ok(())
}

/// Compares designs when one of six servers has a fault.
fn six_servers(seeds: usize, requests: usize) {
    println!("\nOne of six servers has a fault, no copies are slow, guards kill\n");
    println!("| load | the first server | compared | mean | p99 |");
    println!("|---|---|---|---|---|");
    let of = |design, first, load, seed| {
        ask(Question {
            servers: 6,
            first,
            load,
            slow: 0.0,
            design,
            on_cancel: OnCancel::Kill,
            requests,
            seed,
            wires: Wires::Memory,
        })
    };
    let healthy = (Design::Duplicate, Trouble::None);
    let (slow, stalled) = (Trouble::Slow(3), Trouble::Stalled);
    let of_two = |design| (design, slow);
    let cases = [
        (
            "3x slow",
            "the shorter of two",
            (Design::Duplicate, slow),
            of_two(Design::ShorterOfTwo),
        ),
        (
            "3x slow",
            "the lighter of two",
            (Design::Duplicate, slow),
            of_two(Design::LighterOfTwo),
        ),
        (
            "stalled",
            "duplicates, all well",
            (Design::Duplicate, stalled),
            healthy,
        ),
    ];
    for (what, other, own, against) in cases {
        let (mut means, mut p99s) = (Vec::new(), Vec::new());
        let load = 0.25;
        for seed in 1..=seeds as u64 {
            let [own, against] =
                [own, against].map(|(design, first)| of(design, first, load, seed));
            means.push(own.mean() / against.mean());
            p99s.push(own.p99() / against.p99());
        }
        let (mean, p99) = (ratio(&means), ratio(&p99s));
        println!("| {load} | {what} | {other} | {mean} | {p99} |");
    }
}

/// Compares objects in ranges with whole objects.
fn by_ranges(seeds: usize, count: usize, kinds: &[(usize, f64)], loads: &[f64]) {
    println!("{seeds} seeds of {count} objects; ratios, with intervals over seeds\n");
    println!(
        "| chunks | slow | load | copies | mean against one at random | p99 against it \
         | mean against the shorter of two | p99 against it | extra bytes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for &(chunks, slow) in kinds {
        for &load in loads {
            let mut ratios: [[Vec<f64>; 5]; 2] = Default::default();
            for seed in 1..=seeds as u64 {
                let of = |by| {
                    ask_for(Objects {
                        load,
                        slow,
                        chunks,
                        by,
                        mean_work: MEAN_WORK,
                        count,
                        seed,
                        wires: Wires::Memory,
                    })
                };
                let others = [of(By::Random).0, of(By::ShorterOfTwo).0];
                for (by, ratios) in [By::Ranges, By::RangesAlike].into_iter().zip(&mut ratios) {
                    let (ranges, extra) = of(by);
                    for (other, ratios) in others.iter().zip(ratios.chunks_mut(2)) {
                        ratios[0].push(ranges.mean() / other.mean());
                        ratios[1].push(ranges.p99() / other.p99());
                    }
                    ratios[4].push(extra * 100.0);
                }
            }
            for (copies, ratios) in ["low", "alike"].into_iter().zip(ratios) {
                let [mean, p99, mean_two, p99_two, extra] = ratios.map(|values| ratio(&values));
                println!(
                    "| {chunks} | {:.0} % | {load} | {copies} | {mean} | {p99} | {mean_two} \
                     | {p99_two} | {extra} % |",
                    slow * 100.0
                );
            }
        }
    }
}
