//! Constants of a run that can determine completion times.
//! The constants are timeouts, chunk size, decoding speed, and the gap of flowlets.

use crate::config::RunConfig;
use crate::{flowlets, request_traffic, run};
use std::sync::Arc;
use tailcut_design::KeyedTimer;
use tailcut_fabric::topology::Topology;
use tailcut_record::{CoarseChunk, RequestRecord, SlowCodec, Timer, Timers};
use tailcut_units::HostId;

fn timer((key, span): KeyedTimer) -> Timer {
    Timer {
        key: key.to_owned(),
        ns: span.as_ns(),
    }
}

/// Returns the timers of a run over a network.
pub(crate) fn timers(config: &RunConfig, topology: &Arc<Topology>) -> Timers {
    let Ok(plan) = config.host_plan(topology) else {
        return Timers::default();
    };
    let seat = run::seat(&plan, topology, 0);
    let timeouts = plan.timeouts(&seat).unwrap_or_default();
    let is_scdp = matches!(plan.scdp_config(&seat), Ok(Some(_)));
    Timers {
        initial: timeouts.initial.map(timer),
        least: timeouts.least.map(timer),
        codec: is_scdp.then(|| slow_codec(config, topology)).flatten(),
        gap: flowlets::gap_outside_range(config, topology),
        ..Timers::default()
    }
}

/// Returns the chunk size if it is too coarse.
/// A chunk is too coarse if most objects fit in one chunk, while clients add the chunks of several copies.
/// In a network with packets, clients add single bytes, except with a disk or with requests for single chunks.
pub(crate) fn coarse_chunk(config: &RunConfig, rows: &[RequestRecord]) -> Option<CoarseChunk> {
    let parameters = &config.settings.designs.requests;
    let policy = parameters.policy(config.stack.replication);
    let in_units =
        !config.stack.design.has_packets() || parameters.disk.is_some() || policy.asks_in_pieces();
    if !policy.aggregates || !in_units || request_traffic::part_of(config).is_none() {
        return None;
    }
    let small = rows.iter().filter(|row| row.bytes <= parameters.chunk);
    let (requests, of) = (small.count() as u64, rows.len() as u64);
    (requests * 2 > of).then_some(CoarseChunk {
        bytes: parameters.chunk.0,
        requests,
        of,
    })
}

/// Returns SCDP's decoding speed, if it is lower than the rate of a host's links.
fn slow_codec(config: &RunConfig, topology: &Topology) -> Option<SlowCodec> {
    let scdp = &config.settings.designs.scdp;
    let (symbols, size) = (scdp.block_symbols, config.settings.framing.payload);
    let seconds = scdp.decode_speed.time(symbols, size).as_secs_f64();
    let decodes_bps = f64::from(symbols) * f64::from(size) * 8.0 / seconds;
    let rates = (0..topology.hosts()).map(|host| topology.host_rate(HostId(host)).as_bps());
    let host_bps = rates.max()?;
    (decodes_bps < host_bps as f64).then_some(SlowCodec {
        decodes_bps: decodes_bps.round() as u64,
        host_bps,
    })
}
