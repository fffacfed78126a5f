//! `tailcut completions` and `tailcut man`, generated from the definitions of the flags.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::print_exactly;
use anyhow::Context;
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use std::path::Path;
use tailcut_scenario::listing;

/// Prints completions for a shell.
/// The completions for bash and zsh include the names of designs and built-in scenarios.
///
/// # Errors
/// A built-in scenario is invalid, or standard output cannot be written.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let scenarios = listing::scenarios()?.into_iter().map(|item| item.name);
    // Completions propose only names for designs and scenarios.
    // On the command line, a scenario may also be a file, and a design may have settings.
    let mut command = with_values(Cli::command(), "compare", "designs", listing::stacks());
    command = with_values(command, "run", "scenario", scenarios);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "tailcut", &mut text);
    print_exactly(&String::from_utf8_lossy(&text))
}

fn with_values(
    command: clap::Command,
    subcommand: &'static str,
    argument: &'static str,
    values: impl IntoIterator<Item = String>,
) -> clap::Command {
    let values = PossibleValuesParser::new(values);
    command.mut_subcommand(subcommand, |found| {
        found.mut_arg(argument, |found| found.value_parser(values))
    })
}

/// Writes one manual page for each command into a directory, as `tailcut.1` and `tailcut-run.1`.
///
/// # Errors
/// The directory or a file cannot be written.
pub fn write_manuals(directory: &Path) -> Result<(), Failure> {
    let place = || format!("--dir: cannot write {}", directory.display());
    std::fs::create_dir_all(directory).with_context(place)?;
    clap_mangen::generate_to(Cli::command(), directory).with_context(place)?;
    Ok(())
}

/// Prints the manual page: the main command, followed by one section for each subcommand.
///
/// # Errors
/// Standard output cannot be written.
pub fn manual() -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let mut text = Vec::new();
    let mut render = |page: clap_mangen::Man| page.render(&mut text).map_err(anyhow::Error::new);
    render(clap_mangen::Man::new(command.clone()))?;
    for subcommand in command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
    {
        render(clap_mangen::Man::new(subcommand.clone()))?;
    }
    print_exactly(&String::from_utf8_lossy(&text))
}
