//! A network that is offered more than it can carry has no gain.

mod synthetic;

use synthetic::{Behaviour, TCP, run, study};
use tailcut_record::{LinkLoad, OfferedLoad, RunRecord, TierLoad};
use tailcut_report::{Study, answer, html, json, text_table};

const REPFLOW: Behaviour = Behaviour {
    name: "repflow",
    mice_delay: 0.6,
    bytes: 1.064,
    ..TCP
};

fn tier(tier: &str, load: f64) -> TierLoad {
    TierLoad {
        tier: tier.to_owned(),
        load,
        in_proportion: load,
    }
}

/// Returns a study at the given loads. The load of the leaf uplinks is `times` the load of the hosts.
fn offered(loads: &[f64], times: f64, change: impl Fn(&mut RunRecord)) -> Study {
    let mut runs = Vec::new();
    for &load in loads {
        for design in [TCP, REPFLOW] {
            for seed in 1..=6 {
                let mut record = run(design, Some(load), seed, 4_000);
                record.offered = Some(OfferedLoad {
                    tiers: vec![
                        tier("host uplinks", load),
                        tier("leaf uplinks", load * times),
                    ],
                    busiest: None,
                    exempt: Vec::new(),
                });
                change(&mut record);
                runs.push(record);
            }
        }
    }
    study(&runs)
}

#[test]
fn an_overloaded_tier_is_named_with_the_load_at_which_it_would_not_be() {
    let study = offered(&[0.5], 3.0, |_| ());
    let answer = answer(&study);
    assert!(
        answer.starts_with("Overload at load 0.5: the leaf uplinks are offered 150 %"),
        "{answer}"
    );
    assert!(answer.contains("Try --load 0.33."), "{answer}");
    assert!(!answer.contains("cuts"), "{answer}");
    let tables = text_table(&study);
    assert!(tables.matches("vs tcp").count() == 1, "{tables}");
    assert!(tables.contains("mice p99"), "{tables}");
    assert!(!html(&study).contains("cuts the p99"));
}

#[test]
fn a_load_that_the_links_can_carry_is_told_beside_the_gain() {
    let study = offered(&[0.3], 3.0, |_| ());
    let answer = answer(&study);
    assert!(
        answer.starts_with("repflow cuts the p99 of mice by "),
        "{answer}"
    );
    assert!(
        answer.contains("Offered load: host uplinks 30 % and leaf uplinks 90 %."),
        "{answer}"
    );
    let page = html(&study);
    assert!(page.contains("Offered load") && page.contains("growth of unfinished bytes"));
    let tables = &json(&study)["tables"];
    let load = tables.as_array().expect("tables").iter();
    let load = load
        .filter(|table| table["id"] == "load")
        .collect::<Vec<_>>();
    assert_eq!(load[0]["rows"][0]["leaf uplinks"], 0.3 * 3.0);
}

#[test]
fn of_a_sweep_the_overloaded_loads_have_no_gains() {
    let study = offered(&[0.2, 0.3, 0.7], 2.0, |_| ());
    let answer = answer(&study);
    // 0.7 is the load nearest to 0.5.
    assert!(answer.starts_with("Overload at load 0.7: "), "{answer}");
    let all = json(&study);
    let sweep = &all["tables"][1];
    assert_eq!(sweep["id"], "settings");
    let change = |row: usize| &sweep["rows"][row]["p99 vs tcp"];
    assert!(
        change(1)["value"].is_number() && change(5).is_null(),
        "{sweep}"
    );
}

#[test]
fn a_single_link_above_what_it_carries_is_a_warning_only() {
    let study = offered(&[0.3], 1.0, |record| {
        let offered = record.offered.as_mut().expect("set before");
        offered.busiest = Some(LinkLoad {
            link: "s4>h8".to_owned(),
            load: 1.4,
        });
    });
    let answer = answer(&study);
    assert!(answer.starts_with("repflow cuts"), "{answer}");
    assert!(
        answer.contains("Hot spot: the link s4>h8 is offered 140 % of its capacity."),
        "{answer}"
    );
}

#[test]
fn load_that_goes_on_warns_where_a_link_carries_all_it_can() {
    let answer_at = |times: f64, continues: bool| {
        let offered = offered(&[0.5], times, |_| ());
        let mut manifest = offered.manifest().clone();
        manifest.config["measure"] = serde_json::json!({ "continue_load": continues });
        answer(&Study::new(manifest, offered.runs().to_vec()))
    };
    let expected = |percent: u32| {
        format!(
            "Warning: measure.continue_load is true, and the leaf uplinks are offered {percent} % of the capacity"
        )
    };
    for (times, percent) in [(2.0, 100), (3.0, 150)] {
        let answer = answer_at(times, true);
        assert!(answer.contains(&expected(percent)), "{answer}");
        assert!(!answer_at(times, false).contains("continue_load"));
    }
    assert!(!answer_at(1.9, true).contains("continue_load"));
}

#[test]
fn growth_of_what_is_unfinished_is_told_where_it_is_large_but_refuses_nothing() {
    let steady = offered(&[0.3], 1.0, |_| ());
    let answer_of = answer(&steady);
    assert!(!answer_of.contains("Backlog"), "{answer_of}");
    let growing = offered(&[0.3], 1.0, |record| {
        let end = record.flows.last().expect("flows").start;
        for flow in record.flows.iter_mut().filter(|flow| flow.flow.0 % 2 == 0) {
            flow.fct = Some(end.since(flow.start));
        }
    });
    let answer_of = answer(&growing);
    let expected = "Backlog: unfinished bytes grow by +";
    assert!(answer_of.contains(expected), "{answer_of}");
    assert!(!answer_of.contains("Overload"), "{answer_of}");
}

#[test]
fn loops_bursts_and_traces_say_that_no_load_is_told_of_them() {
    let study = offered(&[0.3], 1.0, |record| {
        record.offered = Some(OfferedLoad {
            exempt: vec!["closed".to_owned(), "trace".to_owned()],
            ..OfferedLoad::default()
        });
    });
    let answer = answer(&study);
    assert!(
        answer.contains(
            "No offered load is known for a closed loop (it waits for the network) and a trace (its flows are fixed)."
        ),
        "{answer}"
    );
    assert!(!answer.contains("unfinished bytes"), "{answer}");
}

#[test]
fn runs_of_earlier_versions_say_nothing_of_it() {
    let study = offered(&[0.5], 3.0, |record| record.offered = None);
    let answer = answer(&study);
    assert!(answer.starts_with("repflow cuts"), "{answer}");
    assert!(!answer.contains("Offered load"), "{answer}");
}
