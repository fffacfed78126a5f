//! Benches that are studies: real TCP flows.

use super::figure::Figure;
use crate::measured::wall::ThisMachine;
use anyhow::{Context, Result};
use tailcut_record::{RunRecord, WallClock};
use tailcut_scenario::{RealHosts, Scenario, Study};
use tailcut_sim::Unattended;

/// One flow on 100 Mb/s: what is left for its payload. Linux has 12 bytes of options in each segment.
pub fn one() -> Result<Vec<Figure>> {
    let record = measured(
        "lab-tcp",
        include_str!("../../../scenarios/bench/lab-tcp.toml"),
    )?;
    let flow = record.flows.first().context("one flow")?;
    let fct = flow.fct.context("the flow has not ended")?;
    let goodput = flow.bytes.0 as f64 * 8.0 / fct.as_secs_f64() / 1e6;
    let mut figures = vec![Figure::wanted(
        "goodput (Mb/s)",
        goodput,
        94.1 * 0.995,
        94.1 * 1.005,
    )];
    figures.push(Figure::told(
        "segments sent again",
        f64::from(flow.retransmissions),
    ));
    figures.extend(punctuality(&record)?);
    Ok(figures)
}

/// Twelve hosts that send and receive at 85 %.
pub fn twelve() -> Result<Vec<Figure>> {
    let name = "lab-12x100M";
    let record = measured(
        name,
        include_str!("../../../scenarios/bench/lab-12x100M.toml"),
    )?;
    let seconds = record.totals.simulated.as_secs_f64();
    let packets = record.totals.sent.packets as f64 / seconds;
    let cpu = record.cost.cpu_seconds.context("a thread's CPU time")?;
    let hops = record.totals.packet_hops as f64;
    let wall = wall(&record)?;
    let mut figures = vec![
        Figure::told("packets a second into the fabric", packets),
        Figure::wanted("lateness, p99 (us)", wall.late_p99_us, 0.0, 200.0),
        Figure::told("fabric thread, share of a core", cpu / seconds),
        Figure::told("fabric thread, ns a packet and hop", cpu * 1e9 / hops),
    ];
    figures.extend(punctuality(&record)?);
    Ok(figures)
}

fn measured(name: &str, text: &str) -> Result<RunRecord> {
    let scenario = Scenario::parse(&format!("scenarios/bench/{name}.toml"), "", text)?;
    let study = Study::of(&scenario)?;
    let config = study.runs.first().context("a bench has a run")?;
    let run = ThisMachine.run(config, &Unattended, &mut ())?;
    Ok(run.with_flows(Vec::from))
}

fn wall(record: &RunRecord) -> Result<&WallClock> {
    record.wall.as_ref().context("a run on real hosts")
}

fn punctuality(record: &RunRecord) -> Result<[Figure; 4]> {
    let wall = wall(record)?;
    Ok([
        Figure::told("lateness, p50 (us)", wall.late_p50_us),
        Figure::told("lateness, mean (us)", wall.late_mean_us),
        Figure::told("frames lost outside the network", wall.lost_frames as f64),
        Figure::told("valid (1: yes)", f64::from(u8::from(wall.is_valid))),
    ])
}
