//! Measured part of runs: tables, joined studies, and searches for a limit.

mod synthetic;

use synthetic::{Behaviour, TCP, manifest, run};
use tailcut_record::{
    OfferedLoad, Parameter, ParameterValue, RunRecord, TierLoad, UnfinishedBytes,
};
use tailcut_report::{Run, Side, Statistic, Study, answer, json, judge, text_table};
use tailcut_units::{Duration, Time};

/// Returns six runs of TCP. In each run, 2,000 flows arrive at random.
fn open_runs() -> Vec<RunRecord> {
    let seeds = 1..=6;
    let runs = seeds.map(|seed| {
        let mut record = run(TCP, Some(0.5), seed, 2_000);
        record.offered = Some(OfferedLoad {
            tiers: vec![TierLoad {
                tier: "host uplinks".to_owned(),
                load: 0.5,
                in_proportion: 0.5,
            }],
            ..OfferedLoad::default()
        });
        record
    });
    runs.collect()
}

/// Returns a study with this start and end of the measured part.
fn measured(records: &[RunRecord], from: &str, until: &str) -> Study {
    let keys = records.iter().map(|record| record.key.clone()).collect();
    let mut manifest = manifest(keys);
    manifest.config = serde_json::json!({ "measure": { "from": from, "until": until } });
    Study::new(manifest, records.iter().map(Run::from).collect())
}

#[test]
fn a_table_has_the_measured_share_of_the_flows_unless_all_are_measured() {
    let records = open_runs();
    let of = |from, until| json(&measured(&records, from, until))["tables"][0]["rows"][0].clone();
    let share = of("25%", "75%")["measured"].as_f64().expect("a share");
    assert!((share - 0.5).abs() < 1e-9, "{share}");
    let after_warm_up = of("auto", "end")["measured"].as_f64().expect("a share");
    assert!((0.5..=1.0).contains(&after_warm_up), "{after_warm_up}");
    assert!(of("0s", "end").get("measured").is_none());
    let text = text_table(&measured(&records, "25%", "75%"));
    assert!(text.contains("  measured\n"), "{text}");
    assert!(text.contains("  50 %"), "{text}");
}

#[test]
fn the_answer_names_the_measured_part_as_the_study_gives_it() {
    let records = open_runs();
    let of = |from, until| answer(&measured(&records, from, until));
    for (from, until, part) in [
        (
            "25%",
            "end",
            "Measured: 9,000 of 12,000 flows, which start after the first 25 % of each run (measure.from = \"25%\").",
        ),
        (
            "0s",
            "75%",
            "which start before the last 25 % of each run (measure.until = \"75%\").",
        ),
        (
            "1ms",
            "20ms",
            "which start at 1.00 ms or later and before 20.0 ms (measure.from = \"1 ms\", measure.until = \"20 ms\").",
        ),
        (
            "100s",
            "end",
            "Nothing is measured: none of 12,000 flows starts at 100 s or later (measure.from = \"100 s\").",
        ),
    ] {
        let text = of(from, until);
        assert!(text.contains(part), "{from} {until}: {text}");
    }
    assert!(of("auto", "end").contains("(measure.from = \"auto\")"));
    assert!(!of("0s", "end").contains("easured"));
}

#[test]
fn joined_studies_that_measure_different_parts_keep_their_parts() {
    let part = |from: &str| {
        let mut study = measured(&open_runs(), from, "end");
        study.rename(|key| {
            key.parameters = vec![Parameter {
                key: "measure.from".to_owned(),
                value: ParameterValue::Text(from.to_owned()),
                unit: None,
            }];
        });
        study
    };
    let (joined, repeated) = Study::join([part("0s"), part("50%")]).expect("studies");
    assert_eq!(repeated, 0);
    let of_run = |run: &Run| run.measured.start > 0.0;
    let restricted: Vec<bool> = joined.runs().iter().map(of_run).collect();
    assert_eq!(restricted, [[false; 6], [true; 6]].concat());
    let text = answer(&joined);
    assert!(!text.contains("measure.from has no effect"), "{text}");
}

#[test]
fn flows_of_a_trace_may_be_numbered_in_any_order() {
    let mut records = open_runs();
    for record in &mut records {
        record.offered = Some(OfferedLoad {
            exempt: vec!["trace".to_owned()],
            ..OfferedLoad::default()
        });
        let mut starts: Vec<Time> = record.flows.iter().map(|flow| flow.start).collect();
        starts.reverse();
        for (flow, start) in record.flows.iter_mut().zip(starts) {
            flow.start = start;
        }
    }
    let text = answer(&measured(&records, "75%", "end"));
    assert!(text.contains("Measured: 3,000 of 12,000 flows"), "{text}");
    let text = answer(&measured(&records, "auto", "end"));
    assert!(!text.contains("Measured"), "{text}");
}

#[test]
fn a_search_for_a_limit_is_about_the_measured_part() {
    let mut records = open_runs();
    // The second half of each run is slow.
    for record in &mut records {
        for flow in record.flows.iter_mut().skip(1_000) {
            flow.fct = flow.fct.map(|fct| fct + Duration::from_ms(10));
        }
    }
    let median = Statistic::P50;
    let side = |until: &str| {
        let config = serde_json::json!({ "measure": { "from": "0s", "until": until } });
        let runs = records.iter().map(Run::from).collect();
        judge(&config, runs, median, 5_000.0).side
    };
    assert_eq!(side("40%"), Side::Below);
    let config = serde_json::json!({ "measure": { "from": "60%", "until": "end" } });
    let runs = records.iter().map(Run::from).collect();
    assert_eq!(judge(&config, runs, median, 5_000.0).side, Side::Above);
}

#[test]
fn a_burst_is_never_too_much_load_for_a_network() {
    let growing = Some(UnfinishedBytes {
        middle: 1e6,
        last: 5e6,
    });
    let overload = |exempt: bool| {
        let runs = open_runs().into_iter().map(|mut record| {
            if exempt {
                record.offered = Some(OfferedLoad {
                    exempt: vec!["burst".to_owned()],
                    ..OfferedLoad::default()
                });
            }
            let mut run = Run::from(&record);
            run.summary.unfinished_bytes = growing;
            run
        });
        judge(
            &serde_json::Value::Null,
            runs.collect(),
            Statistic::P50,
            1.0,
        )
        .overload
    };
    assert_eq!(overload(true), None);
    let sustained = overload(false).expect("an overload");
    assert!(sustained.contains("unfinished bytes grow"), "{sustained}");
}

#[test]
fn the_answer_counts_later_flows_that_only_carry_load() {
    let mut records = open_runs();
    let without = answer(&measured(&records, "0s", "end"));
    assert!(!without.contains("Load only"), "{without}");
    for record in &mut records {
        record.load_only = record.flows[..500].to_vec();
    }
    let text = answer(&measured(&records, "0s", "end"));
    let sentence = "Load only: 3,000 later flows, which are not measured, arrive until all others have ended \
                    (measure.continue_load).";
    assert!(text.contains(sentence), "{text}");
}

/// Returns the answer for two designs with flows that only carry load.
/// `packets` is the number of additional packets that the second design sends.
fn answer_with_later_flows(packets: u64) -> String {
    let repflow = Behaviour {
        name: "repflow",
        mice_delay: 0.5,
        bytes: 1.013,
        ..TCP
    };
    let mut records = Vec::new();
    for (design, packets) in [(TCP, 0), (repflow, packets)] {
        for seed in 1..=6 {
            let mut record = run(design, Some(0.5), seed, 2_000);
            record.load_only = record.flows[..500].to_vec();
            record.totals.sent.packets += packets;
            record.totals.sent.bytes += packets * 1_500;
            records.push(record);
        }
    }
    answer(&measured(&records, "0s", "end"))
}

#[test]
fn later_flows_of_a_design_are_no_price_of_its_flows() {
    let text = answer_with_later_flows(0);
    assert!(text.contains(" bytes. Load only: "), "{text}");
    assert_eq!(answer_with_later_flows(1_000_000), text);
}
