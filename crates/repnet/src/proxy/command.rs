//! Subcommand `tailcut proxy repnet`.

use super::Proxy;
use super::config::{DEFAULT_ADMIN, ProxyConfig, add_environment, add_route};
use anyhow::Result;
use clap::{Args, Subcommand};
use tailcut_proxy::config::Flags;
use tailcut_proxy::run;

/// Available proxies.
#[derive(Subcommand, Debug)]
pub enum ProxyCommand {
    /// Put RepNet in front of a TCP server, or behind a TCP client: short flows race on two paths
    #[command(after_help = "\
A route is name=value pairs with commas between:
  name=NAME          label in the metrics
  listen=HOST:PORT   address of the listener; a port alone means 127.0.0.1
  to=HOST:PORT       address of the target
  replicate=in|out   out: behind a client; in: in front of a server
and any setting of a flow: mode=repflow|repsyn|off, pairing=hello|port, maxBytes=N|Infinity, ...
A route with replicate=in listens on its port and the next one; one with replicate=out connects to
its target's port and the next one, and to no other. docs/repnet-proxy.md has the details.

REPNET_* variables are the defaults of routes.

SIGTERM stops accepting and lets open flows finish. SIGHUP, or a change of the file of --config or of a
certificate, reads the configuration again. If it has an error, the present configuration stays.

--listen and --to make one route with the name flows. It is behind a client, unless --replicate is in.

Examples:
  tailcut proxy repnet --listen 8379 --to 10.1.2.3:7379
  tailcut proxy repnet --route name=redis,listen=0.0.0.0:7379,to=127.0.0.1:6379,replicate=in
  tailcut proxy repnet --route name=redis,listen=8379,to=10.1.2.3:7379,replicate=out
  tailcut proxy repnet --config /etc/tailcut/proxy.toml --check")]
    Repnet(Repnet),
}

/// Flags of `tailcut proxy repnet`.
#[derive(Args, Debug)]
#[command(
    mut_arg("config", |flag| flag.required_unless_present_any(["route", "listen"])),
    mut_arg("admin", |flag| Flags::admin_help(flag, DEFAULT_ADMIN))
)]
pub struct Repnet {
    /// One more route, in addition to the routes of the file; may be given again
    #[arg(long, value_name = "ROUTE")]
    route: Vec<String>,
    /// Listener of one route without a name: a short form of --route
    #[arg(long, value_name = "HOST:PORT", requires = "to")]
    listen: Option<String>,
    /// Target of the route of --listen
    #[arg(long, value_name = "HOST:PORT", requires = "listen")]
    to: Option<String>,
    /// Side of the route of --listen that is replicated: in (in front of a server), or out (behind a client, the default)
    #[arg(long, value_name = "SIDE", requires = "listen")]
    replicate: Option<String>,
    #[command(flatten)]
    flags: Flags,
}

/// Runs the command.
///
/// # Errors
/// A value in the configuration that is not allowed, or an address that cannot be listened on.
pub fn execute(command: &ProxyCommand) -> Result<()> {
    let ProxyCommand::Repnet(repnet) = command;
    run::<Proxy>(&repnet.flags, || repnet.config())
}

impl Repnet {
    /// Reads and checks the configuration from the file, the flags and the environment.
    fn config(&self) -> Result<ProxyConfig> {
        let mut draft = self.flags.draft()?;
        if let (Some(listen), Some(to)) = (&self.listen, &self.to) {
            let keys = [
                ("name", "flows"),
                ("listen", listen),
                ("to", to),
                ("replicate", self.replicate.as_deref().unwrap_or("out")),
            ];
            draft.route(keys, true);
        }
        for (number, text) in (1..).zip(&self.route) {
            add_route(&mut draft, text, number)?;
        }
        self.flags.apply(&mut draft)?;
        // A variable that is not UTF-8 cannot be a valid value, so it is ignored.
        add_environment(&mut draft, |name| std::env::var(name).ok());
        ProxyConfig::read(&draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: ProxyCommand,
    }

    fn config(words: &str) -> Result<ProxyConfig> {
        let line = format!("proxy repnet {words}");
        let Line { command } = Line::try_parse_from(line.split(' '))?;
        let ProxyCommand::Repnet(repnet) = command;
        repnet.config()
    }

    #[test]
    fn listen_and_to_make_the_route_that_the_long_form_makes() {
        for (short, side) in [("", "out"), (" --replicate in", "in")] {
            let short = config(&format!("--listen 8379 --to 10.1.2.3:7379{short}"));
            let long = format!("--route name=flows,listen=8379,to=10.1.2.3:7379,replicate={side}");
            let long = config(&long).expect("a configuration");
            assert_eq!(short.expect("a configuration"), long);
        }
        assert!(config("--listen 8379").is_err());
        assert!(config("--replicate in --to 1").is_err());
    }
}
