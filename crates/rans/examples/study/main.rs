//! What duplicates gain, by load, against one copy at random and against the shorter of two queues. The
//! layers are those that serve real requests; their clock is paused and their connections are in memory.
//!
//! ```sh
//! cargo run --release -p tailcut-rans --example study -- [SEEDS] [REQUESTS]
//! ```

mod model;

use model::{Design, Outcome, Question, Trouble, run};
use tailcut_rans::guard::OnCancel;

fn ask(question: Question) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(run(question))
}

/// The mean of ratios over seeds, with Student's t at 95 %.
fn ratio(values: &[f64]) -> String {
    /// Student's t at 97.5 %, by degrees of freedom from 1 on.
    const T: [f64; 20] = [
        12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
        2.12, 2.11, 2.10, 2.09, 2.09,
    ];
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return format!("{mean:.2}");
    }
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (square / (count - 1.0) / count).sqrt();
    let half = error * T[(values.len() - 2).min(T.len() - 1)];
    format!("{mean:.2} ({:.2} to {:.2})", mean - half, mean + half)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| match arguments.next() {
        Some(text) => text.parse(),
        None => Ok(default),
    };
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

/// One of six servers is in trouble.
fn six_servers(seeds: usize, requests: usize) {
    println!("\nOne of six servers is in trouble, no slow copies, guards kill\n");
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
