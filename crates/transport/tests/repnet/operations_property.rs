//! RepNet under the operations that every transport is put under: replicated flows, plain ones and
//! such that choose for themselves, while segments are lost, doubled and overtaken.

use crate::operations::{Subject, check, operations};
use proptest::prelude::*;
use tailcut_transport::repnet::{Host, Mode, RepNetConfig};
use tailcut_transport::tcp::{Congestion, DelayedAck, TcpConfig};
use tailcut_transport::{Event, FlowStats, Message, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};

/// Timers of a data centre, and no giving up.
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

/// A RepNet host under one configuration.
macro_rules! repnet_subject {
    ($name:ident, $tcp:expr, $repnet:expr) => {
        struct $name(Host);

        impl Transport for $name {
            fn submit(&mut self, now: Time, message: Message) {
                self.0.submit(now, message);
            }
            fn on_segment(&mut self, now: Time, segment: Segment) {
                self.0.on_segment(now, segment);
            }
            fn on_timeout(&mut self, now: Time) {
                self.0.on_timeout(now);
            }
            fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
                self.0.poll_transmit(now)
            }
            fn has_transmit(&self) -> bool {
                self.0.has_transmit()
            }
            fn poll_event(&mut self) -> Option<Event> {
                self.0.poll_event()
            }
            fn next_timeout(&self) -> Option<Time> {
                self.0.next_timeout()
            }
            fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
                self.0.unfinished()
            }
        }

        impl Subject for $name {
            fn fresh(host: HostId) -> Self {
                Self(Host::new(host, $tcp, $repnet).expect("a valid configuration"))
            }
            fn assert_sane(&self) {
                let endpoint = self.0.endpoint();
                // A flow whose first connection broke may wait for the second, but not for ever.
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
