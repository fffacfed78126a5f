//! Tests of the commands in `docs/first-study.md` and in the README.
//! The commands must succeed and print the text that the pages quote.

use crate::test_dir::{Ended, TestDir};
use std::process::Command;

const FIRST_STUDY: &str = include_str!("../../../../docs/first-study.md");
const README: &str = include_str!("../../../../README.md");
const INDEX: &str = include_str!("../../../../docs/README.md");

/// Returns the parts of a page. A part is a block of commands, with the quotation after it, if any.
fn parts(page: &str) -> Vec<(String, Option<String>)> {
    let mut parts: Vec<(String, Option<String>)> = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        match (in_block, line.strip_prefix("> ")) {
            (false, _) if line == "```sh" => {
                in_block = true;
                parts.push(Default::default());
            }
            (true, _) if line == "```" => in_block = false,
            (true, _) => {
                if let Some((commands, _)) = parts.last_mut() {
                    commands.push_str(line);
                    commands.push('\n');
                }
            }
            (false, Some(said)) => {
                if let Some((_, quotation)) = parts.last_mut() {
                    *quotation = Some(said.to_owned());
                }
            }
            (false, None) => {}
        }
    }
    parts
}

/// Runs the commands of a part, and checks that their output contains the page's quotation.
fn run(test_dir: &TestDir, commands: &str, quotation: Option<&str>) {
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_tailcut")).parent();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.expect("a directory").display());
    let mut shell = Command::new("sh");
    shell
        .args(["-e", "-c", commands])
        .current_dir(test_dir.path())
        .env("PATH", path);
    let ended = Ended::from(shell.output().expect("a shell"));
    assert_eq!(ended.code, Some(0), "{commands}\n{}", ended.stderr);
    let printed = [ended.stdout, ended.stderr].concat();
    let is_printed = quotation.is_none_or(|quotation| printed.contains(quotation));
    assert!(is_printed, "{commands}\n{quotation:?}\n{printed}");
}

#[test]
fn the_commands_of_the_first_study_run_and_print_what_the_page_quotes() {
    let test_dir = TestDir::new();
    let parts = parts(FIRST_STUDY);
    assert!(parts.len() >= 5, "{parts:?}");
    for (commands, quotation) in parts {
        run(&test_dir, &commands, quotation.as_deref());
    }
}

#[test]
fn the_doors_of_the_readme_print_what_it_quotes() {
    let test_dir = TestDir::new();
    let quoted = parts(README)
        .into_iter()
        .filter(|(_, quotation)| quotation.is_some());
    let quoted: Vec<_> = quoted.collect();
    assert_eq!(quoted.len(), 2, "{quoted:?}");
    for (commands, quotation) in quoted {
        run(&test_dir, &commands, quotation.as_deref());
    }
}

#[test]
fn pages_for_newcomers_are_short() {
    let words = |page: &str| page.split_whitespace().count();
    let (study, readme, index) = (words(FIRST_STUDY), words(README), INDEX.lines().count());
    assert!(
        study <= 900 && readme <= 400 && index <= 40,
        "{study} {readme} {index}"
    );
}
