//! Checks of SECURITY.md: every promise names tests that exist, and the ports are the defaults of the commands.
//! Further checks cover two promises about commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("SECURITY.md")).expect("SECURITY.md")
}

/// Section of the page that lists properties without tests.
const NOT_PROMISED: &str = "Not promised";

/// Returns the promises of the page: the list items of all sections except [`NOT_PROMISED`].
/// The text before the first section makes no promises.
fn promises(page: &str) -> Vec<String> {
    let sections = page.split("\n## ").skip(1);
    let promising = sections.filter(|section| !section.starts_with(NOT_PROMISED));
    let items = promising.flat_map(|section| section.split("\n- ").skip(1));
    // An item ends at an empty line.
    let items = items.map(|item| item.split("\n\n").next().unwrap_or(item).to_owned());
    items.collect()
}

/// Returns the tests to which a text links. A link has the form [`NAME`](PATH).
fn named_tests(text: &str) -> Vec<(&str, &str)> {
    let links = text.split("[`").skip(1).filter_map(|link| {
        let (name, link) = link.split_once("`](")?;
        let (path, _) = link.split_once(')')?;
        Some((name, path))
    });
    links.collect()
}

/// Returns whether a source file contains a test with this name.
fn has_test(source: &str, path: &str, name: &str) -> bool {
    if path.ends_with(".ts") {
        return ["'", "\"", "`"]
            .iter()
            .any(|quote| source.contains(&format!("test({quote}{name}{quote}")));
    }
    let Some(at) = source.find(&format!("fn {name}(")) else {
        return false;
    };
    // The attribute of a test comes after the end of the item before it.
    let before = &source[..at];
    let attributes = before.rsplit("}\n").next().unwrap_or(before);
    attributes.contains("#[test]") || attributes.contains("#[tokio::test")
}

#[test]
fn every_promise_names_tests_that_exist() {
    let page = page();
    let promises = promises(&page);
    assert!(promises.len() > 40, "{} promises", promises.len());
    let mut missing = BTreeSet::new();
    for promise in &promises {
        let tests = named_tests(promise);
        if tests.is_empty() {
            missing.insert(format!("no test: {promise}"));
        }
        for (name, path) in tests {
            let source = fs::read_to_string(root().join(path)).unwrap_or_default();
            if !has_test(&source, path, name) {
                missing.insert(format!("{path} has no test {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    // No other part of the page links to tests.
    let all: usize = promises
        .iter()
        .map(|promise| named_tests(promise).len())
        .sum();
    assert_eq!(named_tests(&page).len(), all);
}

#[test]
fn a_promise_without_a_test_or_with_a_missing_one_is_found() {
    let page = "# Page\n- a role\n\n## One\n- A. Test: [`there`](a.rs).\n- B.\n\nText.\n\n## Not promised\n- C.\n";
    let promises = promises(page);
    assert_eq!(promises, ["A. Test: [`there`](a.rs).", "B."]);
    assert_eq!(named_tests(&promises[0]), [("there", "a.rs")]);
    let source = "#[test]\nfn there() {\n}\n\nfn helper() {\n}\n";
    assert!(has_test(source, "a.rs", "there"));
    for name in ["helper", "other", "the"] {
        assert!(!has_test(source, "a.rs", name), "{name}");
    }
    let script = "test('a story', () => {});";
    assert!(has_test(script, "a.ts", "a story") && !has_test(script, "a.ts", "a"));
}

/// Returns the row of the page's table that begins with a command.
fn row(page: &str, command: &str) -> String {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let mut rows = rows.filter(|row| row.contains(&format!("`tailcut {command}`")));
    rows.next().expect(command).to_owned()
}

#[test]
fn the_ports_of_the_page_are_the_defaults_of_the_commands() {
    let page = page();
    let definition = tailcut::definition();
    let argument = |command: &str, name: &str| {
        let mut found = &definition;
        for word in command.split(' ') {
            found = found.find_subcommand(word).expect(command);
        }
        let mut all = found.get_arguments();
        let argument = all.find(|argument| argument.get_long() == Some(name));
        argument.expect(name).clone()
    };
    for command in ["cast recv", "cast serve"] {
        let listen = argument(command, "listen");
        let [default] = listen.get_default_values() else {
            panic!("{command}: {:?}", listen.get_default_values());
        };
        let default = default.to_str().expect("text");
        assert!(default.starts_with("127.0.0.1:"), "{command}: {default}");
        assert!(row(&page, command).ends_with(&format!("| {default} |")));
    }
    for (command, listen) in [("guard", true), ("gateway", true), ("proxy repnet", false)] {
        if listen {
            let listen = argument(command, "listen");
            assert!(listen.get_default_values().is_empty(), "{command}");
        }
        let help = argument(command, "admin")
            .get_help()
            .expect("help")
            .to_string();
        let (_, default) = help.split_once("[default: ").expect("a default");
        let default = default.trim_end_matches(']');
        assert!(default.starts_with("127.0.0.1:"), "{command}: {default}");
        assert!(row(&page, command).ends_with(&format!("| none; {default} |")));
    }
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailcut"));
    let command = command.args(arguments).current_dir(directory);
    command.output().expect("the program runs")
}

#[test]
fn cast_serves_other_machines_only_with_a_key_or_insecure() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("file"), "x").expect("a file");
    for command in [["recv", "."], ["serve", "file"]] {
        for address in ["0.0.0.0:0", "[::]:0"] {
            let arguments = [&["cast"], &command[..], &["--listen", address]].concat();
            let output = run(directory.path(), &arguments);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
            assert!(
                said.contains("--psk FILE") && said.contains("--insecure"),
                "{said}"
            );
        }
    }
}

/// Returns the paths of all files below a directory.
fn files(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

#[test]
fn names_in_a_scenario_lead_to_no_file_outside_of_the_results() {
    let around = tempfile::tempdir().expect("a directory");
    let inside = around.path().join("a/b");
    fs::create_dir_all(&inside).expect("a directory");
    let nodes = "[[nodes]]\nname = \"NAME\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"s\"\nkind = \"switch\"\n\
                 [[links]]\na = \"NAME\"\nb = \"s\"\n";
    let base =
        "flows = 20\nseeds = 1\ndesigns = [\"tcp\", { name = \"DESIGN\", design = \"dctcp\" }]\n";
    let mut finished = 0;
    for name in [
        "../../escaped",
        "/escaped",
        "..",
        "a/../../../escaped",
        "$(touch escaped)",
        "a;touch escaped",
    ] {
        for (design, node) in [(name, "h"), ("own", name)] {
            let text = format!("{base}{nodes}");
            let text = text.replace("DESIGN", design).replace("NAME", node);
            fs::write(inside.join("s.toml"), text).expect("a file");
            let output = run(
                &inside,
                &["run", "s.toml", "-q", "--out", "out", "--capture", "all"],
            );
            if output.status.success() {
                let report = run(&inside, &["report", "out", "--plots", "svg"]);
                assert!(report.status.success(), "{name}");
            }
            finished += usize::from(output.status.success());
            let strange: Vec<PathBuf> = files(around.path())
                .into_iter()
                .filter(|path| {
                    !path.starts_with(inside.join("out")) && *path != inside.join("s.toml")
                })
                .collect();
            assert!(strange.is_empty(), "{name}: {strange:?}");
            let _ = fs::remove_dir_all(inside.join("out"));
        }
    }
    assert!(finished > 0, "no scenario with such a name is accepted");
}
