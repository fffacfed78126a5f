//! Tests of the round-trip samples that a controller of the user receives.

use crate::pair;

use pair::{Pair, lose_once, plain_config, tcp};
use std::sync::{Arc, Mutex};
use tailcut_transport::tcp::congestion::{Ack, Congested, CongestionControl, Window};
use tailcut_transport::tcp::{Congestion, Host, InitialWindow, TcpConfig};
use tailcut_units::Duration;

type Samples = Arc<Mutex<Vec<Option<Duration>>>>;

/// Controller that records the sample of each ACK and never changes its window.
#[derive(Debug)]
struct Noting(Samples);

impl CongestionControl for Noting {
    fn on_ack(&mut self, _window: &mut Window, ack: &Ack) {
        self.0.lock().expect("one thread").push(ack.rtt);
    }
    fn on_loss(&mut self, _window: &mut Window, _congested: &Congested) {}
    fn on_timeout(&mut self, _window: &mut Window, _congested: &Congested) {}
}

/// Returns a pair whose first host records the samples, with `window` segments in flight.
fn noting(window: u32) -> (Pair<Host>, Samples) {
    let samples = Samples::default();
    let noted = Arc::clone(&samples);
    let config = TcpConfig {
        initial_window: InitialWindow::Segments(window),
        congestion: Congestion::Custom(Arc::new(move || Box::new(Noting(Arc::clone(&noted))))),
        ..plain_config()
    };
    (tcp(&config).with_one_way(Duration::from_ms(5)), samples)
}

fn noted(samples: &Samples) -> Vec<Option<Duration>> {
    samples.lock().expect("one thread").clone()
}

#[test]
fn each_ack_has_a_sample_when_one_segment_is_in_flight() {
    let (mut pair, samples) = noting(1);
    pair.submit(0, 4_000);
    pair.run();
    let header = pair.rates[0].serialisation(78);
    let full = pair.rates[0].serialisation(1_078);
    let round_trip = pair.one_way * 2 + full + header;
    assert_eq!(noted(&samples), [Some(round_trip); 4]);
}

#[test]
fn several_segments_in_flight_give_one_sample_a_round_trip() {
    let (mut pair, samples) = noting(4);
    pair.submit(0, 12_000);
    pair.run();
    let samples = noted(&samples);
    assert_eq!(samples.len(), 12);
    assert_eq!(samples.iter().flatten().count(), 3, "{samples:?}");
    assert!(samples.iter().flatten().all(|rtt| *rtt > pair.one_way * 2));
}

#[test]
fn a_segment_that_was_sent_twice_gives_no_sample() {
    let (pair, samples) = noting(1);
    let mut pair = pair.with_fault(lose_once(&[0]));
    pair.submit(0, 1_000);
    pair.run();
    assert_eq!(noted(&samples), [None]);
}
