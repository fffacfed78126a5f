//! Tests of the script: its exact text, and its parts.

use super::*;
use crate::plan::{Draft, Program};

fn chunk(places: &[usize], cpu_seconds: Option<f64>) -> Chunk {
    Chunk {
        places: places.to_vec(),
        cpu_seconds,
    }
}

/// Returns the script for a study in directory `dir`, with `PLACE` instead of the temporary path.
fn script(dir: &str, change: impl FnOnce(&mut Array<'_>)) -> Result<String, Error> {
    let chunks = [
        chunk(&[0, 1, 2, 7], Some(75.0)),
        chunk(&[9, 10], Some(120.0)),
    ];
    script_of(dir, &chunks, change)
}

fn script_of(
    dir: &str,
    chunks: &[Chunk],
    change: impl FnOnce(&mut Array<'_>),
) -> Result<String, Error> {
    let place = tempfile::tempdir().expect("a directory");
    let text = r#"
        designs = ["tcp"]
        loads = 0.3
        flows = 5
        [topology]
        kind = "single-switch"
        hosts = 2
        [[workload]]
        sizes = "fixed:20KB"
    "#;
    let scenario = tailcut_scenario::Scenario::from_text(text).expect("a scenario");
    let mut draft = Draft::of(&scenario, Program::default()).expect("a plan");
    draft.plan.name = "two\nlines".to_owned();
    let (study, _) = StudyDir::write(place.path().join(dir), draft).expect("a study");
    let mut array = Array {
        study: &study,
        chunks,
        program: Path::new("/opt/my bin/tailcut"),
        flags: Vec::new(),
        time_limit: None,
        at_most: None,
    };
    change(&mut array);
    let name = place.path().to_str().expect("text");
    array.script().map(|script| script.replace(name, "PLACE"))
}

#[test]
fn the_script_is_an_array_with_a_chunk_for_each_job() {
    let expected = "\
#!/bin/bash
#SBATCH \"--job-name=two lines\"
#SBATCH --array=0-1
#SBATCH --output=PLACE/grid/jobs/%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --signal=B:TERM@30
#SBATCH --time=18

cases=(
    0..2,7
    9..10
)
exec '/opt/my bin/tailcut' case PLACE/grid \"${cases[$SLURM_ARRAY_TASK_ID]}\" \\
    --threads 1 --wait 90
";
    assert_eq!(script("grid", |_| {}).expect("a script"), expected);
}

#[test]
fn what_was_asked_for_is_in_the_script_and_comes_last() {
    let text = script("grid", |array| {
        array.at_most = Some(20);
        array.time_limit = Some("1-00:00");
        array.flags = ["--partition=short", "--comment", "a \"b\" \\c"]
            .map(str::to_owned)
            .to_vec();
    });
    let text = text.expect("a script");
    for line in [
        "#SBATCH --array=0-1%20",
        "#SBATCH --time=1-00:00",
        r#"#SBATCH --partition=short --comment "a \"b\" \\c""#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let last = text.lines().rfind(|line| line.starts_with("#SBATCH"));
    assert!(last.is_some_and(|line| line.contains("--partition")));
}

#[test]
fn paths_with_spaces_and_quotes_are_quoted_for_slurm_and_for_the_shell() {
    let text = script("it's \"me\" $x/grid", |_| {});
    let text = text.expect("a script");
    for said in [
        "#SBATCH \"--output=PLACE/it's \\\"me\\\" $x/grid/jobs/%A_%a.log\"\n",
        "exec '/opt/my bin/tailcut' case 'PLACE/it'\\''s \"me\" $x/grid' \"${cases[",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn what_a_script_cannot_hold_is_refused() {
    let refused = |dir: &str, change: fn(&mut Array<'_>)| {
        script(dir, change).expect_err("a refusal").to_string()
    };
    let percent = refused("100%", |_| {});
    let said =
        "found '%' in the path; allowed: any other character, because Slurm reads it as a pattern";
    assert!(percent.ends_with(said), "{percent}");
    assert!(refused("a\\b", |_| {}).contains("found '\\'"));
    assert!(refused("a\nb", |_| {}).contains("without control characters"));
    let flag = refused("grid", |array| array.flags = vec!["--x=a\nb".to_owned()]);
    assert!(flag.contains("flags without control characters"), "{flag}");
}

#[test]
fn a_job_has_no_limit_where_nobody_knows_how_long_it_takes() {
    let unknown = [chunk(&[0], Some(60.0)), chunk(&[1], None)];
    let text = script_of("grid", &unknown, |_| {}).expect("a script");
    assert!(!text.contains("--time="), "{text}");
}

#[test]
fn slurm_says_how_many_jobs_an_array_has_at_most() {
    let config = "MaxArraySize            = 1001\nMaxDBDMsgs              = 20008\n";
    assert_eq!(max_array_size(config), Some(1001));
    assert_eq!(max_array_size("MaxJobCount = 10000"), None);
    assert_eq!(max_array_size("MaxArraySize = 0"), None);
}
