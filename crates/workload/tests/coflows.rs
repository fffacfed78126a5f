//! Tests of coflows from a file: their flows, their ends, and the errors for invalid files.

use proptest::prelude::*;
use tailcut_units::{Duration, HostId, Time};
use tailcut_workload::{Class, CoflowKind, CoflowSource, CoflowTrace, Flow, Source};

const MEGABYTE: u64 = 1 << 20;

fn ms(ms: u64) -> Time {
    Time::ZERO.saturating_add(Duration::from_ms(ms))
}

fn source(text: &str, scale: f64) -> CoflowSource {
    CoflowSource::new(
        CoflowTrace::parse(text, 8, scale).expect("coflows"),
        Class::Foreground,
    )
}

fn all(source: &mut CoflowSource) -> Vec<Flow> {
    std::iter::from_fn(|| source.next()).collect()
}

const TWO: &str = "8 2\n1 20 2 0 1 2 2:4.0 3:1.0\n2 10 1 5 1 6:2.0\n";

#[test]
fn each_mapper_sends_its_share_to_each_reducer_at_the_arrival() {
    let mut source = source(TWO, 1.0);
    let flows = all(&mut source);
    let of = |flow: &Flow| (flow.start, flow.src.0, flow.dst.0, flow.bytes);
    let expected = [
        (ms(10), 5, 6, 2 * MEGABYTE),
        (ms(20), 0, 2, 2 * MEGABYTE),
        (ms(20), 1, 2, 2 * MEGABYTE),
        (ms(20), 0, 3, MEGABYTE / 2),
        (ms(20), 1, 3, MEGABYTE / 2),
    ];
    assert_eq!(flows.iter().map(of).collect::<Vec<_>>(), expected);
    for (number, flow) in flows.iter().enumerate() {
        source.completed(ms(30 + number as u64), flow.id);
    }
    let coflows = source.coflows();
    let ends: Vec<Option<Time>> = coflows.iter().map(|coflow| coflow.end).collect();
    assert_eq!(ends, [Some(ms(30)), Some(ms(34))]);
    assert_eq!((coflows[1].kind, coflows[1].flows), (CoflowKind::Listed, 4));
    assert_eq!(coflows[1].bytes, 5 * MEGABYTE);
}

#[test]
fn sizes_have_a_factor_and_data_at_its_reducer_stays_there() {
    let mut source = source("8 2\n1 0 2 0 1 1 0:4.0\n2 0 1 3 1 3:9.0\n", 0.5);
    let flows = all(&mut source);
    assert_eq!(
        flows.len(),
        1,
        "no flow of the second coflow uses the network"
    );
    assert_eq!(
        (flows[0].src, flows[0].dst, flows[0].bytes),
        (HostId(1), HostId(0), MEGABYTE)
    );
    source.failed(ms(1), flows[0].id);
    assert_eq!(source.coflows()[0].end, None);
}

#[test]
fn coflows_are_cut_by_time_and_by_number() {
    let trace = CoflowTrace::parse(TWO, 8, 1.0).expect("coflows");
    assert_eq!(
        (trace.len(), trace.last_start(), trace.flow_count()),
        (2, ms(20), 5)
    );
    assert_eq!(trace.clone().until(ms(20), 9).flow_count(), 1);
    assert_eq!(trace.until(Time::MAX, 1).last_start(), ms(10));
}

#[test]
fn a_wrong_file_names_the_line_the_value_and_what_is_allowed() {
    for (text, message) in [
        (
            "",
            "line 1: found no lines; allowed: a line with the numbers of locations and coflows",
        ),
        (
            "9 1\n1 0 1 0 1 1:1\n",
            "line 1, column `locations`: found `9`; allowed: a whole number from 0 to 8",
        ),
        (
            "8 2\n1 0 1 0 1 1:1\n",
            "line 2: found 1 coflows, and 1 with data for the network; allowed: 2 coflows, as the first line says, \
             and at least one",
        ),
        (
            "8 1\n1 0 1 8 1 1:1\n",
            "line 2, column `mapper`: found `8`; allowed: a location from 0 to 7",
        ),
        (
            "8 1\n1 0 1 0 1 1=1\n",
            "line 2, column `reducer`: found `1=1`; allowed: LOCATION:MB with MB from 0 to 1000000",
        ),
        (
            "8 1\n1 0 1 0 2 1:1\n",
            "line 2, column `reducer`: found the end of the line; allowed: a value",
        ),
        (
            "8 1\n1 0 1 0 1 1:1 2:1\n",
            "line 2: found `2:1`; allowed: the end of the line",
        ),
        (
            "8 1\n1 0 0 1 1:1\n",
            "line 2: found 0 mappers and 1 reducers; allowed: at least one of each, and at most 1000000 pairs of them",
        ),
    ] {
        let error = CoflowTrace::parse(text, 8, 1.0).expect_err("refused");
        assert_eq!(error.to_string(), message);
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "([0-9]{1,2} [0-9]{1,2}\n)?([0-9:.x ]{0,30}\n){0,5}") {
        if let Ok(trace) = CoflowTrace::parse(&text, 8, 2.0) {
            let mut source = CoflowSource::new(trace, Class::Foreground);
            for flow in all(&mut source) {
                prop_assert!(flow.src != flow.dst && flow.src.0 < 8 && flow.dst.0 < 8 && flow.bytes > 0);
            }
        }
    }
}
