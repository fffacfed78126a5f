//! Subcommand `tailcut gateway`.

use super::acceptor::Gateway;
use super::config::{DEFAULT_ADMIN, GatewayConfig};
use anyhow::Result;
use clap::Args;
use tailcut_proxy::config::{Action, Flags};
use tailcut_proxy::run;

/// Flags of `tailcut gateway`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    mut_arg("config", |flag| flag.required_unless_present("listen")),
    mut_arg("admin", |flag| Flags::admin_help(flag, DEFAULT_ADMIN)),
    after_help = "\
A request goes to two replicas at once if both drop the work of clients that leave: they stand behind
`tailcut guard`, or purges = \"yes\". Otherwise the second copy is sent late, and for at most one request
in ten. The first good answer is returned. Only GET, HEAD and OPTIONS are sent twice.
docs/gateway.md lists all keys, and docs/services.md describes when a gateway does not help.

SIGTERM stops accepting and lets open requests finish. SIGHUP, or a change of the file of --config or of
a certificate, reads the configuration again. If it has an error, the present configuration stays.

Examples:
  tailcut gateway --listen 8080 --replica http://10.0.0.1:80 --replica http://10.0.0.2:80
  tailcut gateway --listen 8080 --replica 9001 --replica 9002 --set purges=yes --set protocol=http2
  tailcut gateway check /etc/tailcut/gateway.toml"
)]
pub struct GatewayCommand {
    /// Address of one more route, in addition to the routes of the file; a port alone means 127.0.0.1
    #[arg(long, value_name = "HOST:PORT", requires = "replica")]
    listen: Option<String>,
    /// A replica of that route, such as http://10.0.0.1:80, https://10.0.0.1, or a port; may be given again
    #[arg(long, value_name = "REPLICA", requires = "listen")]
    replica: Vec<String>,
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    action: Option<Action>,
}

/// Runs the command.
///
/// # Errors
/// A value in the configuration that is not allowed, or an address that cannot be listened on.
pub fn execute(command: &GatewayCommand) -> Result<()> {
    let check = command.action.as_ref().map(Action::flags);
    let flags = check.as_ref().unwrap_or(&command.flags);
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
