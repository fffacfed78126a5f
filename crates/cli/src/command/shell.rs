//! `tailcut completions` and `tailcut man`, generated from the definitions of the flags.

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::print_exactly;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints completions for a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tailcut", &mut text);
    print_exactly(&String::from_utf8_lossy(&text))
}

/// Prints the manual page: first the main command, then one section for each subcommand.
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
