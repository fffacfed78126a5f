//! Tests of the initial window in segments or bytes (RFC 6928).

use crate::pair::{plain_config, tcp};
use tailcut_transport::tcp::{InitialWindow, TcpConfig};
use tailcut_units::{Duration, Time};

/// Returns the payload sizes of the segments that leave before the first ACK of data arrives.
fn first_window(initial_window: InitialWindow) -> Vec<u32> {
    let mut pair = tcp(&TcpConfig {
        initial_window,
        ..plain_config()
    });
    pair.submit(0, 1_000_000);
    pair.run_until(Time::ZERO + Duration::from_us(350));
    let data = pair.sent.iter().filter(|sent| sent.segment.payload > 0);
    data.map(|sent| sent.segment.payload).collect()
}

#[test]
fn in_segments() {
    assert_eq!(first_window(InitialWindow::Segments(3)), [1_000; 3]);
    assert_eq!(first_window(InitialWindow::Segments(20)), [1_000; 20]);
}

#[test]
fn in_bytes_it_admits_whole_segments_only() {
    assert_eq!(first_window(InitialWindow::Bytes(12_000)), [1_000; 12]);
    assert_eq!(first_window(InitialWindow::Bytes(4_500)), [1_000; 4]);
}

#[test]
fn it_is_never_less_than_a_segment() {
    assert_eq!(first_window(InitialWindow::Bytes(1)), [1_000]);
}

#[test]
fn each_ack_of_slow_start_opens_it_by_what_it_acknowledges() {
    let config = TcpConfig {
        initial_window: InitialWindow::Segments(2),
        ..plain_config()
    };
    let mut pair = tcp(&config).with_one_way(Duration::from_ms(10));
    pair.submit(0, 1_000_000);
    // Windows of 2, 4 and 8 segments leave 20, 40 and 60 ms after the SYN.
    pair.run_until(Time::ZERO + Duration::from_ms(75));
    assert_eq!(pair.data_offsets(1_000).len(), 2 + 4 + 8);
}
