//! Queries in the simulator: their completion times, and their rows.

#[allow(dead_code, reason = "each test uses a part of the support")]
#[path = "truth/support.rs"]
mod support;

use std::sync::Arc;
use support::{config, queue_of, simulate, single_switch, workload};
use tailcut_record::{CoflowKind, RunRecord};
use tailcut_sim::workload::{SizeDistribution, ThinkTime};
use tailcut_sim::{FlowsSpec, QueriesPart};
use tailcut_units::{Bytes, Duration, Time};

const BYTES: u64 = 14_600;

fn record(design: &str, fan_out: u32, question: Option<Bytes>) -> RunRecord {
    let part = QueriesPart {
        sizes: Arc::new(SizeDistribution::fixed(BYTES)),
        aggregators: Some(2),
        fan_out,
        question,
        outstanding: 1,
        think: ThinkTime::Fixed(Duration::from_us(100)),
        from: Duration::ZERO,
        until: Duration::from_ms(1_000),
        max_queries: Some(20),
    };
    let shape = single_switch(12, queue_of(1_000));
    let workload = workload("queries", vec![FlowsSpec::Queries(part)]);
    simulate(&config(design, "single", shape, workload))
}

#[test]
fn a_query_completes_with_its_last_answer_and_the_next_one_follows_after_the_pause() {
    for design in ["tcp", "dctcp", "repflow", "ndp", "pfabric", "scdp"] {
        for question in [None, Some(Bytes(100))] {
            let record = record(design, 8, question);
            let case = format!("{design}, {question:?}");
            assert_eq!(record.coflows.len(), 20, "{case}");
            let per_query = 8 * (1 + usize::from(question.is_some()));
            assert_eq!(record.flows.len(), 20 * per_query, "{case}");
            let mut ends: Vec<(u32, Time)> = Vec::new();
            for (number, row) in record.coflows.iter().enumerate() {
                assert_eq!(
                    (row.coflow, row.kind),
                    (number as u32, CoflowKind::Query),
                    "{case}"
                );
                assert_eq!((row.flows, row.bytes), (8, Bytes(8 * BYTES)), "{case}");
                let receiver = row.receiver.expect("a query");
                let end = row
                    .start
                    .saturating_add(row.completion.expect("it completes"));
                let answers = record.flows.iter().filter(|flow| {
                    flow.dst == receiver
                        && flow.bytes == Bytes(BYTES)
                        && (row.start..end).contains(&flow.start)
                });
                let last = answers
                    .map(|flow| flow.start.saturating_add(flow.fct.expect("it ends")))
                    .max();
                assert_eq!(last, Some(end), "{case}, query {number}");
                let before = ends.iter().rev().find(|(host, _)| *host == receiver.0);
                let pause = before.map(|(_, end)| row.start.since(*end));
                assert!(
                    pause.is_none_or(|pause| pause == Duration::from_us(100)),
                    "{case}"
                );
                ends.push((receiver.0, end));
            }
            let summary = record.summary().queries.expect("queries");
            assert_eq!((summary.n, summary.unfinished), (20, 0), "{case}");
        }
    }
}

#[test]
fn the_answers_of_a_query_share_the_link_of_the_aggregator() {
    // Ten answers of 10 packets drain at 10 Gb/s: 100 packets of 1,538 B take 123 us.
    let record = record("tcp", 10, None);
    for row in &record.coflows {
        let completion = row.completion.expect("it completes").as_us_f64();
        assert!((123.0..400.0).contains(&completion), "{completion}");
    }
}
