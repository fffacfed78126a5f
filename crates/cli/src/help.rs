//! Short and long help. The short help (`-h`) has one sentence for each flag and no examples.
//! The long help (`--help`) has the whole text.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Last line of the short help.
const MORE: &str = "--help describes the flags in full, with examples.";

/// Flags that only the long help lists, because they are rarely used.
const RARE: [&str; 13] = [
    "accept_older",
    "arrivals",
    "capture",
    "capture_bytes",
    "capture_flows",
    "capture_seeds",
    "clock",
    "find_limit",
    "fresh",
    "matrix",
    "sensitivity",
    "slowdown",
    "zip",
];

/// Returns the command with a short help text, and the same for all its subcommands.
pub fn shortened(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    let mut command = command.mut_args(first_sentence);
    for name in names {
        command = command.mut_subcommand(name, shortened);
    }
    match command.get_after_help().cloned() {
        Some(examples) => command.after_long_help(examples).after_help(MORE),
        None => command,
    }
}

/// Returns the flag with the first sentence of its help as its short help.
fn first_sentence(flag: Arg) -> Arg {
    let is_rare = RARE.contains(&flag.get_id().as_str());
    let flag = flag.hide_short_help(is_rare);
    let Some(all) = flag.get_help().filter(|_| flag.get_long_help().is_none()) else {
        return flag;
    };
    let all: StyledStr = all.clone();
    let text = all.to_string();
    let mut ends = text.match_indices(". ").map(|(end, _)| end);
    let is_next_sentence = |end: &usize| text[end + 2..].starts_with(char::is_uppercase);
    match ends.find(is_next_sentence) {
        Some(end) => flag.help(text[..end].to_owned()).long_help(all),
        None => flag,
    }
}
