//! The answer agrees with the flows, and shows its uncertainty.

mod synthetic;

use synthetic::{Behaviour, TCP, compare, manifest, run, study};
use tailcut_record::{RunKey, RunRecord, RunState, SessionRecord};
use tailcut_report::{Run, Study, answer, html, json, text_table};
use tailcut_units::{Bytes, Duration, HostId};

const REPFLOW: Behaviour = Behaviour {
    name: "repflow",
    mice_delay: 0.6,
    bytes: 1.064,
    ..TCP
};

/// Returns the first sentence.
fn first(answer: &str) -> &str {
    answer.split_inclusive(". ").next().unwrap_or(answer).trim()
}

/// Returns the numbers in a sentence, in order.
fn numbers(sentence: &str) -> Vec<f64> {
    sentence
        .split(|c: char| !c.is_ascii_digit() && c != '.' && c != '−')
        .filter_map(|word| word.trim_end_matches('.').replace('−', "-").parse().ok())
        .collect()
}

#[test]
fn a_better_design_is_named_with_its_gain_interval_and_price() {
    for seeds in [6, 12] {
        let study = compare(&[TCP, REPFLOW], &[0.5], seeds, 5_000);
        let answer = answer(&study);
        let sentence = first(&answer);
        assert!(
            sentence.starts_with("repflow cuts the p99 of mice by "),
            "{sentence}"
        );
        assert!(
            sentence.ends_with(" at load 0.5, for 1.3 % more bytes."),
            "{sentence}"
        );
        let found = numbers(sentence);
        let [_p99, gain, _ci, low, high, ..] = found[..] else {
            panic!("{sentence}: {found:?}");
        };
        assert!(low <= gain && gain <= high, "{sentence}");
        // The delay is reduced by 40 %. A mouse's completion time contains about 20 us in addition to the delay.
        assert!((33.0..41.0).contains(&gain), "{sentence}");
    }
}

#[test]
fn the_interval_covers_the_true_gain_about_as_often_as_it_says() {
    // With many flows, the gain converges to a known value. 19 of 20 intervals should contain it.
    let ratio = |study: &Study| json(study)["tables"][0]["rows"][1]["vs tcp"].clone();
    let limit = ratio(&compare(&[TCP, REPFLOW], &[0.5], 6, 70_000))["value"]
        .as_f64()
        .unwrap();
    let sets = 60;
    let covered = (0..sets)
        .filter(|set| {
            let seeds = 100 + 6 * set..106 + 6 * set;
            let both = |seed| [TCP, REPFLOW].map(|design| run(design, Some(0.5), seed, 1_000));
            let runs: Vec<RunRecord> = seeds.flat_map(both).collect();
            let interval = &ratio(&study(&runs))["interval"];
            let end = |index: usize| interval[index].as_f64().unwrap();
            (end(0)..=end(1)).contains(&limit)
        })
        .count();
    assert!(covered >= 54, "{covered} of {sets} intervals cover {limit}");
}

#[test]
fn more_seeds_do_not_narrow_the_interval_around_another_value() {
    // In a third of the seeds, 3 % of the mice wait for a timeout. In two thirds of the seeds, no mice wait.
    // The p99 of each seed is therefore one of two values.
    // The p99 of all flows, of which 1 % wait, is not the mean of the two values of single seeds.
    let flows = |seed: u64| {
        let mut record = run(TCP, Some(0.5), seed, 4_000);
        let mice = record
            .flows
            .iter_mut()
            .filter(|flow| flow.bytes.0 < 100_000);
        for (number, mouse) in mice.enumerate() {
            if seed.is_multiple_of(3) && number.is_multiple_of(33) {
                mouse.fct = Some(Duration::from_ms(10));
            }
        }
        record
    };
    for seeds in [6, 12, 24] {
        let runs: Vec<RunRecord> = (1..=seeds).map(flows).collect();
        let p99 = json(&study(&runs))["tables"][0]["rows"][0]["mice p99"].clone();
        let (low, high) = (p99["interval"][0].as_f64(), p99["interval"][1].as_f64());
        assert!(
            low < Some(1_000.0) && high == Some(10_000.0),
            "{seeds} seeds: {p99}"
        );
        assert!(
            p99["gap"]["to"].as_f64() > Some(5_000.0),
            "{seeds} seeds: {p99}"
        );
    }
}

#[test]
fn on_a_gap_the_share_of_mice_beyond_it_is_said() {
    // About 1.5 % of the mice wait for a timeout with TCP and 1 % with RepFlow.
    let waiting = |design: Behaviour, seed: u64, one_in: usize| {
        let mut record = run(design, Some(0.5), seed, 4_000);
        let mice = record
            .flows
            .iter_mut()
            .filter(|flow| flow.bytes.0 < 100_000);
        let offset = seed as usize * 7;
        for (number, mouse) in mice.enumerate() {
            if (number + offset).is_multiple_of(one_in) {
                mouse.fct = Some(Duration::from_ms(10));
            }
        }
        record
    };
    let both = |seed| {
        let one_in = 75 + 10 * (seed as usize % 6);
        [
            waiting(TCP, seed, one_in * 2 / 3),
            waiting(REPFLOW, seed, one_in),
        ]
    };
    let runs: Vec<RunRecord> = (1..=6).flat_map(both).collect();
    let study = study(&runs);
    let answer = answer(&study);
    assert!(answer.contains("Gap: with repflow ("), "{answer}");
    let share = "More stable: 1.5 % of mice take longer than 2 ms with tcp, 1.0 % with repflow \
                 (−0.5 points, 95 % CI −0.6 to −0.4).";
    assert!(answer.contains(share), "{answer}");
    assert!(text_table(&study).contains("‡"), "{}", text_table(&study));
}

#[test]
fn the_best_of_many_equal_designs_is_not_called_better() {
    // A single comparison is wrong in one case of twenty. All eight comparisons together must not be wrong more often.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut wrong = 0;
    for trial in 0..12 {
        let mut runs = Vec::new();
        for seed in 1..=6 {
            runs.push(run(TCP, Some(0.5), seed + 1_000 * trial, 700));
            for (number, name) in (1..).zip(names) {
                let twin = Behaviour { name, ..TCP };
                let drawn = run(twin, Some(0.5), seed + 1_000 * trial + 50 * number, 700);
                let mut record = drawn;
                record.key.seed = seed + 1_000 * trial;
                runs.push(record);
            }
        }
        let answer = answer(&study(&runs));
        wrong += u32::from(!answer.starts_with("No design cuts"));
    }
    assert!(
        wrong <= 2,
        "in {wrong} of 12 studies of equal designs, one design is better"
    );
}

#[test]
fn equal_designs_are_not_called_different() {
    for seeds in [6, 9] {
        let twin = Behaviour {
            name: "twin",
            ..TCP
        };
        // The design "twin" gets the random values of other seeds: the same distribution, but other numbers.
        let mut runs = Vec::new();
        for seed in 1..=seeds {
            runs.push(run(TCP, Some(0.5), seed, 10_000));
        }
        for seed in 1..=seeds {
            let mut record = run(twin, Some(0.5), seed + 50, 10_000);
            record.key.seed = seed;
            runs.push(record);
        }
        let answer = answer(&study(&runs));
        assert!(
            answer.starts_with("No design cuts the p99 of mice against tcp at load 0.5 significantly: with twin, the change is between "),
            "{answer}"
        );
        assert!(answer.contains(" (95 % CI)."), "{answer}");
    }
}

#[test]
fn a_worse_design_is_said_to_be_worse() {
    let worse = Behaviour {
        name: "dctcp@spray",
        mice_delay: 1.5,
        ..TCP
    };
    let answer = answer(&compare(&[TCP, worse], &[0.5], 6, 7_000));
    assert!(
        answer.starts_with("dctcp@spray raises the p99 of mice by "),
        "{answer}"
    );
}

#[test]
fn replication_is_also_judged_against_its_own_transport() {
    let dctcp = Behaviour {
        name: "dctcp",
        mice_delay: 0.5,
        ..TCP
    };
    let both = Behaviour {
        name: "repflow+dctcp",
        mice_delay: 0.4,
        bytes: 1.06,
        ..TCP
    };
    let answer = answer(&compare(&[TCP, dctcp, both], &[0.5], 6, 7_000));
    assert!(
        answer.starts_with("repflow+dctcp cuts the p99 of mice by "),
        "{answer}"
    );
    assert!(
        answer.contains("Also better than tcp: dctcp by "),
        "{answer}"
    );
    assert!(
        answer.contains("Compared with their own transports: repflow+dctcp cuts it by "),
        "{answer}"
    );
}

#[test]
fn the_load_nearest_one_half_is_the_headline_and_the_others_follow() {
    let study = compare(&[TCP, REPFLOW], &[0.8, 0.4, 0.2], 6, 2_500);
    let answer = answer(&study);
    assert!(first(&answer).contains(" at load 0.4"), "{answer}");
    assert!(
        answer.contains("From load 0.2 to 0.8 repflow changes it by between "),
        "{answer}"
    );
}

#[test]
fn unfinished_flows_are_counted_as_slowest_and_said() {
    let stuck = Behaviour {
        name: "stuck",
        // One flow in twenty never ends. The finished flows alone are faster, and would make the design look better.
        mice_delay: 0.5,
        unfinished_one_in: 20,
        ..TCP
    };
    let study = compare(&[TCP, stuck], &[0.5], 6, 2_000);
    let answer = answer(&study);
    assert!(!answer.contains("stuck cuts"), "{answer}");
    assert!(
        answer.starts_with("No result for the p99 of mice"),
        "{answer}"
    );
    assert!(
        answer.contains("Unfinished, and counted as the slowest: "),
        "{answer}"
    );
    let text = text_table(&study);
    assert!(text.contains("unfinished"), "{text}");
    let tables = json(&study);
    let unfinished = tables["tables"].as_array().unwrap().iter();
    let table = unfinished.clone().find(|table| table["id"] == "unfinished");
    let rows = table.expect("a table of unfinished flows")["rows"]
        .as_array()
        .unwrap();
    let mice = rows
        .iter()
        .find(|row| row["flows of"] == "mice (< 100 KB)")
        .unwrap();
    assert!(mice["p99 of the finished ones"].as_f64().unwrap() > 0.0);
}

#[test]
fn one_design_alone_is_reported_without_a_comparison() {
    let answer = answer(&compare(&[TCP], &[0.5], 6, 1_000));
    assert!(answer.starts_with("tcp: the p99 of mice is "), "{answer}");
    assert!(answer.contains("no other design"), "{answer}");
    let text = text_table(&compare(&[TCP], &[0.5], 6, 1_000));
    assert!(!text.contains("vs tcp"), "{text}");
}

#[test]
fn too_few_flows_or_seeds_for_a_percentile_make_no_claim_and_say_what_would_do() {
    for (seeds, flows, why, cell) in [
        (
            6,
            100,
            "6 seeds were run, with 3 flows beyond the percentile; it needs 6 seeds and ten flows beyond \
             it, and 19 seeds of this size are enough.",
            "too few: 19 seeds",
        ),
        (
            3,
            5_000,
            "3 seeds were run, and a percentile needs 6.",
            "too few: 6 seeds",
        ),
        (
            1,
            5_000,
            "1 seed was run, and a percentile needs 6.",
            "too few: 6 seeds",
        ),
    ] {
        let study = compare(&[TCP, REPFLOW], &[0.5], seeds, flows);
        let answer = answer(&study);
        let said = format!("No result for the p99 of mice at load 0.5: {why}");
        assert!(answer.starts_with(&said), "{answer}");
        // A mean needs three seeds.
        let mean = "repflow has no p99 of mice; it cuts their mean by ";
        assert_eq!(answer.contains(mean), seeds >= 3, "{answer}");
        let text = text_table(&study);
        assert!(text.contains(cell) && text.contains("Too few"), "{text}");
    }
}

#[test]
fn the_interval_of_a_mean_does_not_reach_below_zero() {
    let mut records: Vec<_> = (1..=3).map(|seed| run(TCP, Some(0.5), seed, 500)).collect();
    for flow in &mut records[2].flows {
        flow.fct = flow.fct.map(|fct| fct * 200);
    }
    let table = json(&study(&records));
    let interval = &table["tables"][1]["rows"][0]["mean"]["interval"];
    assert_eq!(interval[0], 0.0, "{table}");
}

#[test]
fn a_design_that_is_nearly_all_gain_is_not_rounded_to_all() {
    let fast = Behaviour {
        name: "fast",
        mice_delay: 0.0,
        ..TCP
    };
    let both = |seed| {
        let mut slow = run(TCP, Some(0.5), seed, 1_000);
        for flow in &mut slow.flows {
            flow.fct = flow.fct.map(|fct| fct * 10_000);
        }
        [slow, run(fast, Some(0.5), seed, 1_000)]
    };
    let runs: Vec<RunRecord> = (1..=6).flat_map(both).collect();
    let answer = answer(&study(&runs));
    assert!(
        answer.starts_with("fast cuts the p99 of mice by 99.9 % "),
        "{answer}"
    );
}

#[test]
fn a_study_without_a_finished_run_says_so() {
    let key = RunKey {
        design: "tcp".to_owned(),
        topology: "leaf-spine".to_owned(),
        workload: "trace".to_owned(),
        load: None,
        seed: 1,
        ..RunKey::default()
    };
    let mut manifest = manifest(vec![key]);
    manifest.runs[0].state = RunState::Interrupted;
    let study = Study::new(manifest, Vec::new());
    assert_eq!(answer(&study), "None of the 1 planned runs has finished.");
    assert_eq!(text_table(&study).trim(), "");
}

#[test]
fn runs_that_did_not_finish_are_said_to_be_missing() {
    let records = [
        run(TCP, Some(0.5), 1, 5_000),
        run(REPFLOW, Some(0.5), 1, 5_000),
    ];
    let mut keys: Vec<RunKey> = records.iter().map(|run| run.key.clone()).collect();
    keys.push(RunKey {
        seed: 2,
        ..keys[0].clone()
    });
    let mut manifest = manifest(keys);
    manifest.runs[2].state = RunState::Interrupted;
    let study = Study::new(manifest, records.iter().map(Run::from).collect());
    let answer = answer(&study);
    assert!(
        answer.contains("Missing runs: 1 of the 3 planned runs did not finish."),
        "{answer}"
    );
}

#[test]
fn a_trace_has_no_load_and_may_have_no_mice() {
    let mut records = [run(TCP, None, 1, 2_000), run(REPFLOW, None, 1, 2_000)];
    for record in &mut records {
        record.flows.retain(|flow| flow.bytes.0 >= 100_000);
    }
    let answer = answer(&study(&records));
    assert!(answer.contains("the p99 of all flows"), "{answer}");
    assert!(!answer.contains("at load"), "{answer}");
}

#[test]
fn every_topology_is_compared_within_itself() {
    let elsewhere = |mut record: RunRecord| {
        record.key.topology = "leaf-spine".to_owned();
        record
    };
    // On the second topology, the same design is slower than TCP.
    let slower = Behaviour {
        mice_delay: 1.6,
        ..REPFLOW
    };
    let mut runs = Vec::new();
    for seed in 1..=6 {
        runs.push(run(TCP, Some(0.5), seed, 4_000));
        runs.push(run(REPFLOW, Some(0.5), seed, 4_000));
        for load in [0.3, 0.6] {
            runs.push(elsewhere(run(TCP, Some(load), seed, 4_000)));
            runs.push(elsewhere(run(slower, Some(load), seed, 4_000)));
        }
    }
    let study = study(&runs);
    let answer = answer(&study);
    assert!(
        first(&answer)
            .ends_with(" at load 0.5 on fat-tree k=8 with websearch, for 1.3 % more bytes."),
        "{answer}"
    );
    let other = " against tcp at load 0.6 on leaf-spine with websearch.";
    assert!(answer.contains(other), "{answer}");

    let all = json(&study);
    let ids: Vec<&str> = all["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .map(|table| table["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids[..3], ["headline", "headline-2", "settings-2"]);

    let page = html(&study);
    let sections: Vec<usize> = ["fat-tree k=8, websearch</h2>", "leaf-spine, websearch</h2>"]
        .iter()
        .map(|title| page.find(title).expect("a section a topology"))
        .collect();
    let plot = |id: &str| page.find(&format!("<figure id=\"{id}\"")).expect("a plot");
    assert!(sections[0] < plot("mice-p99-by-design") && plot("mice-p99-by-design") < sections[1]);
    assert!(sections[1] < plot("mice-p99-by-design-2"));
    assert!(
        sections[1] < plot("load-1-mice-p99"),
        "lines over its own loads"
    );
    let drawings = ["network-0", "network-2"].map(|id| page.find(&format!("id=\"{id}\"")));
    assert!(
        drawings[0] < Some(sections[1]) && Some(sections[1]) < drawings[1],
        "{drawings:?}"
    );
}

#[test]
fn storage_is_answered_by_sessions_until_their_last_replica_and_not_by_the_flows_that_carry_them() {
    // A chain of two replicas takes twice as long as one transfer to both, although each flow of the chain is as fast.
    let record = |design, second_ms: u64, seed| {
        let behaviour = Behaviour {
            name: design,
            ..TCP
        };
        let mut record = run(behaviour, Some(0.5), seed, 500);
        let rows = (0..500).flat_map(|session| {
            [(1, 10), (2, second_ms)].map(|(receiver, ms)| SessionRecord {
                session,
                receiver: HostId(receiver),
                bytes: Bytes(1_000_000),
                completion: Some(Duration::from_ms(ms)),
                ..SessionRecord::default()
            })
        });
        record.sessions = rows.collect();
        record
    };
    let both = |seed| [record("tcp", 20, seed), record("group", 10, seed)];
    let runs: Vec<RunRecord> = (1..=6).flat_map(both).collect();
    let study = study(&runs);
    let answer = answer(&study);
    assert!(
        answer.contains("group cuts the p99 of writes by 50"),
        "{answer}"
    );
    let text = text_table(&study);
    assert!(text.contains("Writes"), "{text}");
    assert!(text.contains("20.0 ms"), "{text}");
}
