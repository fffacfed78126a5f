//! Tests of every transport with arbitrary sequences of operations.
//! The operations are submit, deliver, drop, duplicate, reorder, mark, trim, return and timeout.
//! Every flow completes exactly once with all its bytes, no timer is in the past, and no state remains.

use crate::operations::{Cargo, Flow, Subject, check, operations, subject};
use crate::watched::watched;
use proptest::prelude::*;
use std::num::NonZeroU32;
use tailcut_transport::ndp::{self, NdpConfig, NdpKind};
use tailcut_transport::nic::{
    Coalesced, Coalescing, Departures, Jittered, Paced, PacedConfig, PacerConfig, Queued,
};
use tailcut_transport::pfabric::{self, PFabricConfig, PFabricKind};
use tailcut_transport::pias::Tags;
use tailcut_transport::qos::Classified;
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, Object, ScdpConfig, ScdpKind};
use tailcut_transport::tcp::{Congestion, DelayedAck, Host, Profile, TcpConfig, TimerSet};
use tailcut_transport::{Demotion, Header, Segment};
use tailcut_units::{Duration, HostId, Rate};

/// Returns a configuration with timers for a data centre, and without a limit of retransmissions.
fn config(congestion: Congestion) -> TcpConfig {
    TcpConfig {
        congestion: watched(congestion),
        min_rto: Duration::from_ms(10),
        initial_rto: Duration::from_ms(50),
        max_rto: Duration::from_ms(1_000),
        delayed_ack: Some(DelayedAck {
            segments: 2,
            timeout: Duration::from_ms(2),
        }),
        max_syn_retries: u8::MAX,
        max_data_retries: u8::MAX,
        ..TcpConfig::default()
    }
}

/// Defines a plain TCP host with one configuration.
macro_rules! tcp_subject {
    ($name:ident, $config:expr) => {
        subject!($name, Host);

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                Self(Host::new(host, $config).expect("a valid configuration"))
            }
            fn assert_sane(&self) {
                let endpoint = self.0.endpoint();
                let mss = u64::from(endpoint.config().mss);
                for id in endpoint.ids() {
                    let window = endpoint.window(id).expect("a live connection");
                    assert!(window.cwnd >= mss, "{window:?}");
                    assert!(window.ssthresh >= 2 * mss, "{window:?}");
                    let (srtt, rto) = endpoint.rtt(id).expect("a live connection");
                    assert!(rto >= endpoint.config().min_rto && rto <= endpoint.config().max_rto);
                    assert!(srtt <= rto || rto == endpoint.config().max_rto);
                }
            }
            fn assert_released(&self) {
                assert!(
                    self.0.endpoint().is_empty(),
                    "{} left",
                    self.0.endpoint().len()
                );
            }
        }
    };
}

tcp_subject!(NewReno, config(Congestion::NewReno));
tcp_subject!(Cubic, config(Congestion::Cubic));
tcp_subject!(Dctcp, config(Congestion::DCTCP));
tcp_subject!(
    NewRenoWithSack,
    TcpConfig {
        sack: true,
        ..config(Congestion::NewReno)
    }
);
tcp_subject!(
    CubicWithSack,
    TcpConfig {
        sack: true,
        ..config(Congestion::Cubic)
    }
);
tcp_subject!(
    CubicWithSackAndClassicEcn,
    TcpConfig {
        sack: true,
        classic_ecn: true,
        ..config(Congestion::Cubic)
    }
);
tcp_subject!(
    DctcpWithSack,
    TcpConfig {
        sack: true,
        ..config(Congestion::DCTCP)
    }
);
tcp_subject!(
    NewRenoWithEverything,
    TcpConfig {
        classic_ecn: true,
        delayed_ack: None,
        limited_transmit: false,
        lso_bytes: 16_384,
        ..config(Congestion::NewReno)
    }
);

/// Returns the profile of Linux, with the timers and limits of [`config`].
fn linux(congestion: Congestion) -> TcpConfig {
    let limits = config(congestion);
    TcpConfig {
        congestion: limits.congestion,
        min_rto: limits.min_rto,
        initial_rto: limits.initial_rto,
        max_rto: limits.max_rto,
        delayed_ack: limits.delayed_ack,
        max_syn_retries: limits.max_syn_retries,
        max_data_retries: limits.max_data_retries,
        ..TcpConfig::of(Profile::Linux, TimerSet::DataCentre)
    }
}

tcp_subject!(CubicOfLinux, linux(Congestion::Cubic));
tcp_subject!(DctcpOfLinux, linux(Congestion::DCTCP));
tcp_subject!(
    NewRenoOfLinuxWithoutSack,
    TcpConfig {
        sack: false,
        ..linux(Congestion::NewReno)
    }
);
tcp_subject!(
    NewRenoOfNs2,
    TcpConfig {
        delayed_ack: None,
        ..config(Congestion::NewReno)
    }
);
tcp_subject!(
    NewRenoOfLinuxWithBursts,
    TcpConfig {
        classic_ecn: true,
        delayed_ack: None,
        lso_bytes: 16_384,
        ..linux(Congestion::NewReno)
    }
);
tcp_subject!(
    NewRenoWithRackAlone,
    TcpConfig {
        tail_loss_probe: false,
        rate_reduction: false,
        undo: false,
        ..linux(Congestion::NewReno)
    }
);

/// Defines an NDP host with one configuration. Its timeouts exceed the lifetime of segments in the network.
/// The host remembers a finished flow for longer than a long series of lost ACKs can last.
macro_rules! ndp_subject {
    ($name:ident, $config:expr) => {
        subject!($name, ndp::Host);

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                let config = NdpConfig {
                    min_rto: Duration::from_ms(10),
                    max_rto: Duration::from_ms(100),
                    max_timeouts: u32::MAX,
                    time_wait: Duration::from_ms(10_000),
                    seed: u64::from(host.0),
                    ..$config
                };
                Self(ndp::Host::new(host, config).expect("a valid configuration"))
            }
            fn assert_sane(&self) {}
            fn assert_released(&self) {
                assert_eq!(self.0.open_flows(), 0);
            }
            fn cargo(segment: &Segment) -> Cargo {
                let start = match segment.header {
                    Header::Ndp(header) if header.kind == NdpKind::Data => {
                        header.index * u64::from($config.mss)
                    }
                    _ => 0,
                };
                Cargo::Bytes(start..start + u64::from(segment.payload))
            }
        }
    };
}

ndp_subject!(Ndp, NdpConfig::default());
ndp_subject!(
    NdpOfManyPathsAndClasses,
    NdpConfig {
        paths: 4,
        initial_window: 3,
        demotion: Demotion::at(&[10_000, 100_000]).expect("ascending"),
        ..NdpConfig::default()
    }
);

/// Defines an SCDP host with one configuration, and a codec that often fails.
macro_rules! scdp_subject {
    ($name:ident, $config:expr, $speed:expr) => {
        subject!($name, scdp::Host<ModelCodec>);

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                let config = ScdpConfig {
                    max_timeout: Duration::from_ms(100),
                    max_timeouts: u32::MAX,
                    time_wait: Duration::from_ms(10_000),
                    ..$config
                };
                let codec = ModelCodec::new([0.3, 0.2, 0.1], $speed, u64::from(host.0));
                Self(scdp::Host::new(host, config, codec).expect("a valid configuration"))
            }
            fn assert_sane(&self) {}
            fn assert_released(&self) {
                assert_eq!(self.0.open_sessions(), 0);
            }
            fn cargo(segment: &Segment) -> Cargo {
                match segment.header {
                    Header::Scdp(header)
                        if matches!(header.kind, ScdpKind::Symbol | ScdpKind::Credited) =>
                    {
                        Cargo::Symbol(header.block, header.esi)
                    }
                    _ => Cargo::Bytes(0..0),
                }
            }
            fn suffices(flow: &Flow) -> bool {
                let config = $config;
                let object = Object::new(flow.bytes, config.symbol, config.block_symbols);
                let object = object.expect("an object");
                (0..object.blocks()).all(|block| {
                    let arrived = flow.symbols.get(&block).map_or(0, |symbols| symbols.len());
                    arrived >= object.source_symbols(block) as usize
                })
            }
        }
    };
}

scdp_subject!(Scdp, ScdpConfig::default(), DecodeSpeed::paper());
scdp_subject!(
    ScdpOfSmallBlocksDecodedAtOnce,
    ScdpConfig {
        block_symbols: 5,
        initial_window: 7,
        overhead: 0,
        ..ScdpConfig::default()
    },
    DecodeSpeed::new(vec![(1, Rate::from_gbps(1_000_000))]).expect("a point")
);

/// Returns a configuration in credit mode, for networks without trimming.
fn adaptive() -> ScdpConfig {
    ScdpConfig {
        mode: scdp::Mode::Credit(scdp::CreditConfig {
            max_window: 40,
            ..scdp::CreditConfig::default()
        }),
        ..ScdpConfig::default()
    }
}

scdp_subject!(ScdpWithCredits, adaptive(), DecodeSpeed::paper());
scdp_subject!(
    ScdpWithCreditsOfSmallBlocks,
    ScdpConfig {
        block_symbols: 5,
        initial_window: 7,
        overhead: 0,
        ..adaptive()
    },
    DecodeSpeed::new(vec![(1, Rate::from_gbps(1_000_000))]).expect("a point")
);

/// Defines a pFabric host with one configuration. Its timeout exceeds the lifetime of segments in the network.
/// The host remembers a finished flow for longer than a long series of lost ACKs can last.
macro_rules! pfabric_subject {
    ($name:ident, $config:expr) => {
        subject!($name, pfabric::Host);

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                let config = PFabricConfig {
                    rto: Duration::from_ms(10),
                    time_wait: Duration::from_ms(10_000),
                    ..$config
                };
                Self(pfabric::Host::new(host, config).expect("a valid configuration"))
            }
            fn assert_sane(&self) {}
            fn assert_released(&self) {
                assert_eq!(self.0.open_flows(), 0);
            }
            fn cargo(segment: &Segment) -> Cargo {
                let start = match segment.header {
                    Header::PFabric(header) if header.kind == PFabricKind::Data => {
                        header.index * u64::from($config.mss)
                    }
                    _ => 0,
                };
                Cargo::Bytes(start..start + u64::from(segment.payload))
            }
        }
    };
}

pfabric_subject!(PFabric, PFabricConfig::default());
pfabric_subject!(
    PFabricThatSoonProbes,
    PFabricConfig {
        initial_window: 70,
        max_window: 139,
        probe_after: 1,
        ..PFabricConfig::default()
    }
);

fn dctcp_host(host: HostId) -> Host {
    Host::new(host, config(Congestion::DCTCP)).expect("a valid configuration")
}

/// Defines a DCTCP host with several layers around it.
macro_rules! layered_subject {
    ($name:ident, $type:ty, $layers:expr, $endpoint:expr) => {
        subject!($name, $type);

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                let layers: fn(HostId) -> $type = $layers;
                Self(layers(host))
            }
            fn assert_sane(&self) {}
            fn assert_released(&self) {
                let endpoint: fn(&$type) -> &Host = $endpoint;
                let endpoint = endpoint(&self.0).endpoint();
                assert!(endpoint.is_empty(), "{} left", endpoint.len());
            }
        }
    };
}

/// Returns a pacer that paces every flow after its first mark. Its rates are so low that flows wait for a long time.
fn pacer(host: HostId) -> PacedConfig {
    PacedConfig {
        pacer: PacerConfig {
            association_probability: 1.0,
            min_rate: Some(Rate::from_mbps(100)),
            ..PacerConfig::default()
        },
        line_rate: Rate::from_gbps(1),
        overhead: 78,
        seed: u64::from(host.0),
    }
}

const COALESCING: Coalescing = Coalescing {
    frames: 4,
    timeout: Duration::from_us(200),
    merge: false,
};

tcp_subject!(
    Pias,
    TcpConfig {
        tags: Some(Tags {
            demotion: Demotion::at(&[10_000, 100_000]).expect("ascending"),
            resends_count: false,
            in_order: true,
            relief_after: None,
        }),
        ..config(Congestion::DCTCP)
    }
);
layered_subject!(
    Qos,
    Classified<Host>,
    |host| Classified::new(dctcp_host(host), 20_000),
    |qos| qos.inner()
);
layered_subject!(
    PacedDctcp,
    Paced<Host>,
    |host| Paced::new(dctcp_host(host), pacer(host)).expect("a valid configuration"),
    |paced| paced.inner()
);
layered_subject!(
    PacedDctcpWithCoalescing,
    Coalesced<Paced<Host>>,
    |host| {
        let paced = Paced::new(dctcp_host(host), pacer(host));
        Coalesced::new(paced.expect("a valid configuration"), COALESCING)
    },
    |coalesced| coalesced.inner().inner()
);

layered_subject!(
    MergingDctcp,
    Coalesced<Host>,
    |host| Coalesced::new(
        dctcp_host(host),
        Coalescing {
            merge: true,
            ..COALESCING
        }
    ),
    |coalesced| coalesced.inner()
);
layered_subject!(
    DctcpBehindAQueue,
    Queued<Host>,
    |host| Queued::new(dctcp_host(host), NonZeroU32::new(5).expect("above 0")),
    |queued| queued.inner()
);
layered_subject!(
    DctcpWithRandomDepartures,
    Jittered<Host>,
    |host| Jittered::new(dctcp_host(host), Departures::new(Duration::from_us(10), 3)),
    |jittered| jittered.inner()
);

proptest! {
    #[test]
    fn dctcp_with_random_departures(operations in operations()) {
        check::<DctcpWithRandomDepartures>(operations);
    }
    #[test]
    fn dctcp_behind_a_queue_of_its_host(operations in operations()) {
        check::<DctcpBehindAQueue>(operations);
    }
    #[test]
    fn dctcp_whose_segments_are_merged(operations in operations()) {
        check::<MergingDctcp>(operations);
    }
    #[test]
    fn pfabric(operations in operations()) {
        check::<PFabric>(operations);
    }
    #[test]
    fn pfabric_that_soon_probes(operations in operations()) {
        check::<PFabricThatSoonProbes>(operations);
    }
    #[test]
    fn pias(operations in operations()) {
        check::<Pias>(operations);
    }
    #[test]
    fn qos(operations in operations()) {
        check::<Qos>(operations);
    }
    #[test]
    fn paced_dctcp(operations in operations()) {
        check::<PacedDctcp>(operations);
    }
    #[test]
    fn paced_dctcp_with_coalescing(operations in operations()) {
        check::<PacedDctcpWithCoalescing>(operations);
    }
    #[test]
    fn ndp(operations in operations()) {
        check::<Ndp>(operations);
    }
    #[test]
    fn ndp_of_many_paths_and_classes(operations in operations()) {
        check::<NdpOfManyPathsAndClasses>(operations);
    }
    #[test]
    fn scdp(operations in operations()) {
        check::<Scdp>(operations);
    }
    #[test]
    fn scdp_of_small_blocks_decoded_at_once(operations in operations()) {
        check::<ScdpOfSmallBlocksDecodedAtOnce>(operations);
    }

    #[test]
    fn scdp_with_credits(operations in operations()) {
        check::<ScdpWithCredits>(operations);
    }

    #[test]
    fn scdp_with_credits_of_small_blocks(operations in operations()) {
        check::<ScdpWithCreditsOfSmallBlocks>(operations);
    }
    #[test]
    fn newreno(operations in operations()) {
        check::<NewReno>(operations);
    }
    #[test]
    fn cubic(operations in operations()) {
        check::<Cubic>(operations);
    }
    #[test]
    fn dctcp(operations in operations()) {
        check::<Dctcp>(operations);
    }
    #[test]
    fn newreno_with_sack(operations in operations()) {
        check::<NewRenoWithSack>(operations);
    }
    #[test]
    fn cubic_with_sack(operations in operations()) {
        check::<CubicWithSack>(operations);
    }
    #[test]
    fn cubic_with_sack_and_classic_ecn(operations in operations()) {
        check::<CubicWithSackAndClassicEcn>(operations);
    }
    #[test]
    fn dctcp_with_sack(operations in operations()) {
        check::<DctcpWithSack>(operations);
    }

    #[test]
    fn cubic_of_linux(operations in operations()) {
        check::<CubicOfLinux>(operations);
    }

    #[test]
    fn dctcp_of_linux(operations in operations()) {
        check::<DctcpOfLinux>(operations);
    }

    #[test]
    fn newreno_of_linux_with_classic_ecn_and_large_sends(operations in operations()) {
        check::<NewRenoOfLinuxWithBursts>(operations);
    }

    #[test]
    fn newreno_of_linux_without_sack(operations in operations()) {
        check::<NewRenoOfLinuxWithoutSack>(operations);
    }

    #[test]
    fn newreno_of_ns2(operations in operations()) {
        check::<NewRenoOfNs2>(operations);
    }

    #[test]
    fn newreno_with_rack_alone(operations in operations()) {
        check::<NewRenoWithRackAlone>(operations);
    }
    #[test]
    fn newreno_with_classic_ecn_large_sends_and_an_ack_a_segment(operations in operations()) {
        check::<NewRenoWithEverything>(operations);
    }
}
