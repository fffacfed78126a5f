//! Tests of all commands: each behaves as its help describes.

use crate::test_dir::{Ended, TestDir, compare};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

fn hashes(runs: &Value) -> Vec<&str> {
    let runs = runs.as_array().expect("a list of runs").iter();
    runs.map(|run| run["record_hash"].as_str().expect("a hash"))
        .collect()
}

#[test]
fn compare_answers_in_a_sentence_with_a_table_and_a_page() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&compare(&["tcp", "repflow"], &[]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let (answer, _) = ended.stdout.split_once("\n\n").expect("an answer");
    assert!(
        answer.contains("repflow") && answer.contains("p99"),
        "{answer}"
    );
    assert!(
        ended.stdout.contains("\ntcp ") && ended.stdout.contains("Report: out/compare/report.html")
    );
    let page =
        fs::read_to_string(test_dir.path().join("out/compare/report.html")).expect("the report");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("repflow"));
    assert!(
        ended.stderr.contains("[4/4]"),
        "a line a run: {}",
        ended.stderr
    );
}

#[test]
fn json_of_compare_has_an_object_a_run_with_the_promised_keys() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&compare(
        &["tcp", "dctcp"],
        &["--json", "--load", "0.2,0.4", "--seed", "7"],
    ));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let runs = ended.json();
    let of = |run: &Value| {
        let (design, load, seed) = (&run["design"], &run["load"], &run["seed"]);
        (
            design.as_str().unwrap().to_owned(),
            load.as_f64().unwrap(),
            seed.as_u64().unwrap(),
        )
    };
    let order: Vec<_> = runs.as_array().expect("a list").iter().map(of).collect();
    let mut expected = Vec::new();
    for seed in [7, 8] {
        for load in [0.2, 0.4] {
            for design in ["tcp", "dctcp"] {
                expected.push((design.to_owned(), load, seed));
            }
        }
    }
    assert_eq!(order, expected);
    let promised = [
        "design",
        "topology",
        "workload",
        "load",
        "seed",
        "flows",
        "unfinished",
        "packet_hops",
        "events",
        "cpu_seconds",
        "record_hash",
        "fct",
    ];
    let run = &runs[0];
    assert!(keys(run).is_superset(&BTreeSet::from(promised)), "{run}");
    assert!(keys(&run["fct"]).is_superset(&BTreeSet::from(["mice", "elephants", "all"])));
    let figures = BTreeSet::from(["n", "mean_us", "p50_us", "p99_us", "p999_us"]);
    assert!(
        keys(&run["fct"]["mice"]).is_superset(&figures),
        "{}",
        run["fct"]
    );
    assert_eq!(
        (&run["flows"], &run["fct"]["mice"]["n"]),
        (&300.into(), &300.into())
    );
    assert_eq!(run["topology"], "leaf-spine:hosts=3,leaves=2,spines=2");
    assert_eq!(run["workload"], "fixed:20KB");
}

#[test]
fn results_depend_on_the_seed_and_not_on_threads_engine_or_kind_of_port() {
    let test_dir = TestDir::new();
    let designs = ["tcp", "repflow+dctcp"];
    let hashes_with = |more: &[&str]| {
        let more = [&["--json", "--out", "here"], more].concat();
        let ended = test_dir.run(&compare(&designs, &more));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        hashes(&ended.json())
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let once = hashes_with(&["--threads", "1"]);
    assert_eq!(
        once.iter().collect::<BTreeSet<_>>().len(),
        4,
        "four different runs: {once:?}"
    );
    for same in [
        &["--threads", "3"][..],
        &["--set", "engine=heap"],
        &["--set", "port_events=two"],
        &["--set", "tables=csv"],
    ] {
        assert_eq!(hashes_with(same), once, "{same:?}");
    }
    assert_ne!(hashes_with(&["--seed", "2"]), once);
}

#[test]
fn run_takes_a_file_whose_trace_lies_beside_it() {
    let test_dir = TestDir::new();
    fs::create_dir(test_dir.path().join("deep")).expect("a directory");
    test_dir.file(
        "deep/flows.csv",
        "start_ns,src,dst,bytes,path\n0,0,3,1460,1\n2000.5,4,1,30000,\n",
    );
    test_dir.file(
        "deep/two flows.toml",
        "name = \"two\"\ndesigns = [\"tcp\"]\n[topology]\nleaves = 2\nspines = 2\nhosts = 3\n\
         [workload]\nkind = \"trace\"\nfile = \"flows.csv\"\n",
    );
    let ended = test_dir.run(&["run", "deep/two flows.toml", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let runs = ended.json();
    assert_eq!(
        (&runs[0]["flows"], &runs[0]["load"]),
        (&2.into(), &Value::Null)
    );
    assert_eq!(runs[0]["workload"], "trace:flows");
    assert!(test_dir.path().join("out/two/manifest.json").exists());
    let by_flag = test_dir.run(&[
        "compare",
        "tcp",
        "--workload",
        "trace:deep/flows.csv",
        "--topology",
        "leaf-spine:leaves=2,spines=2,hosts=3",
        "--seeds",
        "1",
        "--json",
    ]);
    assert_eq!(by_flag.code, Some(0), "{}", by_flag.stderr);
    assert_eq!(by_flag.json()[0]["flows"], 2);
}

#[test]
fn run_takes_the_name_of_a_built_in_scenario_and_flags_change_it() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&[
        "run", "dumbbell", "--flows", "5", "--load", "0.2", "--json", "--set", "seeds=2",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let runs = ended.json();
    assert_eq!(runs.as_array().map(Vec::len), Some(6));
    assert_eq!(
        (&runs[0]["topology"], &runs[0]["load"]),
        (&"dumbbell".into(), &0.2.into())
    );
}

#[test]
fn flows_run_beside_requests_and_the_page_draws_their_network() {
    let test_dir = TestDir::new();
    test_dir.file(
        "s.toml",
        "designs = [\"dctcp\", \"rans+dctcp\"]\nduration = \"20ms\"\nsample_every = \"1ms\"\n\
         [topology]\nkind = \"single-switch\"\nhosts = 8\n\
         [[workload]]\nkind = \"requests\"\nsizes = \"fixed:100KB\"\nservers = 4\nclients = 4\nload = 0.3\n\
         [[workload]]\nclass = \"background\"\nsizes = \"fixed:50KB\"\nload = 0.2\n",
    );
    let ended = test_dir.run(&["run", "s.toml", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for run in ended.json().as_array().expect("runs") {
        assert!(run["flows"].as_u64() > Some(10), "{run}");
        let latency = &run["requests"]["latency"];
        assert!(latency["n"].as_u64() > Some(10), "{run}");
    }
    test_dir.file(
        "alone.toml",
        "designs = [\"rans+dctcp\"]\nduration = \"20ms\"\nsample_every = \"1ms\"\n\
         [topology]\nkind = \"single-switch\"\nhosts = 8\n\
         [[workload]]\nkind = \"requests\"\nsizes = \"fixed:100KB\"\nservers = 4\nclients = 4\nload = 0.3\n",
    );
    let ended = test_dir.run(&["run", "alone.toml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for report in ["s", "alone"] {
        let page = test_dir.path().join(format!("out/{report}/report.html"));
        let page = fs::read_to_string(page).expect("the report");
        assert!(page.contains("id=\"network\""), "{report}");
        assert!(!page.contains("Links were not sampled"), "{report}");
    }
}

#[test]
fn report_says_again_what_compare_said_and_draws_each_plot() {
    let test_dir = TestDir::new();
    let first = test_dir.run(&compare(&["tcp", "repflow"], &["--out", "study"]));
    fs::remove_file(test_dir.path().join("study/report.html")).expect("a report");
    let again = test_dir.run(&["report", "study", "--plots", "svg"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.stdout, first.stdout);
    assert!(test_dir.path().join("study/report.html").exists());
    let plots = fs::read_dir(test_dir.path().join("study/plots")).expect("plots");
    let plots: Vec<_> = plots.map(|entry| entry.expect("an entry").path()).collect();
    assert!(plots.len() >= 2, "{plots:?}");
    for plot in plots {
        assert!(
            fs::read_to_string(&plot).expect("a plot").contains("<svg"),
            "{}",
            plot.display()
        );
    }
    let elsewhere = test_dir.run(&[
        "report", "study", "--plots", "png", "--out", "pictures", "--json",
    ]);
    assert_eq!(elsewhere.code, Some(0), "{}", elsewhere.stderr);
    assert_eq!(elsewhere.json()["baseline"], "tcp");
    let mut pictures = fs::read_dir(test_dir.path().join("pictures/plots")).expect("pictures");
    let picture = pictures
        .next()
        .expect("a picture")
        .expect("an entry")
        .path();
    assert!(
        fs::read(picture)
            .expect("a picture")
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn plots_for_a_paper_are_pdf_files_of_one_and_of_two_columns() {
    let test_dir = TestDir::new();
    test_dir.run(&compare(&["tcp", "repflow"], &["--out", "study"]));
    let written = test_dir.run(&["report", "study", "--plots", "paper"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let mut widths = BTreeSet::new();
    for entry in fs::read_dir(test_dir.path().join("study/plots")).expect("plots") {
        let path = entry.expect("an entry").path();
        assert!(
            fs::read(&path).expect("a plot").starts_with(b"%PDF-"),
            "{}",
            path.display()
        );
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        widths.extend(name.rsplit('-').next().map(str::to_owned));
    }
    assert_eq!(widths.into_iter().collect::<Vec<_>>(), ["3.3in", "7in"]);
}

#[test]
fn report_opens_its_page_in_the_browser_of_the_user() {
    let test_dir = TestDir::new();
    test_dir.run(&compare(&["tcp", "repflow"], &["--out", "study"]));
    // The browser writes the page's path into a pipe, which the test reads.
    let pipe = test_dir.path().join("pipe");
    let made = Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo runs");
    assert!(made.success(), "{made}");
    let browser = test_dir.file(
        "browser",
        &format!("#!/bin/sh\necho \"$1\" >{}\n", pipe.display()),
    );
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("a mode");
    let open = |browser: &Path| -> Ended {
        let mut command = test_dir.command(&["report", "study", "--open"]);
        command
            .env("BROWSER", browser)
            .output()
            .expect("the command runs")
            .into()
    };
    let ended = open(&browser);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let page = fs::read_to_string(&pipe).expect("the browser ran");
    assert_eq!(
        Path::new(page.trim()),
        test_dir.path().join("study/report.html")
    );
    let missing = open(Path::new("/nowhere/browser"));
    assert_eq!(missing.code, Some(2), "{}", missing.stdout);
    assert!(
        missing.stderr.contains("--open: found no browser"),
        "{}",
        missing.stderr
    );
}

#[test]
fn list_shows_the_parts_of_a_designs_name() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&["list", "designs"]);
    for (part, name, about) in [
        ("replication:", "repflow", "(RepFlow, INFOCOM 2014)"),
        ("transport:", "cubic", "TCP CUBIC (RFC 9438)"),
        ("routing:", "spray", "one path for each packet"),
    ] {
        let mut lines = ended
            .stdout
            .lines()
            .skip_while(|line| *line != part)
            .skip(1);
        let line = lines.find(|line| line.split_whitespace().next() == Some(name));
        let told = line.is_some_and(|line| line.contains(about));
        assert!(told, "{part} {name} {about} in\n{}", ended.stdout);
    }
}

#[test]
fn every_name_that_is_listed_is_taken() {
    let test_dir = TestDir::new();
    let names = |what: &str| -> Vec<String> {
        let ended = test_dir.run(&["list", what, "--json"]);
        assert_eq!(ended.code, Some(0), "{what}: {}", ended.stderr);
        let items = ended.json();
        let items = items.as_array().expect("a list").iter();
        items
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let taken = |arguments: &[&str]| {
        let ended =
            test_dir.run(&[arguments, &["--flows", "2", "--seeds", "1", "--json"]].concat());
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
    };
    for workload in names("workloads").iter().filter(|name| !name.contains(':')) {
        taken(&["compare", "tcp", "--workload", workload]);
    }
    for topology in names("topologies").iter().filter(|name| *name != "custom") {
        taken(&[
            "compare",
            "tcp",
            "--workload",
            "fixed:1KB",
            "--topology",
            topology,
        ]);
    }
    let parts = test_dir.run(&["list", "designs", "--json"]).json();
    let named = |part: &str| -> Vec<String> {
        let parts = parts.as_array().expect("a list").iter();
        parts
            .filter(|item| item["part"] == part)
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    for design in [named("replication"), named("transport")].concat() {
        // Some designs transfer flows, and other designs transfer requests.
        let some = ["fixed:1KB", "requests:fixed:1KB"]
            .into_iter()
            .find(|workload| {
                let arguments = ["compare", &design, "--workload", workload];
                let short = ["--flows", "2", "--seeds", "1"];
                test_dir.run(&[&arguments[..], &short].concat()).code == Some(0)
            });
        assert!(some.is_some(), "{design} takes neither flows nor requests");
    }
    for routing in named("routing") {
        // Not every transport supports every kind of routing.
        let some = named("transport").into_iter().find(|transport| {
            let design = format!("{transport}@{routing}");
            let arguments = [
                "compare",
                &design,
                "--workload",
                "fixed:1KB",
                "--flows",
                "2",
                "--seeds",
                "1",
            ];
            test_dir.run(&arguments).code == Some(0)
        });
        assert!(some.is_some(), "no transport takes @{routing}");
    }
    assert!(names("scenarios").contains(&"incast".to_owned()));
    assert!(names("keys").contains(&"tcp.min_rto".to_owned()));
}

#[test]
fn reproduce_prints_ours_beside_theirs_and_check_holds_it_to_its_band() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&["reproduce", "incast-drain", "--quick", "--check", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let comparisons = ended.json();
    let row = &comparisons[0]["rows"][0];
    assert_eq!(row["verdict"], "within", "{row}");
    assert!(keys(row).is_superset(&BTreeSet::from([
        "metric", "ours", "ours_ci", "theirs", "band", "why"
    ])));
    assert!(
        test_dir
            .path()
            .join("out/reproduce/incast-drain/incast-drain/report.html")
            .exists()
    );
    let text = test_dir.run(&["reproduce", "incast-drain", "--quick"]);
    assert!(
        text.stdout.contains("theirs") && text.stdout.contains("within"),
        "{}",
        text.stdout
    );
}

#[test]
fn reproduce_writes_the_tables_of_a_page_and_the_list_of_its_runs() {
    let test_dir = TestDir::new();
    let page = test_dir.path().join("page.md");
    let text = "# A page\n\n<!-- rows of incast-drain -->\n\n| old |\n|---|\n\nWords.\n";
    std::fs::write(&page, text).unwrap();
    let arguments = ["reproduce", "incast-drain", "--quick", "--page", "page.md"];
    let ended = test_dir.run(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("1 of 1 rows with a published number are decided"),
        "{}",
        ended.stderr
    );
    let filled = std::fs::read_to_string(&page).unwrap();
    assert!(
        !filled.contains("old") && filled.ends_with("\nWords.\n"),
        "{filled}"
    );
    assert!(filled.contains("| end of the last flow, us |"), "{filled}");
    let list = |test_dir: &TestDir| -> serde_json::Value {
        let bytes = std::fs::read(test_dir.path().join("page.runs.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let runs = list(&test_dir)["reproductions"]["incast-drain"].clone();
    let part = &runs["parts"][0];
    assert_eq!(runs["form"], "quick");
    assert_eq!(part["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(part["runs"], 3);
    assert!(part["cpu_seconds"].is_number(), "{part}");

    assert_eq!(test_dir.run(&arguments).code, Some(0));
    assert_eq!(std::fs::read_to_string(&page).unwrap(), filled);
    let again = &list(&test_dir)["reproductions"]["incast-drain"]["parts"][0];
    assert_eq!(again["hash"], part["hash"]);
}

#[test]
fn bench_measures_a_workload_in_a_process_of_its_own() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&["bench", "dctcp-permutation-k8", "--json", "--repeat", "2"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let measured = ended.json();
    let expected = [
        "workload",
        "packet_hops",
        "cpu_seconds",
        "packet_hops_per_cpu_second",
        "events",
        "peak_rss_bytes",
    ];
    assert_eq!(keys(&measured[0]), BTreeSet::from(expected));
    let number = |key: &str| measured[0][key].as_f64().expect("a number");
    let speed = number("packet_hops") / number("cpu_seconds");
    assert!((speed / number("packet_hops_per_cpu_second") - 1.0).abs() < 1e-9);
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
}

#[test]
fn completions_and_manual_know_every_command() {
    let test_dir = TestDir::new();
    let shells = ["bash", "zsh", "fish", "elvish", "powershell"]
        .map(|shell| test_dir.run(&["completions", shell]));
    let manual = test_dir.run(&["man"]);
    for command in ["compare", "run", "reproduce", "report", "list", "bench"] {
        assert!(manual.stdout.contains(command), "{command}");
        for shell in &shells {
            assert_eq!(shell.code, Some(0), "{}", shell.stderr);
            assert!(shell.stdout.contains(command), "{command}");
        }
    }
    assert!(manual.stdout.contains(".TH tailcut"));
}

#[test]
fn completions_know_designs_with_load_balancers_and_scenarios() {
    let test_dir = TestDir::new();
    // For other shells, clap writes no values of positional arguments.
    for shell in ["bash", "zsh"] {
        let ended = test_dir.run(&["completions", shell]);
        for name in ["dctcp@spray", "repflow", "incast"] {
            assert!(ended.stdout.contains(name), "{shell}: {name}");
        }
    }
}

#[test]
fn a_manual_page_for_each_command_is_written() {
    let test_dir = TestDir::new();
    let ended = test_dir.run(&["man", "--dir", "pages"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for page in [
        "tailcut.1",
        "tailcut-run.1",
        "tailcut-compare.1",
        "tailcut-study-plan.1",
    ] {
        let path = test_dir.path().join("pages").join(page);
        let text = std::fs::read_to_string(path).expect("a page");
        assert!(text.contains(".TH"), "{page}");
    }
}
