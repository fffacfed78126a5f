//! `tailcut lab`: one file for each command.

mod down;
mod exec;
pub mod flows;
mod link;
mod status;
mod up;
mod which;

use clap::Subcommand;

/// The commands of a lab.
#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Begin a lab; it stays in the foreground and ends with Ctrl-C
    #[command(after_help = "\
Examples:
  tailcut lab up
  tailcut lab up --topology leaf-spine:hosts=4,leaves=2,spines=2,rate=100Mbps --design cubic@conga
  tailcut lab up -d --name second --set queue.limit=75KB")]
    Up(up::Up),
    /// Run a program on a host; other hosts are reached by their names: h0, h1, ...
    #[command(after_help = "\
The exit code is that of the program; 128 and the signal's number where a signal ended it, 127 where
there is no such program, 126 where it cannot be run.

Examples:
  tailcut lab exec h0 -- iperf3 -s
  tailcut lab exec h3 -- iperf3 -c h0")]
    Exec(exec::Exec),
    /// Open a shell on a host
    Shell(exec::Shell),
    /// Show hosts, links, queues, drops and lateness
    Status(status::StatusOf),
    /// Show the flows that programs have sent over TCP, with a report
    #[command(after_help = "\
The flows of all TCP connections since the lab began are written as the run of a study, into --out or
out/lab-NAME: tables, and report.html. A connection is up to two flows, one for each direction.

Examples:
  tailcut lab flows
  tailcut lab flows --out out/redis --json")]
    Flows(flows::Flows),
    /// Change a link while the lab runs, in both directions
    #[command(after_help = "\
Examples:
  tailcut lab link leaf0-spine1 down
  tailcut lab link leaf0-spine1 up
  tailcut lab link h0-leaf0 --rate 10Mbps --delay 1ms")]
    Link(link::Link),
    /// End a lab, its hosts and every program on them
    Down(down::Down),
}

/// Carries a command out, and gives the exit code. `keep` is what is done with flows.
///
/// # Errors
/// Wrong input, or the system refuses.
pub fn execute<E: From<anyhow::Error>>(
    command: &LabCommand,
    keep: impl FnOnce(&flows::Flows) -> Result<(), E>,
) -> Result<i32, E> {
    let code = match command {
        LabCommand::Flows(arguments) => return keep(arguments).map(|()| 0),
        LabCommand::Up(arguments) => up::execute(arguments)?,
        LabCommand::Exec(arguments) => exec::execute(arguments)?,
        LabCommand::Shell(arguments) => exec::shell(arguments)?,
        LabCommand::Status(arguments) => status::execute(arguments)?,
        LabCommand::Link(arguments) => link::execute(arguments)?,
        LabCommand::Down(arguments) => down::execute(arguments)?,
    };
    Ok(code)
}
