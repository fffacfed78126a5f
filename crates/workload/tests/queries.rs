//! Tests of queries: the next query of an aggregator waits for all answers.

use std::collections::BTreeSet;
use tailcut_units::{Duration, HostId, Time};
use tailcut_workload::{
    Class, Coflow, CoflowKind, Error, Flow, Merge, Queries, QueriesSpec, SizeDistribution, Source,
    ThinkTime,
};

fn us(us: u64) -> Time {
    Time::ZERO.saturating_add(Duration::from_us(us))
}

fn spec(aggregators: &[u32], fan_out: u32) -> QueriesSpec {
    QueriesSpec {
        seed: 7,
        label: 0,
        aggregators: aggregators.iter().copied().map(HostId).collect(),
        workers: (0..16).map(HostId).collect(),
        fan_out,
        sizes: SizeDistribution::uniform(1_000, 20_000),
        question: None,
        outstanding: 1,
        think: ThinkTime::Fixed(Duration::from_us(10)),
        start: us(5),
        until: Time::MAX,
        queries_at_most: None,
        class: Class::Foreground,
        path: None,
    }
}

fn queries(spec: QueriesSpec) -> Queries {
    Queries::new(spec).expect("queries")
}

/// Takes all flows that start at the time of the next flow.
fn take(source: &mut impl Source) -> Vec<Flow> {
    let Some(now) = source.peek() else {
        return Vec::new();
    };
    let mut flows = Vec::new();
    while source.peek() == Some(now) {
        flows.extend(source.next());
    }
    flows
}

#[test]
fn a_query_asks_different_workers_and_the_next_one_starts_when_all_have_answered() {
    let mut source = queries(spec(&[3], 15));
    for round in 0..4 {
        let answers = take(&mut source);
        let workers: BTreeSet<HostId> = answers.iter().map(|flow| flow.src).collect();
        assert_eq!(workers.len(), 15);
        assert!(
            answers
                .iter()
                .all(|flow| flow.dst == HostId(3) && flow.src != HostId(3))
        );
        let start = answers[0].start;
        for (number, flow) in (1..).zip(&answers) {
            assert_eq!(source.peek(), None, "round {round}: it waits");
            source.completed(start.saturating_add(Duration::from_us(number)), flow.id);
        }
        assert_eq!(
            source.peek(),
            Some(start.saturating_add(Duration::from_us(15 + 10)))
        );
        let Coflow {
            kind,
            flows,
            bytes,
            end,
            receiver,
            ..
        } = source.coflows()[round];
        assert_eq!(
            (kind, flows, receiver),
            (CoflowKind::Query, 15, Some(HostId(3)))
        );
        assert_eq!(bytes, answers.iter().map(|flow| flow.bytes).sum::<u64>());
        assert_eq!(end, Some(start.saturating_add(Duration::from_us(15))));
    }
}

#[test]
fn a_worker_answers_when_it_has_the_question() {
    let mut source = queries(QueriesSpec {
        question: Some(100),
        ..spec(&[0], 2)
    });
    let questions = take(&mut source);
    assert!(
        questions
            .iter()
            .all(|flow| flow.src == HostId(0) && flow.bytes == 100)
    );
    source.completed(us(20), questions[1].id);
    let answers = take(&mut source);
    assert_eq!(answers.len(), 1);
    assert_eq!(
        (answers[0].src, answers[0].start),
        (questions[1].dst, us(20))
    );
    source.completed(us(30), answers[0].id);
    source.completed(us(40), questions[0].id);
    let last = take(&mut source);
    source.completed(us(70), last[0].id);
    assert_eq!(source.coflows()[0].end, Some(us(70)));
    assert_eq!(source.peek(), Some(us(80)));
}

#[test]
fn a_query_with_a_failed_answer_never_completes_but_the_next_one_starts() {
    let mut source = queries(spec(&[0], 2));
    let answers = take(&mut source);
    source.failed(us(20), answers[0].id);
    source.completed(us(30), answers[1].id);
    assert_eq!(source.coflows()[0].end, None);
    assert_eq!(source.peek(), Some(us(40)));
}

#[test]
fn the_queries_of_an_aggregator_do_not_depend_on_others_or_on_the_network() {
    let asked = |aggregators: &[u32], answer_us: u64| {
        let mut source = queries(spec(aggregators, 3));
        let mut asked = Vec::new();
        for _ in 0..8 {
            let flows = take(&mut source);
            for flow in &flows {
                source.completed(
                    flow.start.saturating_add(Duration::from_us(answer_us)),
                    flow.id,
                );
            }
            let own = flows.into_iter().filter(|flow| flow.dst == HostId(2));
            asked.extend(own.map(|flow| (flow.src, flow.bytes)));
        }
        asked
    };
    let alone = asked(&[2], 1);
    assert_eq!(alone.len(), 24);
    assert_eq!(alone, asked(&[2], 50));
    assert_eq!(alone, asked(&[1, 2, 9], 1));
}

#[test]
fn the_number_of_queries_and_their_time_are_limited() {
    let mut source = queries(QueriesSpec {
        queries_at_most: Some(3),
        ..spec(&[0, 1], 2)
    });
    let flows: Vec<Flow> = std::iter::from_fn(|| {
        let flow = source.next()?;
        source.completed(flow.start, flow.id);
        Some(flow)
    })
    .collect();
    assert_eq!(flows.len(), 6);
    let mut source = queries(QueriesSpec {
        until: us(5),
        ..spec(&[0], 2)
    });
    assert_eq!(source.next(), None, "they start before the end");
    for wrong in [spec(&[0], 0), spec(&[0], 16)] {
        let error = Queries::new(wrong).expect_err("no such workers");
        assert!(
            matches!(
                error,
                Error::OutOfRange {
                    parameter: "fan-out",
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn coflows_of_several_sources_are_in_the_order_of_their_starts() {
    let late = QueriesSpec {
        start: us(9),
        ..spec(&[0], 1)
    };
    let sources: Vec<Box<dyn Source>> =
        vec![Box::new(queries(late)), Box::new(queries(spec(&[1], 2)))];
    let mut merged = Merge::new(sources);
    let first = take(&mut merged);
    take(&mut merged);
    merged.failed(us(20), first[0].id);
    let coflows = merged.coflows();
    let starts: Vec<Time> = coflows.iter().map(|coflow| coflow.start).collect();
    assert_eq!(starts, [us(5), us(9)]);
    assert_eq!((coflows[0].flows, coflows[0].end), (2, None));
}
