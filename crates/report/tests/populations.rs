//! Fixed sets of flows (a burst, a trace) and sessions of every kind have their own figures in a report.

mod synthetic;

use synthetic::{TCP, manifest};
use tailcut_record::{
    FlowRecord, OfferedLoad, RunKey, RunRecord, SessionEnd, SessionOperation, SessionRecord,
};
use tailcut_report::{Run, Study, answer, html, json, text_table};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

/// Returns flows of 10 KB. All begin at the same time, or one microsecond apart, and the slowest takes `slowest_us`.
fn record(design: &str, kind: &str, seed: u64, flows: u32, slowest_us: u64) -> RunRecord {
    let mut record = RunRecord::new(RunKey {
        design: design.to_owned(),
        topology: "single-switch".to_owned(),
        workload: kind.to_owned(),
        load: None,
        seed,
        ..RunKey::default()
    });
    record.offered = Some(OfferedLoad {
        exempt: vec![kind.to_owned()],
        ..OfferedLoad::default()
    });
    let apart = u64::from(kind == "trace");
    for number in 0..flows {
        let fct = slowest_us * (u64::from(number) + 1) / u64::from(flows);
        record.flows.push(FlowRecord {
            flow: FlowId(number),
            src: HostId(number),
            dst: HostId(flows),
            bytes: Bytes(10_000),
            start: Time::ZERO + Duration::from_us(apart * u64::from(number)),
            fct: Some(Duration::from_us(fct)),
            // Each seed gives a different run.
            handshake: Some(Duration::from_ns(seed)),
            ..FlowRecord::default()
        });
    }
    record
}

fn study(records: &[RunRecord]) -> Study {
    let keys = records.iter().map(|record| record.key.clone()).collect();
    Study::new(manifest(keys), records.iter().map(Run::from).collect())
}

#[test]
fn a_burst_that_is_complete_is_told_by_its_makespan_however_few_its_flows() {
    let records: Vec<RunRecord> = [("dctcp", 240_000), ("ndp", 2_000)]
        .iter()
        .flat_map(|&(design, slowest)| {
            (1..=3).map(move |seed| record(design, "burst", seed, 15, slowest))
        })
        .collect();
    let study = study(&records);
    let answer = answer(&study);
    assert!(
        answer.starts_with(
            "dctcp finishes all 15 flows of the burst in 240 ms (240 to 240), the slowest in 240 ms; ndp in 2.00 \
             ms (2.00 to 2.00), 99 % less (95 % CI 99 to 99), the slowest in 2.00 ms."
        ),
        "{answer}"
    );
    assert!(!answer.contains("too few"), "{answer}");
    let tables = text_table(&study);
    assert!(
        tables.contains("makespan") && tables.contains("slowest flow"),
        "{tables}"
    );
    assert!(!tables.contains('†'), "{tables}");
    assert_eq!(json(&study)["tables"][0]["rows"][1]["makespan"], 2_000.0);
}

#[test]
fn a_burst_whose_mean_pays_for_its_makespan_says_both() {
    // With "fair", all flows end at the same time. With "tcp", the last flow ends later.
    let both = |seed: u64| {
        ["tcp", "fair"].map(|design| {
            let mut record = record(design, "burst", seed, 15, 10_000 + seed * 10);
            for flow in record.flows.iter_mut().filter(|_| design == "fair") {
                flow.fct = Some(Duration::from_us(8_000 + seed * 10));
            }
            record
        })
    };
    let records: Vec<RunRecord> = (1..=6).flat_map(both).collect();
    let answer = answer(&study(&records));
    let first = answer.split(". ").next().expect("a sentence");
    assert!(first.contains("; fair in "), "{first}");
    assert!(
        first.contains("20 % less (95 % CI 20 to 20), but the mean flow takes 50 % more"),
        "{first}"
    );
}

#[test]
fn a_burst_that_is_not_complete_has_no_makespan() {
    let mut records = [
        record("dctcp", "burst", 1, 15, 240_000),
        record("ndp", "burst", 1, 15, 2_000),
    ];
    records[0].flows[3].fct = None;
    let answer = answer(&study(&records));
    assert!(!answer.contains("finishes all"), "{answer}");
    assert!(answer.contains("1 of 15 with dctcp"), "{answer}");
}

#[test]
fn a_collective_from_a_file_has_its_makespan_beside_the_answer_or_in_its_place() {
    let of = |flows| {
        let both = |seed| {
            [("tcp", 9_000), ("ndp", 3_000)]
                .map(|(design, slowest)| record(design, "trace", seed, flows, slowest + seed))
        };
        let records: Vec<RunRecord> = (1..=6).flat_map(both).collect();
        answer(&study(&records))
    };
    let few = of(20);
    assert!(
        few.starts_with("tcp finishes all 20 flows of the trace in "),
        "{few}"
    );
    let many = of(4_000);
    assert!(many.starts_with("ndp cuts the p99 of mice by "), "{many}");
    assert!(
        many.contains("tcp finishes all 4,000 flows of the trace in "),
        "{many}"
    );
}

#[test]
fn over_one_trace_intervals_say_that_they_cover_hashing_only() {
    let records: Vec<RunRecord> = (1..=4)
        .map(|seed| record("tcp", "trace", seed, 2_000, 9_000 + seed))
        .collect();
    let expected =
        "One trace: all 4 seeds run the same flows, so intervals cover the choice of paths";
    let answer_of = answer(&study(&records));
    assert!(answer_of.contains(expected), "{answer_of}");
    let answer_of = answer(&study(&records[..1]));
    assert!(!answer_of.contains("One trace"), "{answer_of}");
}

#[test]
fn all_flows_are_counted_beside_mice() {
    let record = synthetic::run(TCP, Some(0.5), 1, 2_000);
    let mice = record
        .flows
        .iter()
        .filter(|flow| flow.bytes.0 < 100_000)
        .count();
    let tables = json(&study(&[record]));
    let row = &tables["tables"][0]["rows"][0];
    assert_eq!(
        (&row["mice"], &row["all flows"]),
        (&mice.into(), &2_000.into())
    );
}

#[test]
fn reads_and_writes_and_both_together_are_in_tables_and_headline() {
    let run_of = |design: &str, seed: u64, write_us: u64, read_us: u64| {
        let mut run = RunRecord::new(RunKey {
            design: design.to_owned(),
            topology: "fat-tree".to_owned(),
            workload: "storage".to_owned(),
            load: None,
            seed,
            ..RunKey::default()
        });
        run.totals.packet_hops = seed;
        run.sessions = (0..2_000)
            .map(|session| {
                let reads = session % 2 == 0;
                let base = if reads { read_us } else { write_us };
                SessionRecord {
                    session,
                    operation: match reads {
                        true => SessionOperation::Read,
                        false => SessionOperation::Write,
                    },
                    bytes: Bytes(100_000),
                    completion: Some(Duration::from_us(
                        base + u64::from(session * 7 % 101) + seed,
                    )),
                    end: SessionEnd::Whole,
                    ..SessionRecord::default()
                }
            })
            .collect();
        run
    };
    let mut records = Vec::new();
    for (design, write_us, read_us) in [("tcp", 2_000, 1_000), ("scdp", 900, 950)] {
        records.extend((1..=6).map(|seed| run_of(design, seed, write_us, read_us)));
    }
    let study = study(&records);
    let answer = answer(&study);
    assert!(
        answer.starts_with("scdp cuts the p99 of sessions by "),
        "{answer}"
    );
    assert!(
        answer.contains("scdp cuts the p99 of writes by "),
        "{answer}"
    );
    assert!(
        answer.contains("scdp cuts the p99 of reads by "),
        "{answer}"
    );
    let tables = text_table(&study);
    for title in ["Sessions, fat-tree", "Writes, fat-tree", "Reads, fat-tree"] {
        assert!(tables.contains(title), "{tables}");
        assert!(html(&study).contains(title));
    }
    let only_writes: Vec<RunRecord> = records
        .into_iter()
        .map(|mut run| {
            run.sessions
                .retain(|s| s.operation == SessionOperation::Write);
            run
        })
        .collect();
    let answer = self::answer(&self::study(&only_writes));
    assert!(
        answer.starts_with("scdp cuts the p99 of writes by "),
        "{answer}"
    );
}
