//! The gain of duplicates, by the real layers under a paused clock.

#[path = "../examples/study/model.rs"]
mod model;

use model::{Design, Outcome, Question, run};
use tailcut_rans::guard::OnCancel;

async fn ask(load: f64, design: Design) -> Outcome {
    run(Question {
        load,
        slow: 0.05,
        design,
        on_cancel: OnCancel::Kill,
        requests: 4_000,
        seed: 11,
    })
    .await
}

/// The bars of the study at two of its loads; `cargo run --release --example study` has all of them, with
/// intervals.
#[tokio::test(start_paused = true)]
async fn a_purged_duplicate_cuts_the_mean_and_the_tail_of_one_copy() {
    for (load, random, shorter) in [(0.3, 0.45, 0.55), (0.6, 0.28, 0.45)] {
        let duplicate = ask(load, Design::Duplicate).await;
        let one = ask(load, Design::Random).await;
        let two = ask(load, Design::ShorterOfTwo).await;
        assert!(duplicate.mean() < random * one.mean(), "{load}");
        assert!(duplicate.mean() < shorter * two.mean(), "{load}");
        assert!(duplicate.p99() < 0.35 * one.p99(), "{load}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_study_repeats_itself_to_the_nanosecond() {
    let (one, other) = (
        ask(0.6, Design::Duplicate).await,
        ask(0.6, Design::Duplicate).await,
    );
    assert_eq!(one.latencies, other.latencies);
}
