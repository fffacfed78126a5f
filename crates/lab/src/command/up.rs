//! `tailcut lab up`.

use crate::emulator::control;
use crate::emulator::host;
use crate::emulator::plan::LabPlan;
use crate::emulator::routers::USUAL_RATE;
use crate::emulator::world::child::Waiting;
use crate::emulator::world::{self, Stage};
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Child;
use tailcut_scenario::{BuiltIn, Place, Scenario, replace_topology};

/// What a lab is begun with.
#[derive(clap::Args, Debug)]
pub struct Up {
    /// The network, KIND or KIND:KEY=VALUE,... (`tailcut list topologies`)
    #[arg(long, short, value_name = "TOPOLOGY")]
    topology: Option<String>,
    /// The design: tcp, cubic, highspeed, dctcp, pias or hull, with @ecmp, @weighted-ecmp, @spray, @letflow, @conga or
    /// @expeditus; or scdp, whose switches trim, or scdp-plain
    #[arg(long, value_name = "DESIGN")]
    design: Option<String>,
    /// A scenario's file, whose network, queues and hosts the lab has
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Set any key of a scenario (`tailcut list keys`); may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run the same network N times slower: rates divided, delays multiplied
    #[arg(long, value_name = "N", default_value = "1")]
    slowdown: NonZeroU32,
    /// Let the reset of a TCP connection take its queued segments out of the switches that it passes
    #[arg(long)]
    purge_by_reset: bool,
    /// Make the switches routers: they decrement the TTL of IPv4, and answer where it ends
    #[arg(long)]
    routed: bool,
    /// Answers a second that each router gives at most [default: 1000]
    #[arg(long, value_name = "N", requires = "routed")]
    icmp_rate: Option<NonZeroU32>,
    /// Code point of the datagrams of any program that switches which trim may trim [default: 11]
    #[arg(long, value_name = "DSCP")]
    dscp_trimmable: Option<u8>,
    /// Code point that switches give datagrams that they have trimmed [default: unchanged]
    #[arg(long, value_name = "DSCP")]
    dscp_trimmed: Option<u8>,
    /// Code point of packets of the highest class, beside class selectors 6 and 7
    #[arg(long, value_name = "DSCP")]
    dscp_control: Option<u8>,
    /// The lab's name, by which other commands know it
    #[arg(long, value_name = "NAME", default_value = "lab")]
    name: String,
    /// Go on in the background; `tailcut lab down` ends it
    #[arg(long, short)]
    detach: bool,
}

/// What a lab begins with where nothing is said: 12 hosts in two racks at 100 Mb/s.
const USUAL: &str = "lab-two-racks";

/// Begins a lab.
///
/// # Errors
/// Wrong input, or the system refuses.
pub fn execute(arguments: &Up) -> Result<i32> {
    let plan = plan(arguments)?;
    if let Some(stage) = Stage::of_this_process() {
        if let Err(error) = world::live(plan, stage) {
            // The command that waits tells the user.
            println!("{error:#}");
            return Ok(2);
        }
        return Ok(0);
    }
    let hosts = plan.topology.hosts();
    let waiting = Waiting::for_signals(&[SIGINT, SIGTERM, SIGHUP])?;
    let (lab, notes) = world::bear(&arguments.name, arguments.detach)?;
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
        false => stay(lab, waiting, &plan.name),
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
            // Another design need not read all of its keys.
            usual.start_from_here();
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
        replace_topology(&mut scenario, topology, &Place::flag("--topology"))?;
    }
    if let Some(design) = &arguments.design {
        // Before keys are held against it that it does not read.
        if let Ok(known) = design.parse() {
            host::carried(known)?;
        }
        scenario.put(
            "designs",
            &vec![design.as_str()].into(),
            &Place::flag("--design"),
        )?;
    }
    for assignment in &arguments.set {
        let Some((key, value)) = assignment.split_once('=') else {
            bail!("--set: found '{assignment}'; allowed: KEY=VALUE, such as queue.limit=75KB");
        };
        scenario.set(key.trim(), value.trim(), &Place::flag("--set"))?;
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

/// Waits until the lab ends, and ends it when a signal says so.
fn stay(mut lab: Child, mut waiting: Waiting, name: &str) -> Result<i32> {
    let own = control::find(Some(name))?;
    eprintln!("tailcut lab exec HOST -- PROGRAM runs a program; Ctrl-C ends the lab");
    let status = waiting.wait(&mut lab, |lab, _| {
        if own.down().is_err() {
            let _ = kill_process(Pid::from_child(lab), Signal::KILL);
        }
    })?;
    match status.success() {
        true => Ok(0),
        false => bail!("the lab's process has died: {status}"),
    }
}
