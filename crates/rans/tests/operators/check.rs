//! Tests of the subcommand that checks a file.

use super::programs::dir;
use clap::Parser;
use std::fs;
use tailcut_rans::{gateway, guard::program};

#[derive(Parser)]
enum Command {
    Gateway(gateway::GatewayCommand),
    Guard(program::GuardCommand),
}

/// Runs a command that ends by itself. Returns its error.
fn run(arguments: &[&str]) -> Option<String> {
    let arguments = ["tailcut"].iter().chain(arguments);
    let ended = match Command::try_parse_from(arguments).expect("arguments") {
        Command::Gateway(command) => gateway::execute(&command),
        Command::Guard(command) => program::execute(&command),
    };
    ended.err().map(|error| format!("{error:#}"))
}

#[test]
fn a_check_finds_the_errors_of_a_start_and_opens_nothing() {
    let dir = dir();
    let files = [
        (
            "gateway",
            "[[routes]]\nlisten = 1\nreplicas = [2]\n",
            "purges = \"often\"",
            "4:10: \"routes[0].purges\"",
        ),
        (
            "guard",
            "listen = 1\nto = 2\nworkers = 3\n",
            "queue = -1",
            "4:9: \"queue\"",
        ),
    ];
    for (name, valid, wrong, place) in files {
        let path = dir.path().join(format!("{name}.toml"));
        let file = path.to_str().expect("text");
        // Only root can listen on port 1, so a start would fail for other users.
        fs::write(&path, valid).expect("written");
        assert_eq!(run(&[name, "check", file]), None);
        fs::write(&path, format!("{valid}{wrong}\n")).expect("written");
        let found = run(&[name, "check", file]).expect("an error");
        assert!(found.starts_with(&format!("{file}:{place}")), "{found}");
        assert_eq!(run(&[name, "--config", file]).as_ref(), Some(&found));
        fs::write(&path, valid).expect("written");
        let set = run(&[name, "check", file, "--set", "drain_timeout=soon"]).expect("an error");
        assert!(
            set.starts_with("command line: \"drain_timeout\" is \"soon\""),
            "{set}"
        );
    }
}
