//! `tailcut lab flows`.

use super::lab_selection::LabSelection;
use crate::emulator::control;
use crate::emulator::status::Status;
use crate::emulator::tracker::{TrackedFlow, TrackedFlows};
use anyhow::{Result, bail};
use std::path::PathBuf;
use tailcut_record::{FlowRecord, PortTotals, RunKey, RunRecord, RunTotals};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

/// Arguments of `tailcut lab flows`.
#[derive(clap::Args, Debug)]
pub struct Flows {
    #[command(flatten)]
    selection: LabSelection,
    /// Print JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Directory for the results [default: out/lab-NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Name of the workload class to which all recorded flows belong.
const CLASS: &str = "programs";

/// Returns the record with the flows that programs have sent, and notes about flows that are missing in the record.
///
/// # Errors
/// The lab does not exist, it has ended, or no program has sent data over TCP.
pub fn record(arguments: &Flows) -> Result<(RunRecord, Vec<String>)> {
    let lab = control::find(arguments.selection.lab.as_deref())?;
    let (tracked, status) = (lab.flows()?, lab.status()?);
    if tracked.flows.is_empty() {
        bail!(
            "no program on {} has sent anything over TCP yet",
            lab.name()
        );
    }
    let notes = notes(&tracked);
    Ok((run(&tracked, &status), notes))
}

/// Returns the default directory of the record, one for each lab.
///
/// # Errors
/// The lab does not exist.
pub fn place(arguments: &Flows) -> Result<PathBuf> {
    let lab = control::find(arguments.selection.lab.as_deref())?;
    Ok(PathBuf::from("out").join(format!("lab-{}", lab.name())))
}

fn notes(tracked: &TrackedFlows) -> Vec<String> {
    let mut notes = Vec::new();
    if tracked.forgotten > 0 {
        notes.push(format!(
            "not included: the first {} flows",
            tracked.forgotten
        ));
    }
    if tracked.not_followed > 0 {
        let count = tracked.not_followed;
        notes.push(format!(
            "not included: {count} connections, because too many were open"
        ));
    }
    notes
}

fn run(tracked: &TrackedFlows, status: &Status) -> RunRecord {
    let mut flows: Vec<FlowRecord> = tracked.flows.iter().map(flow).collect();
    flows.sort_by_key(|flow| flow.start);
    for (number, flow) in (0..).zip(&mut flows) {
        flow.flow = FlowId(number);
    }
    let key = RunKey {
        design: status.design.clone(),
        topology: status.topology.clone(),
        workload: CLASS.to_owned(),
        load: None,
        seed: 0,
        parameters: Vec::new(),
    };
    let up = Duration::from_secs_f64(status.up_seconds / f64::from(status.slowdown));
    let lost = status.hosts.iter().filter_map(|host| host.tun_dropped);
    RunRecord {
        classes: vec![CLASS.to_owned()],
        totals: RunTotals {
            sent: status.sent,
            delivered: status.delivered,
            remaining: status.remaining,
            drops: tailcut_record::DropCounts(status.drops.clone()),
            marks: status.links.iter().map(|link| link.marked).sum(),
            packet_hops: status.links.iter().map(|link| link.packets).sum(),
            simulated: up,
            ..RunTotals::default()
        },
        ports: (0..).zip(&status.links).map(port).collect(),
        wall: Some(status.validity.clone().recorded(
            &status.lateness,
            lost.sum(),
            status.unloaded_us,
            status.slowdown,
        )),
        ..RunRecord::of(key, flows)
    }
}

fn flow(tracked: &TrackedFlow) -> FlowRecord {
    FlowRecord {
        src: HostId(tracked.src),
        dst: HostId(tracked.dst),
        bytes: Bytes(tracked.bytes),
        start: Time::from_ps(tracked.start_ps),
        fct: tracked.fct_ps.map(Duration::from_ps),
        handshake: tracked.handshake_ps.map(Duration::from_ps),
        payload_sent: Bytes(tracked.payload_sent),
        retransmissions: tracked.retransmissions,
        ..FlowRecord::default()
    }
}

fn port((number, link): (u32, &crate::emulator::status::LinkStatus)) -> PortTotals {
    PortTotals {
        port: number,
        name: link.link.clone(),
        packets: link.packets,
        bytes: Bytes(link.bytes),
        dropped: link.dropped,
        marked: link.marked,
        max_backlog: Bytes(link.most_queued_bytes),
    }
}
