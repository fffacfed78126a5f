//! `tailcut lab up`.

use crate::emulator::control;
use crate::emulator::host;
use crate::emulator::plan::LabPlan;
use crate::emulator::routers::USUAL_RATE;
use crate::emulator::sandbox::child::SignalWait;
use crate::emulator::sandbox::{self, LaunchMode};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Child;
use tailcut_scenario::{BuiltIn, Location, Scenario, replace_topology};

/// Arguments of `tailcut lab up`.
#[derive(clap::Args, Debug)]
pub struct Up {
    /// Network, as KIND or KIND:KEY=VALUE,... (`tailcut list topologies`)
    #[arg(long, short, value_name = "TOPOLOGY")]
    topology: Option<String>,
    /// Design: tcp, cubic, highspeed, dctcp, pias or hull, with @ecmp, @weighted-ecmp, @spray, @letflow, @conga or
    /// @expeditus; or scdp (its switches trim packets) or scdp-plain
    #[arg(long, value_name = "DESIGN")]
    design: Option<String>,
    /// Scenario file that defines the network, the queues and the hosts of the lab
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Set a key of the scenario (`tailcut list keys`); may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run the network N times slower: divide its rates and multiply its delays by N
    #[arg(long, value_name = "N", default_value = "1")]
    slowdown: NonZeroU32,
    /// Remove the queued segments of a TCP connection from the switches that a reset of the connection passes
    #[arg(long)]
    purge_by_reset: bool,
    /// Make the switches routers: they decrement the TTL of IPv4, and reply if it expires
    #[arg(long)]
    routed: bool,
    /// Maximum number of ICMP replies per second from each router [default: 1000]
    #[arg(long, value_name = "N", requires = "routed")]
    icmp_rate: Option<NonZeroU32>,
    /// DSCP of other programs' datagrams that trimming switches may trim [default: 11]
    #[arg(long, value_name = "DSCP")]
    dscp_trimmable: Option<u8>,
    /// DSCP that switches set on trimmed datagrams [default: unchanged]
    #[arg(long, value_name = "DSCP")]
    dscp_trimmed: Option<u8>,
    /// DSCP of packets of the highest class, in addition to class selectors 6 and 7
    #[arg(long, value_name = "DSCP")]
    dscp_control: Option<u8>,
    /// Name of the lab, for other commands
    #[arg(long, value_name = "NAME", default_value = "lab")]
    name: String,
    /// Run in the background; `tailcut lab down` ends the lab
    #[arg(long, short)]
    detach: bool,
}

/// Default scenario of a lab: 12 hosts in two racks at 100 Mb/s.
const USUAL: &str = "lab-two-racks";

/// Starts a lab, and waits for its end unless it is detached.
///
/// # Errors
/// The input is wrong, or the kernel rejects a call.
pub fn execute(arguments: &Up) -> Result<i32> {
    let plan = plan(arguments)?;
    if let Some(mode) = LaunchMode::of_this_process() {
        if let Err(error) = sandbox::run_lab(plan, mode) {
            // The parent process reads this line and prints it as its error.
            println!("{error:#}");
            return Ok(2);
        }
        return Ok(0);
    }
    let hosts = plan.topology.hosts();
    let signals = SignalWait::for_signals(&[SIGINT, SIGTERM, SIGHUP])?;
    let (lab, notes) = sandbox::start_lab(&arguments.name, arguments.detach)?;
    for note in notes {
        eprintln!("note: {note}");
    }
    let design = plan.config.key().design;
    eprintln!(
        "lab {}: {hosts} hosts, h0 to h{}, {design} on {}; process {}",
        plan.name,
        hosts - 1,
        plan.config.topology.name,
        lab.id()
    );
    match arguments.detach {
        true => Ok(0),
        false => stay(lab, signals, &plan.name),
    }
}

fn plan(arguments: &Up) -> Result<LabPlan> {
    let name = &arguments.name;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 40 || !name.chars().all(is_plain) {
        bail!("--name: found '{name}'; allowed: up to 40 letters, digits, - and _");
    }
    let mut scenario = match &arguments.scenario {
        None => {
            let mut usual = BuiltIn::named(USUAL).context("no such scenario")?.parse()?;
            // The user may choose a design that ignores some keys of this scenario.
            // Keys marked as starting values cause no error if the design ignores them.
            usual.mark_as_starting_values();
            usual
        }
        Some(path) => {
            let shown = path.display().to_string();
            let text = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
            let directory = path.parent().map(PathBuf::from).unwrap_or_default();
            Scenario::parse_bytes(&shown, directory, text)?
        }
    };
    if let Some(topology) = &arguments.topology {
        replace_topology(&mut scenario, topology, &Location::flag("--topology"))?;
    }
    if let Some(design) = &arguments.design {
        // The check of the name reports an unsupported design by name.
        // Checks after the check of the name would report only keys that the design ignores.
        if let Ok(known) = design.parse() {
            host::carried(known)?;
        }
        scenario.put(
            "designs",
            &vec![design.as_str()].into(),
            &Location::flag("--design"),
        )?;
    }
    for assignment in &arguments.set {
        let Some((key, value)) = assignment.split_once('=') else {
            bail!("--set: found '{assignment}'; allowed: KEY=VALUE, such as queue.limit=75KB");
        };
        scenario.set(key.trim(), value.trim(), &Location::flag("--set"))?;
    }
    let mut plan = LabPlan::new(name, &scenario, arguments.slowdown.get())?;
    plan.purges_by_reset = arguments.purge_by_reset;
    plan.codes.trimmable = arguments.dscp_trimmable.unwrap_or(plan.codes.trimmable);
    plan.codes.trimmed = arguments.dscp_trimmed;
    plan.codes.control = arguments.dscp_control;
    plan.codes.validate()?;
    if arguments.routed {
        plan.route(arguments.icmp_rate.unwrap_or(USUAL_RATE))?;
    }
    Ok(plan)
}

/// Waits until the lab ends. A signal ends the lab.
fn stay(mut lab: Child, mut signals: SignalWait, name: &str) -> Result<i32> {
    let own = control::find(Some(name))?;
    eprintln!("tailcut lab exec HOST -- PROGRAM runs a program; Ctrl-C ends the lab");
    let status = signals.wait(&mut lab, |lab, _| {
        if own.down().is_err() {
            let _ = kill_process(Pid::from_child(lab), Signal::KILL);
        }
    })?;
    match status.success() {
        true => Ok(0),
        false => bail!("the lab's process has died: {status}"),
    }
}
