//! The answer shows the part of a result that comes from a retransmission timer.

mod synthetic;

use synthetic::{Behaviour, TCP, run, study};
use tailcut_record::{FlowRecord, FlowletGap, SlowCodec, Timer, Timers};
use tailcut_report::{Study, answer, html, json, text_table};
use tailcut_units::Duration;

const REPFLOW: Behaviour = Behaviour {
    name: "repflow",
    mice_delay: 0.99,
    ..TCP
};

fn timers() -> Timers {
    let timer = |key: &str, ms: u64| {
        Some(Timer {
            key: key.to_owned(),
            ns: ms * 1_000_000,
        })
    };
    Timers {
        initial: timer("tcp.initial_rto", 30),
        least: timer("tcp.min_rto", 10),
        codec: None,
        chunk: None,
        gap: None,
    }
}

/// Returns a study of TCP and RepFlow over three seeds. `change` modifies each flow below 100 KB, and gets its number.
fn changed(change: impl Fn(&str, &mut FlowRecord, usize)) -> Study {
    let mut runs = Vec::new();
    for design in [TCP, REPFLOW] {
        for seed in 1..=3 {
            let mut record = run(design, Some(0.5), seed, 4_000);
            record.timers = timers();
            let mice = record
                .flows
                .iter_mut()
                .filter(|flow| flow.bytes.0 < 100_000);
            for (number, flow) in mice.enumerate() {
                flow.handshake = Some(Duration::from_us(20));
                change(design.name, flow, number);
            }
            runs.push(record);
        }
    }
    study(&runs)
}

fn wait(flow: &mut FlowRecord, ms: u64) {
    flow.timeouts = 1;
    flow.fct = flow.fct.map(|fct| fct + Duration::from_ms(ms));
}

#[test]
fn the_share_of_the_tail_that_waits_and_the_timer_are_told_for_each_design() {
    let study = changed(|design, flow, number| match (design, number % 100) {
        ("tcp", 0 | 1) => wait(flow, 10),
        ("repflow", 0) if number % 200 == 0 => {
            wait(flow, 30);
            flow.handshake = Some(Duration::from_ms(30));
        }
        _ => {}
    });
    let answer = answer(&study);
    assert!(
        answer.contains(
            "Timers: of the slowest 1 % of mice, 100 % with tcp (tcp.min_rto = 10 ms) and "
        ),
        "{answer}"
    );
    assert!(
        answer
            .contains("% with repflow (tcp.initial_rto = 30 ms) wait for a retransmission timer: the p99 measures the timer."),
        "{answer}"
    );
    let tables = json(&study);
    let tables = tables["tables"].as_array().expect("tables").clone();
    let table = tables
        .iter()
        .find(|table| table["id"] == "timers")
        .expect("timers");
    assert_eq!(table["rows"][0]["of the tail, least RTO"], 1.0);
    assert_eq!(table["rows"][1]["least RTO"], 10_000_000);
    assert!(html(&study).contains("Retransmission timers"));
}

#[test]
fn timers_that_all_designs_wait_for_are_named_once() {
    let study = changed(|_, flow, number| {
        if number % 50 == 0 {
            wait(flow, 10);
        }
    });
    let answer = answer(&study);
    let sentence = "with repflow wait for a retransmission timer (tcp.min_rto = 10 ms): the p99";
    assert!(answer.contains(sentence), "{answer}");
    assert_eq!(answer.matches("tcp.min_rto").count(), 1, "{answer}");
}

#[test]
fn a_timer_that_fired_in_a_copy_that_was_not_needed_cost_nothing() {
    let study = changed(|_, flow, _| flow.timeouts = 1);
    let answer = answer(&study);
    assert!(!answer.contains("timer."), "{answer}");
}

#[test]
fn a_mean_that_a_few_timeouts_make_is_marked_and_not_coloured() {
    let of_timers = changed(|design, flow, number| {
        if design == "tcp" && number % 40 == 0 {
            wait(flow, 200);
        }
    });
    let text = text_table(&of_timers);
    let row = text
        .lines()
        .find(|line| line.starts_with("repflow"))
        .expect("a row");
    assert!(row.contains('†'), "{text}");
    assert!(
        text.contains("† Most of this change comes from the few flows that waited"),
        "{text}"
    );
    let of_the_network = changed(|design, flow, _| {
        if design == "tcp" {
            flow.fct = flow.fct.map(|fct| fct * 3);
        }
    });
    assert!(!text_table(&of_the_network).contains('†'));
}

#[test]
fn a_codec_slower_than_a_hosts_link_is_told() {
    let mut record = run(
        Behaviour {
            name: "scdp",
            ..TCP
        },
        Some(0.5),
        1,
        2_000,
    );
    record.timers.codec = Some(SlowCodec {
        decodes_bps: 1_300_000_000,
        host_bps: 400_000_000_000,
    });
    let answer = answer(&study(&[record]));
    assert!(
        answer.contains(
            "scdp decodes a block that lacks a symbol at 1.3 Gb/s (scdp.decode_rate), slower than the 400 Gb/s of \
             a host"
        ),
        "{answer}"
    );
}

#[test]
fn a_gap_of_flowlets_outside_the_round_trips_of_the_network_is_warned_of() {
    for (us, expected) in [
        (
            5,
            "5 µs, shorter than a round trip in the empty network, 20 µs",
        ),
        (
            500,
            "500 µs, longer than a round trip while all queues are full, 390 µs",
        ),
    ] {
        let mut record = run(TCP, Some(0.5), 1, 2_000);
        record.timers.gap = Some(FlowletGap {
            key: "letflow.gap".to_owned(),
            ns: us * 1_000,
            least_ns: 20_000,
            most_ns: 390_000,
        });
        let answer = answer(&study(&[record]));
        let expected = format!("Flowlets: letflow.gap of tcp is {expected}: flows ");
        assert!(answer.contains(&expected), "{answer}");
    }
}

#[test]
fn runs_of_earlier_versions_say_nothing_of_timers() {
    let records = [
        run(TCP, Some(0.5), 1, 2_000),
        run(REPFLOW, Some(0.5), 1, 2_000),
    ];
    let answer = answer(&study(&records));
    assert!(!answer.contains("retransmission timer"), "{answer}");
}
