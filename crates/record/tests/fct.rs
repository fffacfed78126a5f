//! Tests of the statistics in a run's summary.

use tailcut_record::{FctStats, FctSummary, FlowRecord, SizeGroup, quantile_rank};
use tailcut_units::{Bytes, Duration};

fn flow(bytes: u64, fct_us: Option<u64>) -> FlowRecord {
    FlowRecord {
        bytes: Bytes(bytes),
        fct: fct_us.map(Duration::from_us),
        ideal_fct: Duration::from_us(10),
        ..FlowRecord::default()
    }
}

#[test]
fn a_percentile_is_a_value_that_occurred() {
    assert_eq!(quantile_rank(0, 0.5), None);
    assert_eq!(quantile_rank(1, 0.999), Some(0));
    assert_eq!(quantile_rank(2, 0.5), Some(0));
    assert_eq!(quantile_rank(3, 0.5), Some(1));
    assert_eq!(quantile_rank(100, 0.99), Some(98));
    assert_eq!(quantile_rank(101, 0.99), Some(99));
    assert_eq!(quantile_rank(1_000, 0.999), Some(998));
    assert_eq!(quantile_rank(10, 0.0), Some(0));
    assert_eq!(quantile_rank(10, 1.0), Some(9));
}

#[test]
fn figures_leave_unfinished_flows_out_and_count_them() {
    let mut flows: Vec<FlowRecord> = (1..=100).rev().map(|us| flow(1, Some(us))).collect();
    flows.push(flow(1, None));
    let stats = FctStats::of(&flows);
    assert_eq!(stats.n, 100);
    assert_eq!(stats.unfinished, 1);
    assert_eq!(stats.mean_us, Some(50.5));
    assert_eq!(stats.p50_us, Some(50.0));
    assert_eq!(stats.p99_us, Some(99.0));
    assert_eq!(stats.p999_us, Some(100.0));
    assert_eq!(FctStats::of(&[]).mean_us, None);
}

#[test]
fn groups_meet_at_100_kb_and_1_mb() {
    assert_eq!(SizeGroup::of(Bytes(99_999)), SizeGroup::Mice);
    assert_eq!(SizeGroup::of(Bytes(100_000)), SizeGroup::Medium);
    assert_eq!(SizeGroup::of(Bytes(999_999)), SizeGroup::Medium);
    assert_eq!(SizeGroup::of(Bytes(1_000_000)), SizeGroup::Elephants);
    let flows = [(99_999, 1), (100_000, 2), (1_000_000, 3)];
    let flows: Vec<FlowRecord> = flows.map(|(bytes, us)| flow(bytes, Some(us))).to_vec();
    let summary = FctSummary::of(&flows);
    assert_eq!(summary.mice.mean_us, Some(1.0));
    assert_eq!(summary.medium.mean_us, Some(2.0));
    assert_eq!(summary.elephants.mean_us, Some(3.0));
    assert_eq!(summary.all.n, 3);
}

#[test]
fn slowdown_is_one_for_a_flow_alone() {
    assert_eq!(flow(1, Some(10)).slowdown(), Some(1.0));
    assert_eq!(flow(1, None).slowdown(), None);
    let no_ideal = FlowRecord {
        ideal_fct: Duration::ZERO,
        ..flow(1, Some(10))
    };
    assert_eq!(no_ideal.slowdown(), None);
}
