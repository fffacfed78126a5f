//! Tests of errors about a parameter: an error contains the name, the value and the allowed values.

use tailcut_transport::tcp::{Congestion, DelayedAck, Host, InitialWindow, TcpConfig};
use tailcut_units::{Duration, HostId};

fn complaint(config: TcpConfig) -> String {
    let refused = Host::new(HostId(0), config).err();
    refused.expect("the configuration is wrong").to_string()
}

#[test]
fn each_parameter_out_of_range_is_named() {
    let default = TcpConfig::default;
    let ms = Duration::from_ms;
    let delayed = |segments, timeout| TcpConfig {
        delayed_ack: Some(DelayedAck { segments, timeout }),
        ..default()
    };
    let cases = [
        (
            "mss",
            TcpConfig {
                mss: 0,
                ..default()
            },
        ),
        (
            "mss",
            TcpConfig {
                mss: 70_000,
                ..default()
            },
        ),
        (
            "initial_window",
            TcpConfig {
                initial_window: InitialWindow::Segments(0),
                ..default()
            },
        ),
        (
            "initial_window",
            TcpConfig {
                initial_window: InitialWindow::Bytes(0),
                ..default()
            },
        ),
        (
            "min_rto",
            TcpConfig {
                min_rto: Duration::ZERO,
                ..default()
            },
        ),
        (
            "max_rto",
            TcpConfig {
                max_rto: ms(1),
                ..default()
            },
        ),
        (
            "initial_rto",
            TcpConfig {
                initial_rto: ms(100_000),
                ..default()
            },
        ),
        (
            "initial_rto",
            TcpConfig {
                initial_rto: ms(100),
                ..default()
            },
        ),
        (
            "slow_start_limit",
            TcpConfig {
                slow_start_limit: Some(0),
                ..default()
            },
        ),
        (
            "tick",
            TcpConfig {
                tick: Duration::ZERO,
                ..default()
            },
        ),
        ("delayed_ack.segments", delayed(1, ms(40))),
        ("delayed_ack.timeout", delayed(2, ms(200))),
        (
            "max_cwnd",
            TcpConfig {
                max_cwnd: 1_000,
                ..default()
            },
        ),
        (
            "duplicate_ack_threshold",
            TcpConfig {
                duplicate_ack_threshold: 0,
                ..default()
            },
        ),
        (
            "congestion.gain",
            TcpConfig {
                congestion: Congestion::Dctcp {
                    gain: f64::NAN,
                    first_alpha: 1.0,
                },
                ..default()
            },
        ),
        (
            "congestion.gain",
            TcpConfig {
                congestion: Congestion::Dctcp {
                    gain: 0.0,
                    first_alpha: 1.0,
                },
                ..default()
            },
        ),
        (
            "congestion.first_alpha",
            TcpConfig {
                congestion: Congestion::Dctcp {
                    gain: 0.5,
                    first_alpha: 1.5,
                },
                ..default()
            },
        ),
    ];
    for (key, config) in cases {
        let complaint = complaint(config);
        assert!(complaint.starts_with(&format!("{key} is ")), "{complaint}");
        assert!(complaint.contains("; allowed: "), "{complaint}");
    }
}

#[test]
fn a_least_timeout_below_the_clock_granularity_is_refused_since_it_would_never_hold() {
    let config = TcpConfig {
        min_rto: Duration::from_us(200),
        delayed_ack: None,
        ..TcpConfig::default()
    };
    assert_eq!(
        complaint(config.clone()),
        "min_rto is 200 us; allowed: at least clock_granularity, which every timeout exceeds (RFC 6298, 2.3)"
    );
    let fine = TcpConfig {
        clock_granularity: Duration::from_us(1),
        ..config
    };
    assert!(Host::new(HostId(0), fine).is_ok());
}

#[test]
fn the_message_shows_what_was_found() {
    let config = TcpConfig {
        mss: 70_000,
        ..TcpConfig::default()
    };
    assert_eq!(complaint(config), "mss is 70000; allowed: 1 to 65535 bytes");
}

#[test]
fn an_initial_timeout_below_the_least_one_is_refused_with_both() {
    let config = TcpConfig {
        initial_rto: Duration::from_ms(10),
        ..TcpConfig::default()
    };
    assert_eq!(
        complaint(config),
        "initial_rto is 10 ms; allowed: min_rto (200 ms) to max_rto (60 s)"
    );
}
