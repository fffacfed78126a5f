//! Tests of RepNet with the operations for every transport.
//! The tests use replicated flows, plain flows, and flows whose mode the configuration decides.
//! Segments are lost, duplicated and reordered.

use crate::operations::{Subject, check, operations, subject};
use proptest::prelude::*;
use tailcut_transport::repnet::{Host, Mode, RepNetConfig};
use tailcut_transport::tcp::{Congestion, DelayedAck, TcpConfig};
use tailcut_units::{Duration, HostId};

/// Returns a configuration with timers for a data centre, and without a limit of retransmissions.
fn tcp(congestion: Congestion, sack: bool) -> TcpConfig {
    TcpConfig {
        congestion,
        sack,
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

fn repnet(mode: Mode, waiting_list_timeout: Duration) -> RepNetConfig {
    RepNetConfig {
        mode,
        waiting_list_timeout,
        ..RepNetConfig::default()
    }
}

/// Defines a RepNet host with one configuration.
macro_rules! repnet_subject {
    ($name:ident, $tcp:expr, $repnet:expr) => {
        subject!($name, Host);

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                Self(Host::new(host, $tcp, $repnet).expect("a valid configuration"))
            }
            fn assert_sane(&self) {
                let endpoint = self.0.endpoint();
                // A flow whose first connection failed may wait for the second connection, but only for a limited time.
                if endpoint.len() > endpoint.tcp().len() {
                    assert!(endpoint.next_timeout().is_some());
                }
            }
            fn assert_released(&self) {
                let endpoint = self.0.endpoint();
                assert!(endpoint.is_empty(), "{} flows left", endpoint.len());
                assert!(endpoint.tcp().is_empty());
                assert_eq!(endpoint.next_timeout(), None);
            }
        }
    };
}

repnet_subject!(
    RepFlow,
    tcp(Congestion::NewReno, false),
    repnet(Mode::RepFlow, Duration::from_ms(1_000))
);
repnet_subject!(
    RepSyn,
    tcp(Congestion::Cubic, true),
    repnet(Mode::RepSyn, Duration::from_ms(1_000))
);
repnet_subject!(
    ImpatientRepFlow,
    tcp(Congestion::DCTCP, false),
    repnet(Mode::RepFlow, Duration::from_ms(10))
);

proptest! {
    #[test]
    fn repflow_over_newreno(operations in operations()) {
        check::<RepFlow>(operations);
    }
    #[test]
    fn repsyn_over_cubic_with_sack(operations in operations()) {
        check::<RepSyn>(operations);
    }
    #[test]
    fn repflow_over_dctcp_with_a_waiting_list_that_times_out_often(operations in operations()) {
        check::<ImpatientRepFlow>(operations);
    }
}
