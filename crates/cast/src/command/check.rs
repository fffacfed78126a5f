//! Command `tailcut cast check`.

use super::address;
use super::common::{CommandEvent, Failed, rate};
use super::multicast::{self, MulticastOf};
use crate::check::{self, Options, Reach, Report};
use crate::seal;
use crate::udp::SocketOptions;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tailcut_units::Rate;

/// Flags of `tailcut cast check`.
#[derive(Args, Debug)]
pub struct CheckOf {
    /// Hosts that run `recv` or `serve`, each HOST or HOST:PORT
    #[arg(value_name = "HOST", required = true)]
    hosts: Vec<String>,
    /// Key file, the same at all ends
    #[arg(long, value_name = "FILE")]
    psk: Option<PathBuf>,
    /// DSCP to test, 0 to 63; 10 unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..64))]
    dscp: Option<u8>,
    /// Rate of the packets that measure losses, such as 100Mbps; 2.4Mbps unless given
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,
    /// Multicast group that the hosts should receive from (`recv --group`), such as 239.1.2.3
    #[arg(long, value_name = "ADDRESS", value_parser = multicast::group)]
    group: Option<IpAddr>,
    #[command(flatten)]
    multicast: MulticastOf,
}

pub(super) fn execute(
    arguments: &CheckOf,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let hosts = address::resolve_all(&arguments.hosts, "each host once")?;
    let key = arguments.psk.as_deref().map(seal::load).transpose();
    let options = Options {
        key: key.map_err(|error| Failed::usage(error.to_string()))?,
        socket: SocketOptions {
            dscp: arguments.dscp.unwrap_or(0),
            ..SocketOptions::default()
        },
        group: arguments.group,
        multicast: arguments.multicast.resolve()?,
        ..Options::default()
    };
    let rate = arguments
        .rate
        .map_or(options.rate, |rate| rate.as_bps() as f64);
    let options = Options { rate, ..options };
    if let Some(group) = arguments.group {
        multicast::agrees(group, &hosts)?;
    }
    let mut bad = Vec::new();
    for &host in &hosts {
        let local = match arguments.group {
            Some(_) => address::all(&host),
            None => address::local(&[host])?,
        };
        let report = check::check(local, host, &options, stop)?;
        notify(CommandEvent::Checked { report: &report });
        if !report.is_good() {
            bad.push(report);
        }
    }
    conclude(&bad, hosts.len())
}

/// Returns an error if a host does not answer. The exit codes are the same as for `send`.
fn conclude(bad: &[Report], all: usize) -> Result<(), Failed> {
    let Some(first) = bad.first() else {
        return Ok(());
    };
    if all == 1 {
        let why = match first.reach {
            Reach::HasNoKey => "the other end has no key",
            _ => "no answer",
        };
        return Err(Failed::system(format!("{}: {why}", first.to)));
    }
    let names: Vec<String> = bad.iter().map(|report| report.to.to_string()).collect();
    Err(Failed {
        code: if bad.len() == all { 2 } else { 1 },
        words: format!(
            "{} of {all} hosts cannot be reached: {}",
            bad.len(),
            names.join(", ")
        ),
    })
}
