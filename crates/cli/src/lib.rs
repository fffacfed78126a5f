//! The commands of tailcut as a library: flags and scenarios become runs, runs become a report.
//!
//! The program `tailcut` is a call of [`main`]. [`definition`] has every command and flag:
//!
//! ```
//! let commands = tailcut::definition();
//! let compare = commands.find_subcommand("compare").expect("a command");
//! assert!(compare.get_arguments().any(|flag| flag.get_long() == Some("topology")));
//! ```

mod args;
mod asked;
mod build;
mod captures;
mod changes;
mod command;
mod conduct;
mod failure;
mod interrupt;
mod join;
mod limit;
mod output;
mod pool;
mod progress;
mod real_hosts;
mod sensitivity;
mod shared;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The command: reads its arguments, does what they say, and gives the exit code: 0 when done, 1 when
/// a check did not hold, 2 for wrong input or where the system refuses, 3 when cases of a study have failed,
/// 4 when other processes are at those that are left, 130 when interrupted.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match execute(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::NobodyReads | Failure::Interrupted) {
                output::note(&format!("tailcut: {failure}"));
            }
            failure.exit_code()
        }
    }
}

/// The definition of every command and flag.
pub fn definition() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
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
        Command::Lab { .. } => command::lab::refuse(),
        #[cfg(all(feature = "cast", target_os = "linux"))]
        Command::Cast(command) => command::cast::execute(command),
        #[cfg(not(all(feature = "cast", target_os = "linux")))]
        Command::Cast { .. } => Err(Failure::Refused(anyhow::anyhow!(
            "this build has no cast: it takes Linux, and `cargo build --release` without \
             --no-default-features"
        ))),
        #[cfg(all(feature = "probe", target_os = "linux"))]
        Command::Probe(arguments) => command::probe::execute(arguments),
        #[cfg(not(all(feature = "probe", target_os = "linux")))]
        Command::Probe { .. } => Err(Failure::Refused(anyhow::anyhow!(
            "this build has no probe: it takes Linux, and `cargo build --release` without \
             --no-default-features"
        ))),
        #[cfg(feature = "proxy")]
        Command::Proxy(command) => Ok(tailcut_repnet::proxy::execute(command)?),
        #[cfg(not(feature = "proxy"))]
        Command::Proxy { .. } => Err(Failure::Refused(anyhow::anyhow!(
            "this build has no proxy: it takes `cargo build --release` without --no-default-features"
        ))),
        #[cfg(feature = "guard")]
        Command::Guard(command) => Ok(tailcut_rans::guard::program::execute(command)?),
        #[cfg(not(feature = "guard"))]
        Command::Guard { .. } => Err(Failure::Refused(anyhow::anyhow!(
            "this build has no guard: it takes `cargo build --release` without --no-default-features"
        ))),
        #[cfg(feature = "gateway")]
        Command::Gateway(command) => Ok(tailcut_rans::gateway::execute(command)?),
        #[cfg(not(feature = "gateway"))]
        Command::Gateway { .. } => Err(Failure::Refused(anyhow::anyhow!(
            "this build has no gateway: it takes `cargo build --release` without --no-default-features"
        ))),
        Command::Bench(arguments) => command::bench::execute(arguments),
        Command::Completions { shell } => command::shell::completions(*shell),
        Command::Man => command::shell::manual(),
    }
}
