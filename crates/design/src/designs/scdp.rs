//! SCDP: receivers pull RaptorQ symbols, over switches that trim and have priorities.

use crate::design::Design;
use crate::hosts::{HostSeat, Hosts, Made, demotion};
use crate::kernel::Kernel;
use crate::parameters::{DecodeCores, ScdpParameters};
use crate::ports::{Ports, room};
use tailcut_fabric::queue::{QueueConfig, Sharing, Trimming};
use tailcut_transport::ConfigError;
use tailcut_transport::scdp::{ModelCodec, ScdpConfig};
use tailcut_units::Rate;

/// Smallest number of cores of a host if the scenario sets none: a small server has 8.
const LEAST_CORES: u64 = 8;
/// Largest number of cores of a host.
const MOST_CORES: u64 = 100_000;

/// Returns the configuration of one host, and its codec.
pub(super) fn host(
    parameters: &ScdpParameters,
    seat: &HostSeat<'_>,
) -> Made<(ScdpConfig, ModelCodec)> {
    let payload = seat.framing.payload;
    // Initial windows of the SCDP paper, sections V and V-F.
    let usual_window = match seat.rate {
        rate if rate <= Rate::from_gbps(1) => 12,
        rate if rate <= Rate::from_gbps(5) => 24,
        _ => 32,
    };
    let failure = parameters.decode_failure;
    if !failure.iter().all(|p| (0.0..1.0).contains(p)) {
        return Err(ConfigError {
            key: "decode_failure",
            found: format!("{failure:?}"),
            allowed: "three probabilities, at least 0, below 1".into(),
        });
    }
    let mut codec = ModelCodec::new(failure, parameters.decode_speed.clone(), seat.seed);
    let symbols = parameters.block_symbols;
    let cores = match parameters.decode_cores {
        DecodeCores::Unlimited => None,
        DecodeCores::Count(cores) => Some(cores),
        // One core decodes one block at a time. The cores must keep up with the link.
        // To keep up, all cores together decode one block in the time in which the next block arrives.
        DecodeCores::Auto => {
            let block = u64::from(symbols) * u64::from(payload);
            let arrives = seat.rate.serialisation(block);
            let takes = parameters.decode_speed.time(symbols, payload);
            let cores = takes.as_ps().div_ceil(arrives.as_ps().max(1));
            Some(cores.clamp(LEAST_CORES, MOST_CORES) as u32)
        }
    };
    if let Some(cores) = cores {
        codec = codec.on_cores(cores);
    }
    let initial_window = parameters.initial_window.unwrap_or(usual_window);
    let shared_window = parameters.shared_window;
    let usual = ScdpConfig::default();
    let config = ScdpConfig {
        symbol: payload,
        initial_window,
        // Several senders together should push more symbols than a single sender.
        shared_window: shared_window.unwrap_or((initial_window * 2).div_ceil(3)),
        block_symbols: parameters.block_symbols,
        overhead: parameters.overhead,
        demotion: demotion(&parameters.thresholds)?,
        in_order: parameters.host_order,
        pull_interval: seat.full_packet_time(),
        byte_time: seat.rate.serialisation(1),
        timeout: parameters.timeout,
        // The upper bound must not be below the timeout, or the configuration is invalid.
        max_timeout: usual.max_timeout.max(parameters.timeout),
        max_timeouts: parameters.max_timeouts,
        ..usual
    };
    Ok((config, codec))
}

/// Returns the queue of a port.
fn queue(parameters: &ScdpParameters) -> QueueConfig {
    let classes = parameters.thresholds.len() as u8 + 1;
    let sharing = Sharing::PerClass;
    QueueConfig::Trimming(Trimming {
        classes,
        data_limit: room(parameters.queue, sharing, classes),
        sharing,
        header_limit_bytes: parameters.header_queue.0,
        headers_per_data: parameters.headers_per_data,
        victim: parameters.victim,
        return_to_sender: false,
    })
}

pub(super) fn design() -> Design {
    Design {
        name: "scdp",
        summary: "SCDP: receivers pull RaptorQ symbols, over switches that trim and have priorities",
        source: "",
        handshake: false,
        several_ends: true,
        balancer: "spray",
        hosts: Hosts::scdp(|run| {
            let parameters = run.settings.designs.scdp.clone();
            Ok(move |seat: &HostSeat<'_>| host(&parameters, seat))
        })
        .reading(&["scdp.*"])
        .on_kernel(Kernel::Cast { credits: false }),
        ports: Ports::own("scdp needs switches that trim", |settings, _| {
            let queue = queue(&settings.designs.scdp);
            move |_| queue.clone()
        })
        .with_room("scdp.queue")
        .with_copies(),
        ..Design::over_tcp()
    }
}
