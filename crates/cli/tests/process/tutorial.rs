//! Commands of `docs/first-study.md`: each one runs, and the page quotes what it prints.

use crate::test_dir::{Ended, TestDir};
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/first-study.md");

/// Largest number of words of the page.
const MOST_WORDS: usize = 900;

/// Returns the parts of the page: each block of commands with the quotation after it, if there is one.
fn parts() -> Vec<(String, Option<String>)> {
    let mut parts: Vec<(String, Option<String>)> = Vec::new();
    let mut in_block = false;
    for line in PAGE.lines() {
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

#[test]
fn the_commands_of_the_first_study_run_and_print_what_the_page_quotes() {
    let test_dir = TestDir::new();
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_tailcut")).parent();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.expect("a directory").display());
    let parts = parts();
    assert!(parts.len() >= 5, "{parts:?}");
    for (commands, quotation) in parts {
        let mut shell = Command::new("sh");
        shell
            .args(["-e", "-c", &commands])
            .current_dir(test_dir.path())
            .env("PATH", &path);
        let ended = Ended::from(shell.output().expect("a shell"));
        assert_eq!(ended.code, Some(0), "{commands}\n{}", ended.stderr);
        if let Some(quotation) = quotation {
            let printed = [ended.stdout, ended.stderr].concat();
            assert!(
                printed.contains(&quotation),
                "{commands}\n{quotation}\n{printed}"
            );
        }
    }
}

#[test]
fn the_first_study_is_short() {
    let words = PAGE.split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words");
}
