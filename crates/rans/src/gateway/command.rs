//! `tailcut gateway`.

use super::config::{DEFAULT_ADMIN, GatewayConfig};
use super::door::Gateway;
use anyhow::Result;
use clap::Args;
use tailcut_proxy::config::Flags;
use tailcut_proxy::run;

/// The flags of `tailcut gateway`.
#[derive(Args, Debug)]
#[command(
    mut_arg("config", |flag| flag.required_unless_present("listen")),
    mut_arg("admin", |flag| Flags::admin_help(flag, DEFAULT_ADMIN)),
    after_help = "\
A request goes to two replicas at once where both drop the work of clients that leave (they stand
behind `tailcut guard`, or purges = \"yes\"); elsewhere a second copy goes out late, and for one request
in ten at most. The first good answer is the answer. Only GET, HEAD and OPTIONS are sent twice.
docs/gateway.md has every key, and docs/services.md says when a gateway does not help.

SIGTERM stops accepting and lets open requests finish. SIGHUP, or a change of the file of --config or of
a certificate, reads everything again; what is wrong then changes nothing.

Examples:
  tailcut gateway --listen 8080 --replica http://10.0.0.1:80 --replica http://10.0.0.2:80
  tailcut gateway --listen 8080 --replica 9001 --replica 9002 --set purges=yes --set protocol=http2
  tailcut gateway --config /etc/tailcut/gateway.toml --check"
)]
pub struct GatewayCommand {
    /// One more route than the file has: where to accept requests; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", requires = "replica")]
    listen: Option<String>,
    /// A replica of that route, such as http://10.0.0.1:80, https://10.0.0.1, or a port; may be given again
    #[arg(long, value_name = "REPLICA", requires = "listen")]
    replica: Vec<String>,
    #[command(flatten)]
    flags: Flags,
}

/// Carries the command out.
///
/// # Errors
/// A configuration that is not allowed, or an address that cannot be listened on.
pub fn execute(command: &GatewayCommand) -> Result<()> {
    let flags = &command.flags;
    run::<Gateway>(flags, || {
        let mut draft = flags.draft()?;
        if let Some(listen) = &command.listen {
            draft.route([("listen", listen.as_str())], false);
            draft.list("replicas", &command.replica);
        }
        flags.apply(&mut draft)?;
        GatewayConfig::read(&draft)
    })
}
