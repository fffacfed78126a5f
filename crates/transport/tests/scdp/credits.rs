//! Tests of SCDP in credit mode, for networks that drop packets.

use crate::hub::{Fate, Hub, message};
use tailcut_transport::scdp::{
    CreditConfig, DecodeSpeed, Host, Mode, ModelCodec, ScdpConfig, ScdpKind,
};
use tailcut_transport::{Header, Segment};
use tailcut_units::{Duration, HostId, Time};

fn config() -> ScdpConfig {
    ScdpConfig {
        mode: Mode::Credit(CreditConfig::default()),
        ..ScdpConfig::default()
    }
}

fn host(id: u32) -> Host<ModelCodec> {
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    Host::new(HostId(id), config(), codec).expect("a valid configuration")
}

fn hub() -> Hub<Host<ModelCodec>> {
    Hub::new((0..4).map(host).collect())
}

fn is_symbol(segment: &Segment) -> bool {
    matches!(segment.header, Header::Scdp(header) if header.kind == ScdpKind::Credited)
}

fn symbols(hub: &Hub<Host<ModelCodec>>) -> usize {
    hub.sent
        .iter()
        .filter(|(_, _, segment)| is_symbol(segment))
        .count()
}

#[test]
fn an_object_takes_its_source_symbols_and_no_more() {
    for bytes in [0, 1, 1_460, 14_600, 1_460 * 1_000] {
        let mut hub = hub();
        hub.submit(0, message(1, HostId(1), bytes));
        hub.run_until(Time::ZERO + Duration::from_ms(100));
        assert!(hub.completed(1, 1).is_some(), "{bytes} B");
        assert_eq!(
            symbols(&hub) as u64,
            bytes.div_ceil(1_460).max(1),
            "{bytes} B"
        );
        assert_eq!(
            hub.hosts[0].open_sessions() + hub.hosts[1].open_sessions(),
            0
        );
    }
}

/// Returns a pseudo-random number below 2^32 from a counter, to choose faults.
fn draw(count: &mut u64) -> u32 {
    *count += 1;
    (tailcut_units::mix64(*count) >> 32) as u32
}

#[test]
fn whatever_is_lost_trimmed_or_doubled_an_object_arrives_and_both_ends_know() {
    for seed in 0..100u64 {
        let bytes = [0, 10_221, 1_460 * 30, 1_460 * 333][seed as usize % 4];
        let mut count = seed << 32;
        let mut hub = hub().with_fault(move |_, _, _| match draw(&mut count) % 10 {
            0..3 => Fate::Drop,
            3 => Fate::Trim,
            4 => Fate::Duplicate(Duration::from_us(3)),
            _ => Fate::Deliver,
        });
        hub.submit(0, message(1, HostId(1), bytes));
        hub.run_until(Time::ZERO + Duration::from_ms(60_000));
        assert!(hub.completed(1, 1).is_some(), "seed {seed}");
        assert_eq!(hub.hosts[0].open_sessions(), 0, "seed {seed}");
    }
}
