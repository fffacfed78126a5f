//! Transports and framing from their sections.

use crate::error::Outcome;
use crate::scenario::Scenario;
use crate::value::Value;
use tailcut_sim::RepNetParameters;
use tailcut_sim::transport::tcp::{DelayedAck, InitialWindow, TcpConfig};
use tailcut_sim::workload::Framing;
use tailcut_units::Duration;

/// TCP's default for the longest that an ACK is held back.
const DELAYED_ACK_TIMEOUT: Duration = Duration::from_ms(40);

/// TCP's parameters. The design decides the congestion control.
pub fn tcp(scenario: &Scenario) -> Outcome<TcpConfig> {
    let table = scenario.table("tcp");
    let usual = TcpConfig::default();
    let byte = |key: &str| table.small(key).map_or(u8::MAX, |count| count as u8);
    let min_rto = table.duration("min_rto").unwrap_or(usual.min_rto);
    let timeout = table
        .duration("delayed_ack_timeout")
        .unwrap_or_else(|| DELAYED_ACK_TIMEOUT.min(min_rto / 2));
    let config = TcpConfig {
        mss: table.small("mss").unwrap_or(usual.mss),
        initial_window: match table.value("initial_window") {
            Some(Value::Bytes(bytes)) => InitialWindow::Bytes(bytes.0),
            Some(Value::Count(segments)) => {
                InitialWindow::Segments(u32::try_from(segments).unwrap_or(u32::MAX))
            }
            _ => usual.initial_window,
        },
        min_rto,
        initial_rto: table.duration("initial_rto").unwrap_or(usual.initial_rto),
        max_rto: table.duration("max_rto").unwrap_or(usual.max_rto),
        clock_granularity: table
            .duration("clock_granularity")
            .unwrap_or(usual.clock_granularity),
        delayed_ack: table.count("delayed_ack").map(|segments| DelayedAck {
            segments: segments as u8,
            timeout,
        }),
        limited_transmit: table.is_set("limited_transmit"),
        sack: table.is_set("sack"),
        lso_bytes: table
            .bytes("lso")
            .map_or(0, |bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX)),
        max_cwnd: table.bytes("max_cwnd").map_or(u64::MAX, |bytes| bytes.0),
        initial_ssthresh: table
            .bytes("initial_ssthresh")
            .map_or(u64::MAX, |bytes| bytes.0),
        hystart: table.duration("hystart"),
        duplicate_ack_threshold: byte("duplicate_ack_threshold"),
        max_syn_retries: byte("max_syn_retries"),
        max_data_retries: byte("max_data_retries"),
        port: usual.port,
        congestion: usual.congestion,
        classic_ecn: table.is_set("classic_ecn"),
        // The design's, if it has any.
        tags: usual.tags,
    };
    config.validate().map_err(|error| {
        let key = match error.key {
            "delayed_ack.segments" => "delayed_ack",
            "delayed_ack.timeout" => "delayed_ack_timeout",
            "lso_bytes" => "lso",
            key => key,
        };
        table.error(key, error.found, error.allowed)
    })?;
    Ok(config)
}

/// DCTCP's estimation gain.
pub fn dctcp_gain(scenario: &Scenario) -> f64 {
    scenario
        .table("tcp")
        .number("dctcp_gain")
        .unwrap_or(1.0 / 16.0)
}

/// DCTCP's first estimate of marking.
pub fn dctcp_first_alpha(scenario: &Scenario) -> f64 {
    let table = scenario.table("tcp");
    match table.word("dctcp_first_alpha") {
        Some(_) => 0.0,
        None => table.number("dctcp_first_alpha").unwrap_or(1.0),
    }
}

/// RepNet's parameters.
pub fn repnet(scenario: &Scenario) -> RepNetParameters {
    let table = scenario.table("repnet");
    RepNetParameters {
        limit: table.bytes("limit").unwrap_or_default(),
        archive_limit: table.bytes("archive_limit").unwrap_or_default(),
        waiting_list_timeout: table.duration("waiting_list_timeout").unwrap_or_default(),
    }
}

/// Bytes a packet beside its payload.
pub fn framing(scenario: &Scenario) -> Framing {
    let table = scenario.table("framing");
    let usual = Framing::ETHERNET_TCP;
    Framing {
        payload: scenario.table("tcp").small("mss").unwrap_or(usual.payload),
        header: table.small("header").unwrap_or(usual.header),
        preamble_and_gap: table
            .small("preamble_and_gap")
            .unwrap_or(usual.preamble_and_gap),
        min_frame: table.small("min_frame").unwrap_or(usual.min_frame),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;

    #[test]
    fn defaults_are_those_of_the_transport_and_of_ethernet_but_for_a_data_centres_timers() {
        let empty = Scenario::parse("empty.toml", "", "").expect("an empty scenario");
        let usual = TcpConfig::default();
        let (rto, held_back) = (Duration::from_ms(10), Duration::from_ms(5));
        let defaults = TcpConfig {
            min_rto: rto,
            initial_rto: rto,
            delayed_ack: usual.delayed_ack.map(|ack| DelayedAck {
                timeout: held_back,
                ..ack
            }),
            ..usual
        };
        let defaults = format!("{defaults:?}");
        assert_eq!(
            format!("{:?}", tcp(&empty).expect("defaults are sound")),
            defaults
        );
        assert_eq!(framing(&empty), Framing::ETHERNET_TCP);
        assert_eq!(dctcp_gain(&empty), 1.0 / 16.0);
        assert_eq!(dctcp_first_alpha(&empty), 1.0);
    }

    #[test]
    fn an_ack_is_never_held_back_for_as_long_as_the_peer_waits() {
        let mut scenario =
            Scenario::parse("s.toml", "", "[tcp]\nmin_rto = \"10ms\"\n").expect("sound");
        let config = tcp(&scenario).expect("the timeout follows");
        assert_eq!(
            config.delayed_ack.map(|ack| ack.timeout),
            Some(Duration::from_ms(5))
        );
        let flag = Place::flag("--set");
        scenario
            .set("tcp.delayed_ack_timeout", "20ms", &flag)
            .expect("a span");
        let error = tcp(&scenario).expect_err("longer than min_rto").to_string();
        assert!(
            error.starts_with("--set: tcp.delayed_ack_timeout: found 20 ms"),
            "{error}"
        );
    }
}
