//! Test that no command lists a flag that has no effect.

use clap::error::ErrorKind;
use std::fs;
use std::path::Path;

const SHARED: [&str; 5] = ["json", "seed", "seeds", "threads", "out"];

/// Commands whose code reads shared flags, each with its shared flags. All other commands must not list shared flags.
const ACTING: [(&str, &[&str]); 24] = [
    ("compare", &SHARED),
    ("run", &SHARED),
    ("reproduce", &SHARED),
    ("study", &["json"]),
    ("study plan", &["json", "seed", "seeds", "threads"]),
    ("study submit", &["json"]),
    ("study status", &["json", "threads"]),
    ("study collect", &["json", "out"]),
    ("study retry", &["json"]),
    ("study prune", &["json"]),
    ("case", &["json", "threads"]),
    ("report", &["json", "out"]),
    ("list", &["json"]),
    ("lab status", &["json"]),
    ("lab flows", &["json", "out"]),
    ("cast", &["json"]),
    ("cast send", &["json"]),
    ("cast recv", &["json"]),
    ("cast serve", &["json"]),
    ("cast get", &["json"]),
    ("cast check", &["json"]),
    ("cast key", &["json"]),
    ("probe", &["json", "out"]),
    ("bench", &["json", "seed"]),
];

/// Collects all commands with their paths. Each command comes before its subcommands.
fn all(command: &clap::Command, path: &str, into: &mut Vec<(String, clap::Command)>) {
    for inner in command
        .get_subcommands()
        .filter(|inner| inner.get_name() != "help")
    {
        let path = format!("{path} {}", inner.get_name()).trim().to_owned();
        into.push((path.clone(), inner.clone()));
        all(inner, &path, into);
    }
}

fn commands() -> Vec<(String, clap::Command)> {
    let mut definition = tailcut::definition();
    definition.build();
    let mut commands = Vec::new();
    all(&definition, "", &mut commands);
    commands
}

#[test]
fn shared_flags_are_listed_where_they_act_and_refused_elsewhere() {
    let commands = commands();
    for (path, _) in ACTING {
        assert!(commands.iter().any(|(known, _)| known == path), "{path}");
    }
    for (path, mut command) in commands {
        let acting = ACTING.iter().find(|(known, _)| *known == path);
        let acting = acting.map_or(&[][..], |(_, flags)| flags);
        let help = command.render_long_help().to_string();
        for flag in SHARED {
            let is_listed = help.lines().any(|line| {
                let words = line.trim_start().split([' ', '<']);
                words.take(2).any(|word| word == format!("--{flag}"))
            });
            assert_eq!(
                is_listed,
                acting.contains(&flag),
                "{path}: --{flag}\n{help}"
            );
            let is_program = command
                .get_positionals()
                .any(|word| word.is_last_set() || word.is_trailing_var_arg_set());
            if is_listed || is_program {
                continue;
            }
            let words = ["tailcut"].into_iter().chain(path.split(' '));
            let words = words
                .map(str::to_owned)
                .chain([format!("--{flag}"), "1".to_owned()]);
            let refused = tailcut::definition()
                .try_get_matches_from(words)
                .expect_err(&path);
            assert_eq!(
                refused.kind(),
                ErrorKind::UnknownArgument,
                "{path} --{flag}: {refused}"
            );
        }
    }
}

/// Appends the contents of all Rust files in a directory.
fn sources(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.extension() {
            Some(extension) if extension == "rs" => {
                into.push_str(&fs::read_to_string(path).expect("a source"));
            }
            None if path.is_dir() => sources(&path, into),
            _ => {}
        }
    }
}

#[test]
fn the_code_reads_every_flag_that_a_command_has() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for name in ["cast", "cli", "lab", "probe", "proxy", "rans", "repnet"] {
        sources(&crates.join(name).join("src"), &mut text);
    }
    for (path, command) in commands() {
        for flag in command.get_arguments() {
            let field = flag.get_id().as_str();
            if ["help", "version"].contains(&field) {
                continue;
            }
            let is_read = text.match_indices(&format!(".{field}")).any(|(at, found)| {
                let after = text[at + found.len()..].chars().next();
                after.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
            });
            let is_taken = text.contains(&format!("{{ {field} }}"))
                || text.contains(&format!("{{ {field}, flags }}"));
            assert!(is_read || is_taken, "{path}: nothing reads {field}");
        }
    }
}
