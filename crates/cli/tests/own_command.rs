//! Tests of the example of a custom program. The names that it adds work wherever designs and workloads are named.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the path of the example, which Cargo builds with the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let built = test.ancestors().nth(2).expect("the build's folder");
    let name = format!("own_command{}", std::env::consts::EXE_SUFFIX);
    let example = built.join("examples").join(name);
    assert!(
        example.exists(),
        "{} is missing: `cargo test` builds it, `cargo test --test` does not",
        example.display()
    );
    example
}

fn own(arguments: &[&str], folder: &Path) -> Output {
    std::fs::create_dir_all(folder).expect("a folder");
    let command = Command::new(example())
        .args(arguments)
        .current_dir(folder)
        .output();
    command.expect("the example runs")
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn names_of_ones_own_stand_among_the_built_in_ones() {
    let list = own(&["list", "designs"], &folder("own-list"));
    let text = String::from_utf8(list.stdout).expect("text");
    for line in ["gentle ", "least-queued ", "dctcp "] {
        assert!(
            text.lines()
                .any(|found| found.trim_start().starts_with(line)),
            "{line}:\n{text}"
        );
    }
    let list = own(&["list", "workloads"], &folder("own-list"));
    assert!(String::from_utf8_lossy(&list.stdout).contains("application:heartbeat"));
}

#[test]
fn designs_of_ones_own_are_compared_and_drawn() {
    let folder = folder("own-compare");
    let mut arguments = vec!["compare", "dctcp", "gentle@least-queued", "repflow+gentle"];
    arguments.extend(["--flows", "20", "--seeds", "2", "--out", "study", "--fresh"]);
    let compared = own(&arguments, &folder);
    assert!(
        compared.status.success(),
        "{}",
        String::from_utf8_lossy(&compared.stderr)
    );
    let report = std::fs::read_to_string(folder.join("study/report.html")).expect("a report");
    for design in ["gentle@least-queued", "repflow+gentle"] {
        assert!(report.contains(design), "{design} is not in the report");
    }
}

#[test]
fn an_application_of_ones_own_is_a_workload_in_a_scenario() {
    let folder = folder("own-scenario");
    std::fs::create_dir_all(&folder).expect("a folder");
    let scenario = "designs = [\"tcp\", \"ndp\"]\nseeds = 1\nduration = \"3ms\"\n\
                    [[workload]]\nkind = \"application\"\napplication = \"heartbeat\"\n";
    std::fs::write(folder.join("beat.toml"), scenario).expect("a scenario");
    let run = own(
        &["run", "beat.toml", "--out", "beat", "--json", "--fresh"],
        &folder,
    );
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );

    let unknown = scenario.replace("heartbeat", "heartbeet");
    std::fs::write(folder.join("wrong.toml"), unknown).expect("a scenario");
    let refused = own(&["run", "wrong.toml", "--out", "wrong"], &folder);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && error.contains("one of heartbeat"),
        "{error}"
    );
}
