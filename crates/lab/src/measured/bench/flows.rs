//! Benches that run scenarios with flows over the kernel's TCP.

use super::figure::Figure;
use crate::measured::wall::ThisMachine;
use anyhow::{Context, Result};
use tailcut_record::{RunRecord, WallClock};
use tailcut_scenario::{RealHosts, Scenario, Study};
use tailcut_sim::Unattended;

/// Measures the goodput of one flow on a link of 100 Mb/s.
/// The ideal goodput is 94.1 Mb/s, because Linux puts 12 bytes of TCP options into each segment.
pub fn one() -> Result<Vec<Figure>> {
    let record = measured(
        "lab-tcp",
        include_str!("../../../scenarios/bench/lab-tcp.toml"),
    )?;
    let flow = record.flows.first().context("the run has no flow")?;
    let fct = flow.fct.context("the flow has not ended")?;
    let goodput = flow.bytes.0 as f64 * 8.0 / fct.as_secs_f64() / 1e6;
    let mut figures = vec![Figure::wanted(
        "goodput (Mb/s)",
        goodput,
        94.1 * 0.995,
        94.1 * 1.005,
    )];
    figures.push(Figure::without_target(
        "segments sent again",
        f64::from(flow.retransmissions),
    ));
    figures.extend(lateness(&record)?);
    Ok(figures)
}

/// Measures the lateness and the CPU time of a network with twelve hosts at a load of 85 %.
pub fn twelve() -> Result<Vec<Figure>> {
    let name = "lab-12x100M";
    let record = measured(
        name,
        include_str!("../../../scenarios/bench/lab-12x100M.toml"),
    )?;
    let seconds = record.totals.simulated.as_secs_f64();
    let packets = record.totals.sent.packets as f64 / seconds;
    let cpu = record
        .cost
        .cpu_seconds
        .context("the record contains no CPU time")?;
    let hops = record.totals.packet_hops as f64;
    let wall = wall(&record)?;
    let mut figures = vec![
        Figure::without_target("packets a second into the fabric", packets),
        Figure::wanted("lateness, p99 (us)", wall.late_p99_us, 0.0, 200.0),
        Figure::without_target("fabric thread, share of a core", cpu / seconds),
        Figure::without_target("fabric thread, ns per packet and hop", cpu * 1e9 / hops),
    ];
    figures.extend(lateness(&record)?);
    Ok(figures)
}

fn measured(name: &str, text: &str) -> Result<RunRecord> {
    let scenario = Scenario::parse(&format!("scenarios/bench/{name}.toml"), "", text)?;
    let study = Study::of(&scenario)?;
    let config = study
        .runs
        .first()
        .context("the scenario of the bench has no run")?;
    let run = ThisMachine.run(config, &Unattended, &mut ())?;
    Ok(run.with_flows(Vec::from))
}

fn wall(record: &RunRecord) -> Result<&WallClock> {
    record
        .wall
        .as_ref()
        .context("the record contains no lateness, because the run did not use real hosts")
}

fn lateness(record: &RunRecord) -> Result<[Figure; 4]> {
    let wall = wall(record)?;
    Ok([
        Figure::without_target("lateness, p50 (us)", wall.late_p50_us),
        Figure::without_target("lateness, mean (us)", wall.late_mean_us),
        Figure::without_target("frames lost outside the network", wall.lost_frames as f64),
        Figure::without_target("valid (1: yes)", f64::from(u8::from(wall.is_valid))),
    ])
}
