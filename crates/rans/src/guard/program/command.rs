//! Subcommand `tailcut guard`.

use super::acceptor::Program;
use super::config::{DEFAULT_ADMIN, ProgramConfig};
use anyhow::Result;
use clap::Args;
use tailcut_proxy::config::{Action, Flags};
use tailcut_proxy::run;

/// Flags of `tailcut guard`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    mut_arg("config", |flag| flag.required_unless_present("listen")),
    mut_arg("admin", |flag| Flags::admin_help(flag, DEFAULT_ADMIN)),
    after_help = "\
The class of a request is the urgency of its Priority field (RFC 9218). Requests with u=0 to u=5 or
without the field are primaries. Requests with u=6 are duplicates, which wait behind primaries. Requests
with u=7 are optional work, which is refused with 503 unless a worker is idle. If a client leaves, its
request is dropped, whether it waits or runs. The guard accepts HTTP/1.1 and HTTP/2, with TLS or without,
and sends HTTP/1.1 to the service. docs/services.md has the details.

SIGTERM stops accepting, and lets open requests finish. SIGHUP, or a change of the file of --config or of
a certificate, reads the configuration again. If it has an error, the present configuration stays.

Examples:
  tailcut guard --listen 8080 --to 127.0.0.1:9000 --workers 8
  tailcut guard --listen 0.0.0.0:8080 --to 9000 --workers 4 --on-cancel hold-slot
  tailcut guard --config /etc/tailcut/guard.toml --set workers=16"
)]
pub struct GuardCommand {
    /// Address where requests are accepted; a port alone means 127.0.0.1
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Address of the service, which gets HTTP/1.1; a port alone means 127.0.0.1
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Requests that the service runs at the same time
    #[arg(long, value_name = "N")]
    workers: Option<String>,
    /// Largest number of requests that wait;
    /// if there are more, a request of the lowest class is refused with 503 [default: 1024]
    #[arg(long, value_name = "N")]
    queue: Option<String>,
    /// Action for a running request whose client leaves:
    /// kill closes the connection to the service, and gives its worker to the next request;
    /// hold-slot lets the service finish, and keeps its worker until then [default: kill]
    #[arg(long, value_name = "WHAT")]
    on_cancel: Option<String>,
    /// With hold-slot: longest time for which a request without a client keeps its worker;
    /// then its connection to the service is closed [default: 5m]
    #[arg(long, value_name = "TIME")]
    hold_timeout: Option<String>,
    /// Time that a refused client has to wait, in whole seconds [default: 1s]
    #[arg(long, value_name = "TIME")]
    retry_after: Option<String>,
    /// DSCP of packets to clients, for primaries, duplicates and optional work, such as 0,1,1
    #[arg(long, value_name = "N,N,N")]
    dscp: Option<String>,
    /// Largest number of connections [default: 10000]
    #[arg(long, value_name = "N")]
    connections: Option<String>,
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    action: Option<Action>,
}

/// Runs the command.
///
/// # Errors
/// The configuration contains a value that is not allowed, or the guard cannot listen on an address.
pub fn execute(command: &GuardCommand) -> Result<()> {
    let check = command.action.as_ref().map(Action::flags);
    let flags = check.as_ref().unwrap_or(&command.flags);
    let keys = [
        ("listen", &command.listen),
        ("to", &command.to),
        ("workers", &command.workers),
        ("queue", &command.queue),
        ("on_cancel", &command.on_cancel),
        ("hold_timeout", &command.hold_timeout),
        ("retry_after", &command.retry_after),
        ("dscp", &command.dscp),
        ("limits.connections", &command.connections),
    ];
    run::<Program>(flags, || {
        let mut draft = flags.draft()?;
        for (key, value) in keys {
            draft.flag(key, value.as_deref())?;
        }
        flags.apply(&mut draft)?;
        ProgramConfig::read(&draft)
    })
}
