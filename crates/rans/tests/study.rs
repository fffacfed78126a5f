//! Tests of the gain of duplicates, with the real client and guard under a paused clock.

#[allow(dead_code, reason = "the example asks for more")]
#[path = "common/study/model.rs"]
mod model;
#[allow(dead_code, reason = "the example asks for more")]
#[path = "common/study/objects.rs"]
mod objects;

use model::{Design, Outcome, Question, Trouble, Wires, run};
use objects::{By, MEAN_WORK, Objects};
use tailcut_rans::guard::OnCancel;

async fn simulate(load: f64, design: Design) -> Outcome {
    run(Question {
        servers: 16,
        first: Trouble::None,
        load,
        slow: 0.05,
        design,
        on_cancel: OnCancel::Kill,
        requests: 4_000,
        seed: 11,
        wires: Wires::Memory,
    })
    .await
}

/// Bounds for two loads of the study.
/// `cargo run --release --manifest-path bench/rans/Cargo.toml --bin study` runs all loads, with intervals.
#[tokio::test(start_paused = true)]
async fn a_purged_duplicate_cuts_the_mean_and_the_tail_of_one_copy() {
    for (load, random, shorter) in [(0.3, 0.45, 0.55), (0.6, 0.28, 0.45)] {
        let duplicate = simulate(load, Design::Duplicate).await;
        let one = simulate(load, Design::Random).await;
        let two = simulate(load, Design::ShorterOfTwo).await;
        assert!(duplicate.mean() < random * one.mean(), "{load}");
        assert!(duplicate.mean() < shorter * two.mean(), "{load}");
        assert!(duplicate.p99() < 0.35 * one.p99(), "{load}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_study_repeats_itself_to_the_nanosecond() {
    let (one, other) = (
        simulate(0.6, Design::Duplicate).await,
        simulate(0.6, Design::Duplicate).await,
    );
    assert_eq!(one.latencies, other.latencies);
}

fn of_six(first: Trouble, design: Design) -> Question {
    Question {
        servers: 6,
        first,
        load: 0.25,
        slow: 0.0,
        design,
        on_cancel: OnCancel::Kill,
        requests: 2_000,
        seed: 5,
        wires: Wires::Memory,
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_costs_no_request_where_duplicates_go_to_others() {
    let stalled = run(of_six(Trouble::Stalled, Design::Duplicate)).await;
    let well = run(of_six(Trouble::None, Design::Duplicate)).await;
    assert_eq!(stalled.latencies.len(), 2_000);
    assert!(stalled.p99() < 2.0 * well.p99());
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_costs_less_with_duplicates_than_with_the_shorter_of_two_queues() {
    let duplicates = run(of_six(Trouble::Slow(3), Design::Duplicate)).await;
    let shorter = run(of_six(Trouble::Slow(3), Design::ShorterOfTwo)).await;
    assert!(duplicates.mean() < 0.7 * shorter.mean());
    assert!(duplicates.p99() < 0.7 * shorter.p99());
    // A client that also compares latencies is better, but not as good as duplicates.
    let lighter = run(of_six(Trouble::Slow(3), Design::LighterOfTwo)).await;
    assert!(duplicates.mean() < lighter.mean() && lighter.mean() < shorter.mean());
}

/// Bounds of the study for objects.
/// `cargo run --release --manifest-path bench/rans/Cargo.toml --bin study -- objects` runs all loads, with intervals.
#[tokio::test(start_paused = true)]
async fn objects_by_ranges_take_half_the_time_and_next_to_no_extra_bytes() {
    for (load, bar) in [(0.3, 0.6), (0.6, 0.5)] {
        let of = |by| {
            objects::run(Objects {
                load,
                slow: 0.0,
                chunks: 64,
                by,
                mean_work: MEAN_WORK,
                count: 400,
                seed: 3,
                wires: Wires::Memory,
            })
        };
        let (ranges, extra) = of(By::Ranges).await;
        let (single, _) = of(By::Random).await;
        let ratio = ranges.mean() / single.mean();
        assert!(ratio < bar, "{load} {ratio}");
        assert!(extra <= 0.03, "{load} {extra}");
    }
}
