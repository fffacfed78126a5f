//! Commands of tailcut as a library. The commands convert flags and scenarios to runs, and write a report of the runs.
//!
//! The program `tailcut` calls [`main`]. [`definition`] returns all commands and flags:
//!
//! ```
//! let commands = tailcut::definition();
//! let compare = commands.find_subcommand("compare").expect("a command");
//! assert!(compare.get_arguments().any(|flag| flag.get_long() == Some("topology")));
//! ```

mod args;
mod build;
mod captures;
mod changes;
mod command;
mod execution;
mod failure;
mod failure_json;
mod help;
mod interrupt;
mod join;
mod limit;
mod output;
mod picture;
mod pool;
mod progress;
mod real_hosts;
mod scenario_args;
mod sensitivity;
mod shared;

use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
use std::process::ExitCode;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Executes the command line of this process and returns the exit code.
/// Codes 0 to 2: 0 for success, 1 for a failed check, 2 for wrong input or an error of the operating system.
/// Other codes: 3 if cases of a study failed, 4 if other processes run the remaining cases, 130 for an interruption.
pub fn main() -> ExitCode {
    let is_json = failure_json::is_wanted(std::env::args_os());
    let matches = definition().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) if is_json && error.use_stderr() => {
            output::warn_json(&failure_json::of_arguments(&error));
            return ExitCode::from(2);
        }
        Err(error) => error.exit(),
    };
    output::set_quiet(cli.is_quiet());
    match execute(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match failure {
                Failure::NobodyReads => {}
                _ if is_json => output::warn_json(&failure_json::of(&failure)),
                Failure::Interrupted => {}
                _ => output::complain(&failure.to_string()),
            }
            failure.exit_code()
        }
    }
}

/// Returns the definition of all commands and flags.
pub fn definition() -> clap::Command {
    help::shortened(Cli::command())
}

fn execute(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Compare(arguments) => command::compare::execute(arguments),
        Command::Run(arguments) => command::run::execute(arguments),
        Command::Reproduce(arguments) => command::reproduce::execute(arguments),
        Command::Study(command) => command::study::execute(command),
        Command::Case(arguments) => command::case::execute(arguments),
        Command::Report(arguments) => command::report::execute(arguments),
        Command::List(arguments) => command::list::execute(arguments),
        #[cfg(all(feature = "lab", target_os = "linux"))]
        Command::Lab(command) => command::lab::execute(command),
        #[cfg(not(all(feature = "lab", target_os = "linux")))]
        Command::Lab { .. } => Err(absent("lab", " on Linux")),
        #[cfg(all(feature = "cast", target_os = "linux"))]
        Command::Cast(command) => command::cast::execute(command),
        #[cfg(not(all(feature = "cast", target_os = "linux")))]
        Command::Cast { .. } => Err(absent("cast", " on Linux")),
        #[cfg(all(feature = "probe", target_os = "linux"))]
        Command::Probe(arguments) => command::probe::execute(arguments),
        #[cfg(not(all(feature = "probe", target_os = "linux")))]
        Command::Probe { .. } => Err(absent("probe", " on Linux")),
        #[cfg(feature = "proxy")]
        Command::Proxy(command) => Ok(tailcut_repnet::proxy::execute(command)?),
        #[cfg(not(feature = "proxy"))]
        Command::Proxy { .. } => Err(absent("proxy", "")),
        #[cfg(feature = "guard")]
        Command::Guard(command) => Ok(tailcut_rans::guard::program::execute(command)?),
        #[cfg(not(feature = "guard"))]
        Command::Guard { .. } => Err(absent("guard", "")),
        #[cfg(feature = "gateway")]
        Command::Gateway(command) => Ok(tailcut_rans::gateway::execute(command)?),
        #[cfg(not(feature = "gateway"))]
        Command::Gateway { .. } => Err(absent("gateway", "")),
        Command::Bench(arguments) => command::bench::execute(arguments),
        Command::Completions { shell } => command::shell::completions(*shell),
        Command::Man { dir: None } => command::shell::manual(),
        Command::Man { dir: Some(dir) } => command::shell::write_manuals(dir),
    }
}

/// Returns the error for a command that this build does not include.
#[allow(dead_code)]
fn absent(name: &str, system: &str) -> Failure {
    Failure::Refused(anyhow::anyhow!(
        "this build has no {name}: use `cargo build --release`{system}, without --no-default-features"
    ))
}
