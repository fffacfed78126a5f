//! Tests with wrong input: each command prints a one-line error, exits with code 2, and does not panic.

use crate::test_dir::{TestDir, compare};
use std::fs;

/// Runs a command that must fail, and returns its error message.
fn refused(test_dir: &TestDir, arguments: &[&str]) -> String {
    let ended = test_dir.run(arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "", "{arguments:?}");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    ended.complaint().to_owned()
}

#[test]
fn an_unknown_design_comes_with_what_is_allowed_and_what_was_meant() {
    let test_dir = TestDir::new();
    let told = refused(&test_dir, &["compare", "tcp", "repflo"]);
    let start =
        "tailcut: DESIGN: designs: found the unknown design 'repflo'; allowed: repflow, repsyn";
    assert!(told.starts_with(start), "{told}");
    assert!(told.ends_with("; did you mean 'repflow'?"), "{told}");
    for (wrong, part, meant) in [
        ("repflow+dctp", "'dctp'", "'repflow+dctcp'"),
        ("dctcp@spry", "'spry'", "'dctcp@spray'"),
    ] {
        let told = refused(&test_dir, &["compare", wrong]);
        let guessed = told.ends_with(&format!("did you mean {meant}?"));
        assert!(told.contains(part) && guessed, "{told}");
    }
    let told = refused(&test_dir, &["compare", "tcp", "tcp@ecmp"]);
    assert!(told.contains("found 'tcp' twice"), "{told}");
}

#[test]
fn a_wrong_flag_is_named_with_what_was_found() {
    let test_dir = TestDir::new();
    for (arguments, told) in [
        (
            &["--load", "0.5..0.1"][..],
            "--load: loads: found '0.5..0.1'",
        ),
        (&["--topology", "fattree"], "did you mean 'fat-tree'?"),
        (
            &["--topology", "fat-tree:k=5"],
            "topology.k: found 5; allowed: even numbers to 64",
        ),
        (
            &["--topology", "fat-tree:spines=5"],
            "topology.spines: found with kind fat-tree",
        ),
        (
            &["--topology", "leaf-spine:leaves"],
            "--topology: topology: found 'leaves'",
        ),
        (
            &["--topology", "leaf-spine:leaves=4096,hosts=4096"],
            "topology.hosts: found 16777216 hosts in total; allowed: at most 65536",
        ),
        (&["--workload", "websarch"], "did you mean 'websearch'?"),
        (
            &["--workload", "trace:gone.csv"],
            "workload.file: found 'gone.csv', which cannot be read",
        ),
        (
            &["--workload", "table:gone.csv"],
            "workload.sizes: found 'gone.csv', which cannot be read",
        ),
        (
            &["--workload", "fixed:0"],
            "workload.sizes: found `fixed:0`",
        ),
        (&["--set", "tcp.minrto=3ms"], "did you mean 'min_rto'?"),
        (
            &["--set", "minrto=3ms"],
            "did you mean 'min_rto under [tcp]'?",
        ),
        (&["--set", "tpc.min_rto=3ms"], "did you mean 'tcp.min_rto'?"),
        (
            &["--set", "tcp.min_rto=3"],
            "tcp.min_rto: found '3'; allowed: a time with a unit",
        ),
        (
            &["--set", "tcp.min_rto"],
            "found 'tcp.min_rto'; allowed: KEY=VALUE",
        ),
        (
            &["--set", "tcp.delayed_ack_timeout=1s"],
            "tcp.delayed_ack_timeout: found 1 s",
        ),
        (
            &["--set", "tcp.min_rto=200us"],
            "tcp.min_rto: found 200 us; allowed: at least clock_granularity",
        ),
        (
            &["--set", "nic.gro=true"],
            "nic.gro: found true; allowed: only with nic.rx_frames above 1",
        ),
        (
            &["tcp@spray", "--set", "ecmp.hash=xor"],
            "ecmp.hash: found \"xor\" with 'tcp@spray'",
        ),
        (
            &["--set", "workload.kind=requests", "--set", "host.queue=100"],
            "host.queue: found 100; allowed: only without requests",
        ),
        (&["--set", "name=../up"], "name: found \"../up\""),
        (&["--matrix", "pairs"], "workload.pairs: found none"),
        (&["--threads", "100000"], "--threads: found 100000"),
        (
            &["--seeds", "0"],
            "--seeds: seeds: found '0'; allowed: a whole number from 1",
        ),
        (
            &["--seeds", "10000", "--load", "0.01..1:0.01"],
            "found 1000000 runs",
        ),
        (
            &["--seed", "18446744073709551615"],
            "seed: found 18446744073709551615",
        ),
    ] {
        let complaint = refused(&test_dir, &[&["compare", "tcp"], arguments].concat());
        assert!(complaint.contains(told), "{arguments:?}: {complaint}");
    }
    assert_eq!(
        fs::read_dir(test_dir.path()).expect("a directory").count(),
        0,
        "nothing was written"
    );
}

#[test]
fn a_wrong_scenario_is_told_with_file_line_and_key() {
    let test_dir = TestDir::new();
    for (text, told) in [
        (
            "designs = [\"tcp\"\n",
            "s.toml:1: found text that is not TOML",
        ),
        (
            "seed = 1\nseed = 2\n",
            "s.toml:2: found text that is not TOML (duplicate key",
        ),
        ("seeds = 2\n", "s.toml:1: designs: found none"),
        (
            "min_rto = \"3ms\"\n",
            "s.toml:1: found the key 'min_rto' at the top",
        ),
        (
            "seed = 1\n[tcp]\n\nmin_rto = 3\n",
            "s.toml:4: tcp.min_rto: found 3; allowed: a time with a unit",
        ),
        (
            "[topology]\nkind = \"fat-tre\"\n",
            "s.toml:2: topology.kind: found \"fat-tre\"",
        ),
        (
            "[[topology]]\n[[topology]]\n",
            "s.toml:1: topology: found an array of 2; allowed: a table [topology]",
        ),
        (
            "tcp = 3\n",
            "s.toml:1: tcp: found 3; allowed: a table [tcp]",
        ),
        (
            "seed = 1\n[tpc]\n",
            "s.toml:2: found the key 'tpc' at the top",
        ),
        (
            "designs = [\"tcp\"]\n[workload]\nsizes = \"fixed:1KB\"\nthink = \"1ms\"\n",
            "s.toml:4: workload.think: found with kind open; allowed: only with kind closed or queries",
        ),
        (
            "designs = [\"tcp\"]\n[workload]\nfrom = \"2s\"\n",
            "s.toml:3: workload.from: found flows from 2 s until 1 s",
        ),
        (
            "designs = [\"das\"]\nloads = [0.5]\n[[workload]]\nkind = \"requests\"\n[[workload]]\n",
            "workload.kind: found flows in addition to requests with 'das'",
        ),
        (
            "designs = [\"das\"]\nloads = [0.5]\n[[workload]]\nkind = \"requests\"\n[[failures]]\na = \"leaf0\"\n\
             b = \"spine0\"\n",
            "failures.a: found only designs without this key: das; allowed: only with tcp,",
        ),
    ] {
        test_dir.file("s.toml", text);
        let complaint = refused(&test_dir, &["run", "s.toml"]);
        assert!(
            complaint.contains(told),
            "expected {told}\nfound {complaint}\n{text}"
        );
    }
}

#[test]
fn a_wrong_trace_or_table_is_told_with_its_own_file_and_line() {
    let test_dir = TestDir::new();
    test_dir.file(
        "flows.csv",
        "start_ns,src,dst,bytes\n0,0,1,100\n5,0,99,100\n",
    );
    let told = refused(
        &test_dir,
        &["compare", "tcp", "--workload", "trace:flows.csv"],
    );
    assert!(
        told.contains("flows.csv:3: column dst: found `99`; allowed: a host from 0 to 31"),
        "{told}"
    );
    test_dir.file("sizes.csv", "bytes,cumulative\n100,0.5\n90,1\n");
    let told = refused(
        &test_dir,
        &["compare", "tcp", "--workload", "table:sizes.csv"],
    );
    assert!(
        told.contains("sizes.csv:3: column bytes: found `90`"),
        "{told}"
    );
    fs::write(
        test_dir.path().join("sizes.csv"),
        b"bytes,cumulative\n1\xff,1\n",
    )
    .expect("a file");
    let told = refused(
        &test_dir,
        &["compare", "tcp", "--workload", "table:sizes.csv"],
    );
    assert!(
        told.contains("sizes.csv:2: found a byte that is not UTF-8"),
        "{told}"
    );
    fs::write(
        test_dir.path().join("s.toml"),
        b"seed = 1\nname = \"\xff\"\n",
    )
    .expect("a file");
    let told = refused(&test_dir, &["run", "s.toml"]);
    assert!(
        told.contains("s.toml:2: found a byte that is not UTF-8"),
        "{told}"
    );
}

#[test]
fn a_file_that_is_not_there_is_told_with_what_is_built_in() {
    let test_dir = TestDir::new();
    let told = refused(&test_dir, &["run", "incst"]);
    assert!(told.contains("cannot read the scenario incst"), "{told}");
    assert!(told.ends_with("did you mean 'incast'?"), "{told}");
    let told = refused(&test_dir, &["run", "."]);
    assert!(told.contains("cannot read the scenario ."), "{told}");
}

#[test]
fn a_directory_that_cannot_be_written_or_is_somebody_elses_is_refused() {
    let test_dir = TestDir::new();
    test_dir.file("file", "in the way");
    let told = refused(&test_dir, &compare(&["tcp"], &["--out", "file/out"]));
    assert!(told.contains("file/out"), "{told}");
    fs::create_dir(test_dir.path().join("photos")).expect("a directory");
    test_dir.file("photos/cat.jpg", "a cat");
    let told = refused(&test_dir, &compare(&["tcp"], &["--out", "photos"]));
    assert!(
        told.contains("photos is not empty and has no manifest.json"),
        "{told}"
    );
    assert_eq!(
        fs::read_to_string(test_dir.path().join("photos/cat.jpg")).expect("a cat"),
        "a cat"
    );
}

#[test]
fn report_of_a_directory_without_runs_is_refused() {
    let test_dir = TestDir::new();
    let told = refused(&test_dir, &["report", "nowhere"]);
    assert!(
        told.contains("found nowhere, which has no manifest.json"),
        "{told}"
    );
    test_dir.file("manifest.json", "{\"schema\": 99}");
    let told = refused(&test_dir, &["report", "."]);
    assert!(told.contains("schema is 99"), "{told}");
}

#[test]
fn unknown_names_of_reproductions_and_benches_are_refused() {
    let test_dir = TestDir::new();
    let told = refused(&test_dir, &["reproduce", "incast-dran"]);
    assert!(told.ends_with("did you mean 'incast-drain'?"), "{told}");
    test_dir.file("page.md", "# A page\n<!-- rows of incast-dran -->\n");
    let told = refused(&test_dir, &["reproduce", "--page", "page.md"]);
    assert!(
        told.contains("page.md:2: found rows of the unknown reproduction 'incast-dran'"),
        "{told}"
    );
    let told = refused(&test_dir, &["reproduce", "--page", "nowhere.md"]);
    assert!(told.contains("--page: cannot read nowhere.md"), "{told}");
    let told = refused(&test_dir, &["reproduce", "repnet-bucket-sort"]);
    assert!(
        told.contains("'repnet-bucket-sort', which has no form for the simulator"),
        "{told}"
    );
    let told = refused(
        &test_dir,
        &["reproduce", "repnet-bucket-sort", "--clock", "wall"],
    );
    assert!(told.contains("found no packages/repnet"), "{told}");
    let told = refused(&test_dir, &["bench", "websearch-k4"]);
    assert!(told.ends_with("did you mean 'websearch-k8'?"), "{told}");
    refused(&test_dir, &["list", "colours"]);
    refused(&test_dir, &["compare"]);
}

#[cfg(target_os = "linux")]
mod full_disks {
    use super::*;
    use std::fs::File;
    use std::process::Stdio;

    #[test]
    fn a_full_disk_under_standard_output_is_told() {
        let test_dir = TestDir::new();
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let ended = test_dir
            .command(&["list", "designs"])
            .stdout(full)
            .stderr(Stdio::piped())
            .output();
        let ended = ended.expect("the command runs");
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{told}");
        assert!(
            told.contains("cannot write standard output: No space left on device"),
            "{told}"
        );
    }

    #[test]
    fn a_full_disk_under_the_results_is_told_with_the_file() {
        let test_dir = TestDir::new();
        let first = test_dir.run(&compare(&["tcp"], &["--out", "study"]));
        assert_eq!(first.code, Some(0), "{}", first.stderr);
        // The temporary file of the manifest is a link to a full disk.
        std::os::unix::fs::symlink(
            "/dev/full",
            test_dir.path().join("study/manifest.json.partial"),
        )
        .expect("a link");
        let told = refused(&test_dir, &compare(&["tcp"], &["--out", "study"]));
        assert!(
            told.contains("study/manifest.json") && told.contains("No space left on device"),
            "{told}"
        );
    }
}
