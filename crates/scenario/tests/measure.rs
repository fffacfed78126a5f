//! The measured part of a run: `[measure]`.

use tailcut_record::RunRecord;
use tailcut_scenario::{Location, Scenario, Study};
use tailcut_sim::{Unattended, run};
use tailcut_units::Time;

fn study(measure: &str) -> Result<Study, String> {
    let text = format!("designs = [\"tcp\"]\n[measure]\n{measure}\n");
    let scenario = Scenario::from_text(&text).map_err(|error| error.to_string())?;
    Study::of(&scenario).map_err(|error| error.to_string())
}

#[test]
fn the_answer_finds_the_end_of_the_warm_up_unless_a_time_or_a_share_is_given() {
    let usual = study("").expect("a study");
    assert_eq!(usual.config["measure"]["from"], "auto");
    assert_eq!(usual.config["measure"]["until"], "end");
    for bound in ["0s", "10ms", "0%", "12.5%"] {
        let given = study(&format!("from = \"{bound}\"")).expect(bound);
        assert_eq!(given.config["measure"]["from"], bound);
    }
}

#[test]
fn the_measured_part_changes_no_run() {
    let runs = |measure: &str| format!("{:?}", study(measure).expect("a study").runs);
    assert_eq!(runs(""), runs("from = \"20%\"\nuntil = \"80%\""));
}

#[test]
fn an_error_names_the_bound_and_the_allowed_values() {
    for (measure, found) in [
        ("from = \"soon\"", "measure.from: found \"soon\""),
        ("from = \"120%\"", "measure.from: found \"120%\""),
        ("from = \"100%\"", "measure.from: found \"100%\""),
        ("until = \"0%\"", "measure.until: found \"0%\""),
        ("until = \"0s\"", "measure.until: found \"0s\""),
        ("from = \"end\"", "measure.from: found \"end\""),
        ("until = \"auto\"", "measure.until: found \"auto\""),
        (
            "from = \"2ms\"\nuntil = \"1ms\"",
            "measure.until: found 1ms",
        ),
        (
            "from = \"50%\"\nuntil = \"50%\"",
            "measure.until: found 50%",
        ),
    ] {
        let error = study(measure).expect_err(measure);
        assert!(error.contains(found), "{error}");
        assert!(error.contains("allowed: "), "{error}");
    }
}

#[test]
fn a_study_has_one_measured_part() {
    let mut scenario = Scenario::from_text("designs = [\"tcp\"]\n").expect("a scenario");
    let place = Location::flag("--set");
    let swept = scenario
        .set("measure.from", "10%,20%", &place)
        .map_err(|error| error.to_string())
        .and_then(|()| Study::of(&scenario).map_err(|error| error.to_string()));
    assert!(swept.is_err());
}

const BOTH: &str = r#"
designs = ["dctcp"]
loads = 0.3
flows = 300
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
[[workload]]
sizes = "websearch"
"#;

fn first_run(text: &str) -> RunRecord {
    let scenario = Scenario::from_text(text).expect("a scenario");
    let study = Study::of(&scenario).expect("a study");
    run(&study.runs[0], &Unattended).expect("a run")
}

fn with_load_that_goes_on(text: &str) -> RunRecord {
    first_run(&text.replace("[topology]", "[measure]\ncontinue_load = true\n[topology]"))
}

#[test]
fn load_that_goes_on_slows_the_last_flows_and_changes_no_others() {
    let stopped = first_run(BOTH);
    let continued = with_load_that_goes_on(BOTH);
    assert_eq!(stopped.flows.len(), continued.flows.len());
    let mut same = 0;
    let mut slower = 0;
    for (before, after) in stopped.flows.iter().zip(&continued.flows) {
        // The recorded flows are the same. Only their completion times differ.
        assert_eq!(
            (before.start, before.src, before.dst),
            (after.start, after.src, after.dst)
        );
        assert_eq!(before.bytes, after.bytes);
        assert!(after.fct.is_some());
        let last_start = stopped.flows.last().expect("flows").start;
        let ends_before = before
            .fct
            .is_some_and(|fct| before.start + fct < last_start);
        if ends_before {
            assert_eq!(before.fct, after.fct, "{before:?}");
            same += 1;
        }
        slower += u32::from(after.fct > before.fct);
    }
    assert!(same > 200, "{same}");
    assert!(slower > 5, "{slower}");
    // The run ends with the last recorded flow.
    let last_end = continued
        .flows
        .iter()
        .filter_map(|flow| Some(flow.start + flow.fct?))
        .max();
    let end = Some(continued.totals.simulated);
    assert!(
        end.is_some_and(|end| Time::ZERO + end >= last_end.expect("flows")),
        "{end:?}"
    );
    assert!(continued.totals.sent.packets > stopped.totals.sent.packets);
}

#[test]
fn flows_that_only_carry_load_have_rows_of_their_own_and_count_in_no_figure() {
    let record = with_load_that_goes_on(BOTH);
    let (last, later) = (record.flows.last().expect("flows"), &record.load_only);
    assert!(later.len() > 20, "{}", later.len());
    for (flow, number) in later.iter().zip(300..) {
        assert_eq!(flow.flow.0, number);
        assert!(flow.start > last.start, "{flow:?}");
        assert!(flow.fct.is_none_or(|fct| fct >= flow.ideal_fct), "{flow:?}");
    }
    let ended = later.iter().filter(|flow| flow.fct.is_some());
    assert!(ended.clone().count() > later.len() / 2);
    assert!(ended.clone().all(|flow| flow.payload_sent >= flow.bytes));
    let mut without = record.clone();
    without.load_only.clear();
    assert_eq!(record.hash(), without.hash());
    let summary = record.summary();
    assert_eq!(summary.load_only, Some(later.len() as u64));
    let mut comparable = without.summary();
    comparable.load_only = summary.load_only;
    assert_eq!(comparable, summary);
}

#[test]
fn flows_that_only_carry_load_draw_their_replication_as_the_others_do() {
    let record = with_load_that_goes_on(&BOTH.replace("dctcp", "mixed"));
    let class = |number: u8| record.classes[usize::from(number)].as_str();
    let mice = record
        .load_only
        .iter()
        .filter(|flow| flow.bytes.0 < 100_000);
    let mut methods: Vec<&str> = mice.map(|flow| class(flow.class)).collect();
    methods.sort_unstable();
    methods.dedup();
    let drawn = ["foreground/repflow", "foreground/repsyn", "foreground/tcp"];
    assert_eq!(methods, drawn);
}

#[test]
fn load_goes_on_only_where_flows_arrive_at_random() {
    let text =
        "designs = [\"tcp\"]\n[measure]\ncontinue_load = true\n[[workload]]\nkind = \"burst\"\n";
    let scenario = Scenario::from_text(text).expect("a scenario");
    let error = Study::of(&scenario).expect_err("a burst").to_string();
    assert!(
        error.contains("measure.continue_load: found true"),
        "{error}"
    );
}
