//! The parameters of receiver-driven hosts.

use crate::kinds::{Routing, TransportKind};
use crate::own::HostSeat;
use crate::parameters::{DecodeCores, NdpParameters, ScdpParameters, ScdpPlainParameters};
use crate::stack::Stack;
use tailcut_transport::ConfigError;
use tailcut_transport::Demotion;
use tailcut_transport::ndp::NdpConfig;
use tailcut_transport::scdp::{Adaptive, Control, ModelCodec, ScdpConfig};
use tailcut_units::{Duration, Rate};

/// The fewest cores of a host where nobody says: what any server has.
const LEAST_CORES: u64 = 8;

/// As many cores as one host may have.
const MOST_CORES: u64 = 100_000;

/// The NDP of one host.
pub(super) fn ndp(
    design: Stack,
    parameters: &NdpParameters,
    seat: &HostSeat<'_>,
) -> Result<NdpConfig, ConfigError> {
    Ok(NdpConfig {
        mss: seat.framing.payload,
        initial_window: parameters.initial_window,
        pull_interval: pull_interval(seat),
        paths: match design.routing {
            Routing::Permute => u16::try_from(seat.paths).unwrap_or(u16::MAX - 1),
            _ => 1,
        },
        demotion: match design.transport {
            TransportKind::NdpPlus => demotion(&parameters.thresholds)?,
            _ => Demotion::NONE,
        },
        resends_count: parameters.resends_count,
        in_order: parameters.host_order,
        byte_time: seat.rate.serialisation(1),
        min_rto: parameters.min_rto,
        initial_rto: parameters.initial_rto,
        max_rto: NdpConfig::default().max_rto.max(parameters.initial_rto),
        seed: seat.seed,
        ..NdpConfig::default()
    })
}

/// The SCDP of one host, with its codec.
pub(super) fn scdp(
    parameters: &ScdpParameters,
    seat: &HostSeat<'_>,
) -> Result<(ScdpConfig, ModelCodec), ConfigError> {
    let payload = seat.framing.payload;
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
    let scdp = ScdpConfig {
        symbol: payload,
        initial_window,
        shared_window: shared_window.unwrap_or((initial_window * 2).div_ceil(3)),
        block_symbols: parameters.block_symbols,
        overhead: parameters.overhead,
        demotion: demotion(&parameters.thresholds)?,
        in_order: parameters.host_order,
        pull_interval: pull_interval(seat),
        byte_time: seat.rate.serialisation(1),
        timeout: parameters.timeout,
        max_timeout: ScdpConfig::default().max_timeout.max(parameters.timeout),
        max_timeouts: parameters.max_timeouts,
        ..ScdpConfig::default()
    };
    Ok((scdp, codec))
}

/// How long an end of scdp-plain waits before it knows a round trip.
pub(super) fn first_timeout(
    parameters: &ScdpPlainParameters,
    longest_round_trip: impl FnOnce() -> Duration,
) -> Duration {
    let least = Duration::from_ms(1);
    let usual = || (longest_round_trip() * 4).max(least);
    parameters.timeout.unwrap_or_else(usual)
}

/// An SCDP host over switches that drop: in one class, with a window that adapts.
pub(super) fn plain(
    scdp: ScdpConfig,
    parameters: &ScdpPlainParameters,
    timeout: Duration,
) -> ScdpConfig {
    ScdpConfig {
        initial_window: parameters.initial_window,
        shared_window: parameters.initial_window,
        demotion: Demotion::NONE,
        control: Control::Adaptive(Adaptive {
            max_window: parameters.max_window,
            loss_by_chance: parameters.loss_by_chance,
            min_timeout: parameters.min_timeout,
            ecn: parameters.ecn,
        }),
        timeout,
        max_timeout: ScdpConfig::default().max_timeout.max(timeout),
        ..scdp
    }
}

/// The time of a full packet on a host's links, with all that it takes there.
fn pull_interval(seat: &HostSeat<'_>) -> Duration {
    let full = seat.framing.wire_bytes(seat.framing.payload);
    seat.rate.serialisation(u64::from(full))
}

/// Classes by bytes sent.
///
/// # Errors
/// Thresholds that do not ascend, or too many.
pub(super) fn demotion(thresholds: &[u64]) -> Result<Demotion, ConfigError> {
    Demotion::at(thresholds).ok_or_else(|| ConfigError {
        key: "thresholds",
        found: format!("{thresholds:?}"),
        allowed: "at most 7, each greater than the one before".into(),
    })
}
