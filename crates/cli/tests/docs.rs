//! Test that the reference in `docs/` describes exactly the keys that the parsers accept.
//!
//! `TAILCUT_WRITE_DOCS=1` makes the test update the tables of `docs/scenario.md`.

use std::fs;
use std::path::PathBuf;
use tailcut_scenario::schema::{Fallback, Section, sections};

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

fn read(name: &str) -> String {
    let path = document(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the table of a section's keys that the reference must contain.
fn table(section: &Section) -> String {
    let mut text =
        String::from("| key | unit | default | allowed | meaning |\n|---|---|---|---|---|\n");
    for key in section.keys {
        let default = match key.default {
            Fallback::Is("") => "empty".to_owned(),
            Fallback::Follows(words) => words.to_owned(),
            _ => format!("`{}`", key.default_text()),
        };
        let (name, unit) = (key.name, key.kind.unit());
        let cells = [
            format!("`{name}`"),
            unit.to_owned(),
            default,
            key.allowed(),
            key.about.to_owned(),
        ];
        text.push_str(&format!(
            "| {} |\n",
            cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
        ));
    }
    text
}

fn markers(section: &Section) -> (String, String) {
    let name = if section.name.is_empty() {
        "study"
    } else {
        section.name
    };
    (
        format!("<!-- keys of {name} -->\n"),
        format!("<!-- end of {name} -->"),
    )
}

#[test]
fn the_scenario_reference_lists_every_key_that_the_parser_takes_and_no_other() {
    let mut text = read("scenario.md");
    let write = std::env::var_os("TAILCUT_WRITE_DOCS").is_some();
    for section in sections() {
        let (open, close) = markers(section);
        let start = text.find(&open).unwrap_or_else(|| panic!("no {open}")) + open.len();
        let end = start
            + text[start..]
                .find(&close)
                .unwrap_or_else(|| panic!("no {close}"));
        if write {
            text.replace_range(start..end, &table(section));
        } else {
            for (written, expected) in text[start..end].lines().zip(table(section).lines()) {
                assert_eq!(written, expected, "a key of {}", section.header());
            }
            assert_eq!(
                &text[start..end],
                table(section),
                "the keys of {}",
                section.header()
            );
        }
    }
    if write {
        fs::write(document("scenario.md"), text).expect("docs can be written");
    }
}

#[test]
fn the_command_reference_names_every_command_and_flag() {
    let text = read("cli.md");
    let mut commands = vec![("tailcut".to_owned(), tailcut::definition())];
    while let Some((name, command)) = commands.pop() {
        assert!(text.contains(&name), "no {name}");
        let arguments = command.get_arguments();
        for argument in arguments.filter(|argument| !argument.is_hide_set()) {
            if let Some(long) = argument.get_long() {
                assert!(
                    text.contains(&format!("`--{long}")),
                    "no --{long} of {name}"
                );
            }
        }
        let below = command.get_subcommands();
        commands.extend(below.map(|one| (format!("{name} {}", one.get_name()), one.clone())));
    }
}
