//! From a run's configuration to that of a receiver-driven host.

use crate::config::RunConfig;
use crate::design::{Routing, TransportKind};
use crate::parameters::DecodeCores;
use tailcut_fabric::topology::Topology;
use tailcut_transport::Demotion;
use tailcut_transport::ndp::NdpConfig;
use tailcut_transport::scdp::{ModelCodec, ScdpConfig};
use tailcut_transport::tcp::ConfigError;
use tailcut_units::{Duration, HostId, Rate, stream_seed};

/// Random streams of hosts, for [`stream_seed`].
const HOST_DRAWS: u64 = 0x686f_7374;

/// The fewest cores of a host where nobody says: what any server has.
const LEAST_CORES: u64 = 8;

/// As many cores as one host may have.
const MOST_CORES: u64 = 100_000;

/// The seed of a host's random stream.
pub(crate) fn host_seed(config: &RunConfig, host: HostId) -> u64 {
    stream_seed(config.seed, HOST_DRAWS, u64::from(host.0))
}

/// The NDP of one host.
pub(crate) fn ndp(
    config: &RunConfig,
    topology: &Topology,
    host: HostId,
) -> Result<NdpConfig, ConfigError> {
    let parameters = &config.designs.ndp;
    Ok(NdpConfig {
        mss: config.framing.payload,
        initial_window: parameters.initial_window,
        pull_interval: pull_interval(config, topology, host),
        paths: match config.design.routing {
            Routing::Permute => u16::try_from(topology.paths).unwrap_or(u16::MAX - 1),
            _ => 1,
        },
        demotion: match config.design.transport {
            TransportKind::NdpPlus => demotion(&parameters.thresholds)?,
            _ => Demotion::NONE,
        },
        resends_count: parameters.resends_count,
        in_order: parameters.host_order,
        byte_time: topology.host_rate(host).serialisation(1),
        min_rto: parameters.min_rto,
        initial_rto: parameters.initial_rto,
        max_rto: NdpConfig::default().max_rto.max(parameters.initial_rto),
        seed: host_seed(config, host),
        ..NdpConfig::default()
    })
}

/// The SCDP of one host, with its codec.
pub(crate) fn scdp(
    config: &RunConfig,
    topology: &Topology,
    host: HostId,
) -> Result<(ScdpConfig, ModelCodec), ConfigError> {
    let parameters = &config.designs.scdp;
    let usual_window = match topology.host_rate(host) {
        rate if rate <= Rate::from_gbps(1) => 12,
        rate if rate <= Rate::from_gbps(5) => 24,
        _ => 32,
    };
    let failure = parameters.decode_failure;
    if !failure.iter().all(|p| (0.0..1.0).contains(p)) {
        return Err(ConfigError {
            key: "decode_failure",
            found: format!("{failure:?}"),
            allowed: "three probabilities, at least 0, below 1",
        });
    }
    let seed = host_seed(config, host);
    let mut codec = ModelCodec::new(failure, parameters.decode_speed.clone(), seed);
    let symbols = parameters.block_symbols;
    let block = u64::from(symbols) * u64::from(config.framing.payload);
    let cores = match parameters.decode_cores {
        DecodeCores::Unlimited => None,
        DecodeCores::Count(cores) => Some(cores),
        DecodeCores::Auto => {
            let arrives = topology.host_rate(host).serialisation(block);
            let takes = parameters
                .decode_speed
                .time(symbols, config.framing.payload);
            Some(
                takes
                    .as_ps()
                    .div_ceil(arrives.as_ps().max(1))
                    .clamp(LEAST_CORES, MOST_CORES) as u32,
            )
        }
    };
    if let Some(cores) = cores {
        codec = codec.on_cores(cores);
    }
    let initial_window = parameters.initial_window.unwrap_or(usual_window);
    let shared_window = parameters.shared_window;
    let scdp = ScdpConfig {
        symbol: config.framing.payload,
        initial_window,
        shared_window: shared_window.unwrap_or((initial_window * 2).div_ceil(3)),
        block_symbols: parameters.block_symbols,
        overhead: parameters.overhead,
        demotion: demotion(&parameters.thresholds)?,
        in_order: parameters.host_order,
        pull_interval: pull_interval(config, topology, host),
        byte_time: topology.host_rate(host).serialisation(1),
        timeout: parameters.timeout,
        max_timeout: ScdpConfig::default().max_timeout.max(parameters.timeout),
        max_timeouts: parameters.max_timeouts,
        ..ScdpConfig::default()
    };
    Ok((scdp, codec))
}

/// The time of a full packet on a host's link, with all that it takes there.
fn pull_interval(config: &RunConfig, topology: &Topology, host: HostId) -> Duration {
    let framing = &config.framing;
    let full = framing.wire_bytes(framing.payload);
    topology.host_rate(host).serialisation(u64::from(full))
}

/// Classes by bytes sent.
///
/// # Errors
/// Thresholds that do not ascend, or too many.
pub(crate) fn demotion(thresholds: &[u64]) -> Result<Demotion, ConfigError> {
    Demotion::at(thresholds).ok_or_else(|| ConfigError {
        key: "thresholds",
        found: format!("{thresholds:?}"),
        allowed: "at most 7, each greater than the one before",
    })
}
