//! Commands of `tailcut lab`. Each command has its own file.

mod down;
mod exec;
pub mod flows;
mod lab_selection;
mod link;
mod status;
mod up;

use clap::Subcommand;

/// Commands of a lab.
#[derive(Subcommand, Debug)]
pub enum LabCommand {
    /// Start a lab; it runs in the foreground until Ctrl-C
    #[command(after_help = "\
Examples:
  tailcut lab up
  tailcut lab up --topology leaf-spine:hosts=4,leaves=2,spines=2,rate=100Mbps --design cubic@conga
  tailcut lab up -d --name second --set queue.limit=75KB")]
    Up(up::Up),
    /// Run a program on a host; it reaches other hosts by their names: h0, h1, ...
    #[command(after_help = "\
The exit code is the program's. It is 128 plus the signal's number if a signal ended the program, 127 if
the program does not exist, and 126 if it cannot run.

Examples:
  tailcut lab exec h0 -- iperf3 -s
  tailcut lab exec h3 -- iperf3 -c h0")]
    Exec(exec::Exec),
    /// Open a shell on a host
    Shell(exec::Shell),
    /// Show hosts, links, queues, drops and lateness
    Status(status::StatusOf),
    /// Show the flows that programs have sent over TCP, and write a report
    #[command(after_help = "\
Writes the flows of all TCP connections since the start of the lab, as the run of a study: tables and
report.html, in --out or out/lab-NAME. A connection has up to two flows, one for each direction.

Examples:
  tailcut lab flows
  tailcut lab flows --out out/redis --json")]
    Flows(flows::Flows),
    /// Change a link of a running lab, in both directions
    #[command(after_help = "\
Examples:
  tailcut lab link leaf0-spine1 down
  tailcut lab link leaf0-spine1 up
  tailcut lab link h0-leaf0 --rate 10Mbps --delay 1ms")]
    Link(link::Link),
    /// End a lab, its hosts and all programs on them
    Down(down::Down),
}

/// Executes a command and returns its exit code.
/// For `tailcut lab flows`, the function only calls `keep`, which must write the flows.
///
/// # Errors
/// The input is wrong, or the kernel rejects a call.
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
