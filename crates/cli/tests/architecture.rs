//! Tests of the project's structure: dependencies point only downwards, and crates without I/O are `no_std`.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Rule about the dependencies of a crate.
struct Rule {
    name: &'static str,
    /// Allowed dependencies, in addition to `units`.
    on: &'static [&'static str],
    /// Additional dependencies whose types the allowed dependencies re-export.
    /// For example, the configuration of a run contains types of the fabric.
    handed_on: &'static [&'static str],
}

const fn rule(name: &'static str, on: &'static [&'static str]) -> Rule {
    Rule {
        name,
        on,
        handed_on: &[],
    }
}

impl Rule {
    const fn and(self, handed_on: &'static [&'static str]) -> Self {
        Self { handed_on, ..self }
    }

    fn allows(&self, other: &str) -> bool {
        other == "tailcut-units" || self.on.contains(&other) || self.handed_on.contains(&other)
    }
}

/// Allowed dependencies between the project's crates, from the lowest crate to the highest.
/// Dependencies of tests are not included.
const RULES: [Rule; 22] = [
    rule("tailcut-units", &[]),
    rule("tailcut-requests", &[]),
    // For flows that contain copies of requests, the transport needs the sizes of the requests' headers.
    rule("tailcut-transport", &["tailcut-requests"]),
    rule("tailcut-fabric", &[]),
    rule("tailcut-workload", &[]),
    rule("tailcut-record", &[]),
    // `wire` converts headers of `transport` to bytes. `transport` itself does not depend on the encoding.
    rule("tailcut-wire", &["tailcut-transport", "tailcut-requests"]),
    // The framing types and the work of requests are defined in `workload`.
    rule(
        "tailcut-design",
        &[
            "tailcut-transport",
            "tailcut-requests",
            "tailcut-fabric",
            "tailcut-workload",
        ],
    ),
    rule(
        "tailcut-capture",
        &["tailcut-fabric", "tailcut-record", "tailcut-wire"],
    )
    .and(&["tailcut-transport"]),
    rule(
        "tailcut-sim",
        &["tailcut-design", "tailcut-capture", "tailcut-workload"],
    )
    .and(&[
        "tailcut-transport",
        "tailcut-requests",
        "tailcut-fabric",
        "tailcut-record",
    ]),
    rule("tailcut-report", &["tailcut-record"]),
    rule(
        "tailcut-scenario",
        &[
            "tailcut-sim",
            "tailcut-capture",
            "tailcut-report",
            "tailcut-workload",
        ],
    )
    .and(&["tailcut-record"]),
    rule("tailcut-study", &["tailcut-scenario"]).and(&["tailcut-record"]),
    rule("tailcut-reproduce", &["tailcut-scenario", "tailcut-report"]),
    rule("tailcut-cast", &["tailcut-transport", "tailcut-wire"]),
    rule(
        "tailcut-lab",
        &[
            "tailcut-scenario",
            "tailcut-sim",
            "tailcut-design",
            "tailcut-capture",
            "tailcut-wire",
            "tailcut-cast",
            "tailcut-workload",
            "tailcut-record",
        ],
    )
    .and(&["tailcut-fabric", "tailcut-requests", "tailcut-transport"]),
    // Parts that the proxies have in common. This crate depends on none of the proxies.
    rule("tailcut-proxy", &[]),
    rule(
        "tailcut-repnet",
        &["tailcut-transport", "tailcut-wire", "tailcut-proxy"],
    ),
    // The crate `report` draws the plots of the probe's page.
    rule("tailcut-probe", &["tailcut-report"]).and(&["tailcut-record"]),
    rule("tailcut-rans", &["tailcut-requests", "tailcut-proxy"]),
    rule(
        "tailcut-python",
        &["tailcut-scenario", "tailcut-study", "tailcut-report"],
    ),
    rule(
        "tailcut",
        &[
            "tailcut-scenario",
            "tailcut-study",
            "tailcut-reproduce",
            "tailcut-report",
            "tailcut-lab",
            "tailcut-repnet",
            "tailcut-probe",
            "tailcut-cast",
            "tailcut-rans",
        ],
    ),
];

/// Crate of fuzz targets. It covers the parsers of untrusted bytes in all crates.
const FUZZ: Rule = rule(
    "tailcut-fuzz",
    &[
        "tailcut-reproduce",
        "tailcut-scenario",
        "tailcut-study",
        "tailcut-sim",
        "tailcut-report",
        "tailcut-record",
        "tailcut-cast",
        "tailcut-lab",
        "tailcut-wire",
        "tailcut-transport",
        "tailcut-requests",
        "tailcut-rans",
        "tailcut-repnet",
        "tailcut-probe",
        "tailcut-proxy",
    ],
);

/// Name of the crate with closed forms and checkers. Only tests may depend on it.
const ORACLE: &str = "tailcut-oracle";

/// Names of the crates without I/O: they use no clocks, sockets, threads or randomly seeded maps.
const SANS_IO: [&str; 6] = [
    "units",
    "requests",
    "wire",
    "transport",
    "fabric",
    "workload",
];

/// Texts in source code that give a `no_std` crate access to the standard library.
const WAYS_TO_STD: [&str; 2] = ["extern crate std", "use std::"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo's metadata");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Returns the project's crates on which a package depends: for its build, and for its tests.
fn dependencies(package: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut built_with, mut tested_with) = (BTreeSet::new(), BTreeSet::new());
    for dependency in package["dependencies"].as_array().expect("dependencies") {
        let name = dependency["name"].as_str().expect("a name").to_owned();
        if !name.starts_with("tailcut") {
            continue;
        }
        match dependency["kind"].as_str() {
            Some("dev") => tested_with.insert(name),
            _ => built_with.insert(name),
        };
    }
    (built_with, tested_with)
}

#[test]
fn dependencies_point_down_only() {
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        let (built_with, _) = dependencies(&package);
        if name == ORACLE {
            let allowed = BTreeSet::from(["tailcut-units".to_owned()]);
            assert!(built_with.is_subset(&allowed), "{name}: {built_with:?}");
            continue;
        }
        let rule = RULES.iter().chain([&FUZZ]).find(|rule| rule.name == name);
        let rule = rule.unwrap_or_else(|| panic!("{name} has no rule yet"));
        for dependency in &built_with {
            assert!(
                rule.allows(dependency),
                "{name} depends on {dependency}; allowed: {:?} {:?}",
                rule.on,
                rule.handed_on
            );
        }
    }
}

#[test]
fn rules_point_down_only() {
    for (height, rule) in RULES.iter().enumerate() {
        let below: Vec<&str> = RULES[..height].iter().map(|rule| rule.name).collect();
        for other in rule.on.iter().chain(rule.handed_on) {
            assert!(below.contains(other), "{}: {other} is not below", rule.name);
        }
        // A re-exported type must come from a crate that is a dependency of an allowed dependency.
        for other in rule.handed_on {
            let through = RULES.iter().filter(|one| rule.on.contains(&one.name));
            let mut hands_on = through.flat_map(|one| one.on.iter().chain(one.handed_on));
            assert!(hands_on.any(|one| one == other), "{}: {other}", rule.name);
        }
    }
}

#[test]
fn the_oracle_is_for_tests_only_and_tests_see_nothing_above() {
    let rules = RULES.iter().chain([&FUZZ]);
    let height = |name: &str| rules.clone().position(|rule| rule.name == name);
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        let (built_with, tested_with) = dependencies(&package);
        assert!(
            !built_with.contains(ORACLE),
            "{name} is built with the oracle"
        );
        let below = height(name).map_or(0, |own| own);
        for dependency in tested_with
            .iter()
            .filter(|dependency| *dependency != ORACLE)
        {
            let other = height(dependency);
            assert!(
                other < Some(below),
                "{name} is tested with {dependency}, which is above it"
            );
        }
    }
}

#[test]
fn transport_and_fabric_never_see_each_other() {
    let edges: Vec<(String, BTreeSet<String>)> = packages()
        .iter()
        .map(|package| {
            let (built_with, tested_with) = dependencies(package);
            let all = built_with.union(&tested_with).cloned().collect();
            (package["name"].as_str().expect("a name").to_owned(), all)
        })
        .collect();
    for (one, other) in [
        ("tailcut-transport", "tailcut-fabric"),
        ("tailcut-fabric", "tailcut-transport"),
    ] {
        let (_, dependencies) = edges
            .iter()
            .find(|(name, _)| name == one)
            .expect("the crate");
        assert!(!dependencies.contains(other), "{one} sees {other}");
    }
}

#[test]
fn sans_io_crates_are_no_std() {
    for name in SANS_IO {
        let source = root().join("crates").join(name).join("src");
        let lib = fs::read_to_string(source.join("lib.rs")).expect("lib.rs");
        let attribute = lib.lines().any(|line| line.trim() == "#![no_std]");
        assert!(attribute, "crates/{name}/src/lib.rs: found no #![no_std]");
        for file in rust_files(source) {
            let text = fs::read_to_string(&file).expect("a source file");
            // The code after `#[cfg(test)]` is test code, which may use the standard library.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for way in WAYS_TO_STD {
                assert!(!code.contains(way), "{}: found `{way}`", file.display());
            }
        }
    }
}

fn rust_files(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn sans_io_crates_build_for_a_machine_without_an_operating_system() {
    // The test needs `core` and `alloc` of this target: `rustup target add thumbv7em-none-eabi`.
    // `make test` installs them.
    const TARGET: &str = "thumbv7em-none-eabi";
    let target_is_there = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .is_ok_and(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).exists());
    if !target_is_there {
        // If the target is not installed, only the sources are checked.
        eprintln!("{TARGET} is not installed: sources were checked instead");
        return sans_io_crates_are_no_std();
    }
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["check", "--offline", "--target", TARGET])
        .current_dir(root());
    for name in SANS_IO {
        command.args(["-p", &format!("tailcut-{name}")]);
    }
    let output = command.output().expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns the number of lines of a file, without its test module.
fn code_lines(file: &PathBuf) -> usize {
    let text = fs::read_to_string(file).expect("a source file");
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().count()
}

#[test]
fn the_command_is_small() {
    let source = root().join("crates/cli/src");
    let binary = code_lines(&source.join("main.rs"));
    let all: usize = rust_files(source).iter().map(code_lines).sum();
    assert!(binary < 100 && all < 4_500, "binary {binary}, all {all}");
}

#[test]
fn files_above_the_simulator_stay_under_six_hundred_lines() {
    for name in ["record", "report", "scenario", "study", "reproduce", "cli"] {
        for file in rust_files(root().join("crates").join(name)) {
            let lines = fs::read_to_string(&file)
                .expect("a source file")
                .lines()
                .count();
            assert!(lines <= 600, "{}: {lines} lines", file.display());
        }
    }
}
