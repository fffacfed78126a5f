//! The constants of a run's transport that a completion time may come from.

use crate::config::RunConfig;
use crate::design::TransportKind;
use crate::priorities;
use std::sync::Arc;
use tailcut_fabric::topology::Topology;
use tailcut_record::{SlowCodec, Timer, Timers};
use tailcut_units::{Duration, HostId};

fn timer(key: &str, span: Duration) -> Option<Timer> {
    Some(Timer {
        key: key.to_owned(),
        ns: span.as_ns(),
    })
}

/// Those of a run over a network.
pub(crate) fn timers(config: &RunConfig, topology: &Arc<Topology>) -> Timers {
    let designs = &config.designs;
    match config.design.transport {
        TransportKind::PFabric => Timers {
            least: timer("pfabric.rto", priorities::pfabric(config, topology).rto),
            ..Timers::default()
        },
        TransportKind::Ndp | TransportKind::NdpPlus => Timers {
            least: timer("ndp.min_rto", designs.ndp.min_rto),
            ..Timers::default()
        },
        TransportKind::Scdp => Timers {
            least: timer("scdp.timeout", designs.scdp.timeout),
            codec: slow_codec(config, topology),
            ..Timers::default()
        },
        TransportKind::Stations => Timers::default(),
        _ => Timers {
            initial: timer("tcp.initial_rto", config.tcp.initial_rto),
            least: timer("tcp.min_rto", config.tcp.min_rto),
            ..Timers::default()
        },
    }
}

/// SCDP's codec, where it decodes a block more slowly than a host's links bring it.
fn slow_codec(config: &RunConfig, topology: &Topology) -> Option<SlowCodec> {
    let scdp = &config.designs.scdp;
    let (symbols, size) = (scdp.block_symbols, config.framing.payload);
    let seconds = scdp.decode_speed.time(symbols, size).as_secs_f64();
    let decodes_bps = f64::from(symbols) * f64::from(size) * 8.0 / seconds;
    let rates = (0..topology.hosts()).map(|host| topology.host_rate(HostId(host)).as_bps());
    let host_bps = rates.max()?;
    (decodes_bps < host_bps as f64).then_some(SlowCodec {
        decodes_bps: decodes_bps.round() as u64,
        host_bps,
    })
}
