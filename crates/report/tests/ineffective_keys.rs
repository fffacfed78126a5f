//! The answer names each swept key that has no effect on a design.

mod synthetic;

use synthetic::{Behaviour, TCP, run, study};
use tailcut_record::{Parameter, ParameterValue, RunRecord};
use tailcut_report::{Study, html, text_answer};

const DESIGNS: [Behaviour; 2] = [TCP, Behaviour { name: "ndp", ..TCP }];

/// Returns two designs over two swept keys and two seeds.
/// Only the second key has an effect, and only on the second design: this design is slower with each further value.
fn swept() -> Study {
    let parameter = |key: &str, value| Parameter {
        key: key.to_owned(),
        value: ParameterValue::Integer(value),
        unit: None,
    };
    let mut records: Vec<RunRecord> = Vec::new();
    for seed in 1..=2 {
        for (spines, window) in [(2, 1), (2, 2), (4, 1), (4, 2)] {
            for (place, design) in DESIGNS.into_iter().enumerate() {
                let mut design = design;
                if place == 1 {
                    design.mice_delay *= window as f64;
                }
                let mut record = run(design, Some(0.5), seed, 200);
                let parameters = [("topology.spines", spines), ("ndp.initial_window", window)];
                record.key.parameters = parameters
                    .map(|(key, value)| parameter(key, value))
                    .to_vec();
                records.push(record);
            }
        }
    }
    study(&records)
}

#[test]
fn the_answer_names_the_designs_that_a_swept_key_changes_nothing_for() {
    let study = swept();
    let [first, second] = [DESIGNS[0].name, DESIGNS[1].name];
    let answer = text_answer(&study);
    for sentence in [
        format!("No effect: topology.spines does not change any result of {first} and {second}."),
        format!("No effect: ndp.initial_window does not change any result of {first}."),
    ] {
        assert!(answer.contains(&sentence), "{answer}");
        assert!(html(&study).contains(&sentence), "in the report");
    }
}

#[test]
fn one_value_of_a_key_tells_nothing() {
    let mut record = run(DESIGNS[0], Some(0.5), 1, 200);
    record.key.parameters = vec![Parameter {
        key: "queue.limit".to_owned(),
        value: ParameterValue::Integer(7),
        unit: None,
    }];
    assert!(!text_answer(&study(&[record])).contains("No effect"));
}
