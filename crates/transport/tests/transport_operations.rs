//! Every transport under arbitrary interleavings of submit, deliver, drop, duplicate, reorder, mark
//! and timeout: every flow completes exactly once with all its bytes, no timer lies in the past, and
//! nothing is left behind.

mod operations;

use operations::{Subject, check, operations};
use proptest::prelude::*;
use tailcut_transport::tcp::{Congestion, DelayedAck, Host, TcpConfig};
use tailcut_transport::{Event, Message, Segment, Transport};
use tailcut_units::{Duration, HostId, Time};

/// Timers of a data centre, and no giving up.
fn config(congestion: Congestion) -> TcpConfig {
    TcpConfig {
        congestion,
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

/// A plain TCP host under one configuration.
macro_rules! tcp_subject {
    ($name:ident, $config:expr) => {
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
        }

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

proptest! {
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
    fn dctcp_with_sack(operations in operations()) {
        check::<DctcpWithSack>(operations);
    }
    #[test]
    fn newreno_with_classic_ecn_large_sends_and_an_ack_a_segment(operations in operations()) {
        check::<NewRenoWithEverything>(operations);
    }
}
