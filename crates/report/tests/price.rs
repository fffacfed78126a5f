//! The first sentence of an answer contains the cost of a gain, and the flows or sessions that pay this cost.

mod synthetic;

use synthetic::{Behaviour, TCP, compare, run, study};
use tailcut_record::{RequestRecord, RunRecord, SessionEnd, SessionOperation, SessionRecord};
use tailcut_report::{Study, answer, json};
use tailcut_units::{Bytes, Duration};

/// Number of seeds of a study.
const SEEDS: u64 = 6;

/// Returns the first sentence of an answer.
fn first(study: &Study) -> String {
    let answer = answer(study);
    let end = answer.find(". ").map_or(answer.len(), |end| end + 1);
    answer[..end].to_owned()
}

/// Returns a study that compares TCP with a design of this behaviour.
fn against_tcp(other: Behaviour) -> Study {
    compare(&[TCP, other], &[0.5], SEEDS, 4_000)
}

/// Returns a study of TCP and the design "new". `change` modifies a run; its `bool` is true for runs of "new".
fn changed(change: impl Fn(&mut RunRecord, bool)) -> Study {
    let new = Behaviour { name: "new", ..TCP };
    let both = |seed| {
        [TCP, new].map(|behaviour| {
            let mut record = run(behaviour, Some(0.5), seed, 4_000);
            change(&mut record, behaviour.name == "new");
            record
        })
    };
    let runs: Vec<RunRecord> = (1..=SEEDS).flat_map(both).collect();
    study(&runs)
}

/// Returns the time of member `number` in microseconds: usually 100 to 200, and 1,000 to 2,000 for 3 % of the members.
fn usual(number: u32, seed: u64) -> u64 {
    let spread = (u64::from(number) * 7_919 + seed * 104_729) % 101;
    match number % 33 {
        0 => 1_000 + spread * 10,
        _ => 100 + spread,
    }
}

/// Returns the time in a design with a shorter tail. Members outside of the tail are slower.
fn shorter_tail(number: u32, seed: u64) -> u64 {
    match usual(number, seed) {
        tail if tail >= 1_000 => tail / 3,
        body => body * 2,
    }
}

/// Returns a study of sessions. `time` gives the time of a session in microseconds, by design, kind, number and seed.
fn sessions(
    kinds: &[SessionOperation],
    time: impl Fn(bool, SessionOperation, u32, u64) -> u64,
) -> Study {
    changed(|record, is_new| {
        let seed = record.key.seed;
        record.sessions = (0..2_000)
            .map(|session| {
                let operation = kinds[session as usize % kinds.len()];
                SessionRecord {
                    session,
                    operation,
                    bytes: Bytes(1_000_000),
                    completion: Some(Duration::from_us(time(
                        is_new,
                        operation,
                        session / 2,
                        seed,
                    ))),
                    end: SessionEnd::Whole,
                    ..SessionRecord::default()
                }
            })
            .collect();
    })
}

/// Returns a study of requests and flows.
fn requests(elephants: u64, time: impl Fn(bool, u32, u64) -> u64) -> Study {
    changed(|record, is_new| {
        let seed = record.key.seed;
        for flow in record
            .flows
            .iter_mut()
            .filter(|flow| flow.bytes.0 >= 1_000_000)
        {
            flow.fct = flow
                .fct
                .map(|fct| if is_new { fct * elephants / 2 } else { fct });
        }
        record.requests = (0..2_000)
            .map(|request| RequestRecord {
                request,
                bytes: Bytes(1_000),
                latency: Some(Duration::from_us(time(is_new, request, seed))),
                ..RequestRecord::default()
            })
            .collect();
    })
}

/// Returns a study with two classes of mice.
fn classes() -> Study {
    changed(|record, is_new| {
        record.classes = vec!["gold".to_owned(), "bronze".to_owned()];
        for flow in &mut record.flows {
            flow.class = (flow.flow.0 % 4 == 0).into();
            flow.fct = flow.fct.map(|fct| match (is_new, flow.class) {
                (true, 0) => fct / 3,
                (true, _) => fct * 11 / 10,
                (false, _) => fct,
            });
        }
    })
}

/// Test case: its description, its study, and two parts of the answer's first sentence.
type Case = (&'static str, Study, [&'static str; 2]);

fn cases() -> Vec<Case> {
    let new = |mice_delay, tail, elephants| {
        against_tcp(Behaviour {
            name: "new",
            mice_delay,
            tail,
            elephants,
            ..TCP
        })
    };
    let medium = changed(|record, is_new| {
        for flow in record.flows.iter_mut().filter(|_| is_new) {
            let factor = match flow.bytes.0 {
                0..100_000 => 5,
                100_000..1_000_000 => 15,
                _ => 10,
            };
            flow.fct = flow.fct.map(|fct| fct * factor / 10);
        }
    });
    let body = changed(|record, is_new| {
        for flow in record
            .flows
            .iter_mut()
            .filter(|flow| is_new && flow.bytes.0 < 100_000)
        {
            flow.fct = flow.fct.map(|fct| match fct > Duration::from_us(120) {
                true => fct / 2,
                false => fct * 11 / 10,
            });
        }
    });
    let both = [SessionOperation::Write, SessionOperation::Read];
    vec![
        (
            "the mean of mice pays for their tail",
            new(1.2, 0.3, 1.0),
            [
                "new cuts the p99 of mice by ",
                ", but raises their mean by ",
            ],
        ),
        (
            "elephants pay for mice",
            new(0.5, 1.0, 1.3),
            [
                "new cuts the p99 of mice by ",
                ", but raises the mean of elephants by ",
            ],
        ),
        (
            "the tail of mice pays for their mean",
            new(0.6, 4.0, 1.0),
            [
                "new raises the p99 of mice by ",
                ", but cuts their mean by ",
            ],
        ),
        (
            "the tail of mice pays for elephants",
            new(1.5, 1.0, 0.7),
            [
                "new raises the p99 of mice by ",
                ", but cuts the mean of elephants by ",
            ],
        ),
        (
            "medium flows pay for mice",
            medium,
            [
                "new cuts the p99 of mice by ",
                ", but raises the mean of medium flows by ",
            ],
        ),
        (
            "most mice pay for the slow ones",
            body,
            ["new cuts the p99 of mice by ", "most mice ("],
        ),
        (
            "most writes pay for the slow ones",
            sessions(
                &[SessionOperation::Write],
                |is_new, _, number, seed| match is_new {
                    true => shorter_tail(number, seed),
                    false => usual(number, seed),
                },
            ),
            ["new cuts the p99 of writes by ", ": most writes ("],
        ),
        (
            "reads pay for writes",
            sessions(&both, |is_new, kind, number, seed| match (is_new, kind) {
                (true, SessionOperation::Write) => usual(number, seed) * 2,
                (true, SessionOperation::Read) => usual(number, seed) * 3 / 2,
                (false, SessionOperation::Write) => usual(number, seed) * 4,
                (false, _) => usual(number, seed),
            }),
            [
                "new cuts the p99 of sessions by ",
                ", but raises the p99 of reads by ",
            ],
        ),
        (
            "writes pay for reads",
            sessions(&both, |is_new, kind, number, seed| match (is_new, kind) {
                (true, SessionOperation::Read) => usual(number, seed) * 2,
                (true, SessionOperation::Write) => usual(number, seed) * 3 / 2,
                (false, SessionOperation::Read) => usual(number, seed) * 4,
                (false, _) => usual(number, seed),
            }),
            [
                "new cuts the p99 of sessions by ",
                ", but raises the p99 of writes by ",
            ],
        ),
        (
            "the class bronze pays for gold",
            classes(),
            ["new cuts the p99 of mice by ", "of the class bronze by "],
        ),
        (
            "most requests pay for the slow ones",
            requests(2, |is_new, number, seed| match is_new {
                true => shorter_tail(number, seed),
                false => usual(number, seed),
            }),
            [
                "new cuts the p99 of requests by ",
                ", but raises their mean by ",
            ],
        ),
        (
            "elephants pay for requests",
            requests(3, |is_new, number, seed| match is_new {
                true => usual(number, seed) / 2,
                false => usual(number, seed),
            }),
            [
                "new cuts the p99 of requests by ",
                ", but raises the mean of elephants by ",
            ],
        ),
        (
            "flows that never finish pay for the others",
            against_tcp(Behaviour {
                name: "new",
                mice_delay: 0.5,
                unfinished_one_in: 400,
                ..TCP
            }),
            ["new cuts the p99 of mice by ", ", but leaves "],
        ),
    ]
}

#[test]
fn the_first_sentence_has_the_gain_and_its_price() {
    for (what, study, parts) in cases() {
        let sentence = first(&study);
        assert!(sentence.starts_with(parts[0]), "{what}: {sentence}");
        assert!(sentence.contains(parts[1]), "{what}: {sentence}");
    }
}

#[test]
fn changes_of_the_first_sentence_are_those_of_the_table() {
    let study = against_tcp(Behaviour {
        name: "new",
        mice_delay: 1.2,
        tail: 0.3,
        ..TCP
    });
    let sentence = first(&study);
    let table = &json(&study)["tables"][0]["rows"][1]["mice mean vs tcp"];
    let percent = |value: &serde_json::Value| (value.as_f64().expect("a ratio") - 1.0) * 100.0;
    let interval = &table["interval"];
    // Numbers below ten have one decimal.
    let told = format!(
        "raises their mean by {:.1} % (95 % CI {:.1} to {:.1})",
        percent(&table["value"]),
        percent(&interval[0]),
        percent(&interval[1])
    );
    assert!(sentence.contains(&told), "{told}: {sentence}");
}

#[test]
fn a_gain_without_a_price_has_none_in_its_sentence() {
    let sentence = first(&against_tcp(Behaviour {
        name: "new",
        mice_delay: 0.5,
        ..TCP
    }));
    assert!(
        sentence.ends_with(" at load 0.5, for the same number of bytes."),
        "{sentence}"
    );
}

#[test]
fn equal_designs_have_no_price() {
    // The design's flows have the times of other seeds: the same distribution with other numbers.
    let new = Behaviour { name: "new", ..TCP };
    let trials = 40;
    let told = (0..trials).filter(|trial| {
        let mut runs = Vec::new();
        for seed in 1..=SEEDS {
            let seed = seed + 1_000 * trial;
            runs.push(run(TCP, Some(0.5), seed, 1_000));
            let mut record = run(new, Some(0.5), seed + 50, 1_000);
            record.key.seed = seed;
            runs.push(record);
        }
        let sentence = first(&study(&runs));
        ["raises", "most", "leaves", "; it cuts"]
            .iter()
            .any(|word| sentence.contains(word))
    });
    // If one of twenty designs is wrong, the probability of more than 5 wrong designs of 40 is 1.4 %.
    let told = told.count();
    assert!(told <= 5, "{told} of {trials} equal designs have a price");
}

#[test]
fn every_design_that_is_named_has_its_price() {
    let best = Behaviour {
        name: "best",
        mice_delay: 0.3,
        ..TCP
    };
    let second = Behaviour {
        name: "second",
        mice_delay: 0.6,
        elephants: 1.3,
        ..TCP
    };
    let answer = answer(&compare(&[TCP, second, best], &[0.5], SEEDS, 4_000));
    let (first, others) = answer.split_once(". ").expect("two sentences");
    assert!(
        first.starts_with("best cuts the p99 of mice by ") && !first.contains("but"),
        "{first}"
    );
    assert!(
        others.starts_with("Also better than tcp: second by "),
        "{others}"
    );
    let sentence = others.split(". ").next().expect("a sentence");
    assert!(
        sentence.contains(", but raises the mean of elephants by "),
        "{sentence}"
    );
}

#[test]
fn flows_are_not_named_twice() {
    // All flows are elephants. The group of elephants is therefore not another group.
    let study = changed(|record, is_new| {
        record.flows.retain(|flow| flow.bytes.0 >= 1_000_000);
        for (number, flow) in record.flows.iter_mut().enumerate() {
            let is_slow = number % 20 == 0;
            let factor = if is_slow && !is_new {
                60
            } else if is_new {
                11
            } else {
                10
            };
            flow.fct = flow.fct.map(|fct| fct * factor / 10);
        }
    });
    let sentence = first(&study);
    assert!(
        sentence.starts_with("new cuts the p99 of all flows by "),
        "{sentence}"
    );
    assert!(!sentence.contains("elephants"), "{sentence}");
}
