//! `tailcut guard`.

use super::config::{DEFAULT_ADMIN, ProgramConfig};
use super::door::Program;
use anyhow::Result;
use clap::Args;
use tailcut_proxy::config::Flags;
use tailcut_proxy::run;

/// The flags of `tailcut guard`.
#[derive(Args, Debug)]
#[command(
    mut_arg("config", |flag| flag.required_unless_present("listen")),
    mut_arg("admin", |flag| Flags::admin_help(flag, DEFAULT_ADMIN)),
    after_help = "\
The class of a request is the urgency of its Priority field (RFC 9218): u=0 to u=5, and none, are
primaries; u=6 are duplicates, which wait behind primaries; u=7 is optional work, which is refused
with 503 unless a worker is idle. A client that leaves takes its request along, whether it waits or
runs. HTTP/1.1 and HTTP/2, with TLS or without; to the service HTTP/1.1. docs/services.md has the details.

SIGTERM stops accepting, and lets open requests finish. SIGHUP, or a change of the file of --config or of
a certificate, reads everything again; what is wrong then changes nothing.

Examples:
  tailcut guard --listen 8080 --to 127.0.0.1:9000 --workers 8
  tailcut guard --listen 0.0.0.0:8080 --to 9000 --workers 4 --on-cancel hold-slot
  tailcut guard --config /etc/tailcut/guard.toml --set workers=16"
)]
pub struct GuardCommand {
    /// Where to accept requests; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// The service, with HTTP/1.1; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Requests that the service runs at once
    #[arg(long, value_name = "N")]
    workers: Option<String>,
    /// Requests that wait at most; beyond it the latest of the lowest class is refused with 503
    /// [default: 1024]
    #[arg(long, value_name = "N")]
    queue: Option<String>,
    /// What happens to a running request whose client leaves: kill closes the connection to the service, and gives
    /// its worker to the next request; hold-slot lets the service finish, and keeps its worker until then
    /// [default: kill]
    #[arg(long, value_name = "WHAT")]
    on_cancel: Option<String>,
    /// How long a request whose client has left keeps its worker with hold-slot; then its connection to the service
    /// is closed [default: 5m]
    #[arg(long, value_name = "TIME")]
    hold_timeout: Option<String>,
    /// Time that a refused client should wait, in whole seconds [default: 1s]
    #[arg(long, value_name = "TIME")]
    retry_after: Option<String>,
    /// DSCP of what goes to clients, for primaries, duplicates and optional work, such as 0,1,1
    #[arg(long, value_name = "N,N,N")]
    dscp: Option<String>,
    /// Connections at once [default: 10000]
    #[arg(long, value_name = "N")]
    connections: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

/// Carries the command out.
///
/// # Errors
/// A configuration that is not allowed, or an address that cannot be listened on.
pub fn execute(command: &GuardCommand) -> Result<()> {
    let flags = &command.flags;
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
