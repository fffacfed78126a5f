//! Tests of a receiver of SCDP: the time that its pulls reserve, and its timeouts.

use crate::pair::{A, Fate, Pair};
use crate::scdp_parts::{INTERVAL, T, config, header};
use tailcut_transport::scdp::{DecodeSpeed, Host, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::{Condition, Header, Message, PathPin, Replication, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

fn host(id: u32, config: ScdpConfig, speed: DecodeSpeed) -> Host<ModelCodec> {
    let codec = ModelCodec::new([0.0; 3], speed, u64::from(id));
    Host::new(HostId(id), config, codec).expect("a valid configuration")
}

/// Returns the symbols that host `id` pushes of flow `id`. The flow has `symbols` symbols.
fn window_from(id: u32, symbols: u64) -> Vec<Segment> {
    let mut sender = host(id, config(), DecodeSpeed::paper());
    let message = Message {
        flow: FlowId(id),
        dst: HostId(9),
        bytes: symbols * T,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    };
    sender.submit(Time::ZERO, message);
    core::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).collect()
}

#[test]
fn a_pull_is_charged_what_its_symbol_took_and_nothing_is_paid_back_for_others() {
    let short_by_1000 = Duration::from_ns(800);
    for (condition, pushed, saved) in [
        (Condition::Whole, false, short_by_1000),
        (Condition::Trimmed, false, Duration::ZERO),
        (Condition::Whole, true, Duration::ZERO),
    ] {
        // The windows of two senders arrive, so that pulls wait. Then one more symbol of the first sender arrives.
        // The last symbol of the first sender is short.
        let mut receiver = host(9, config(), DecodeSpeed::paper());
        let now = Time::from_ns(1_000);
        let first = window_from(1, 9);
        for segment in first.iter().chain(&window_from(2, 100)) {
            receiver.on_segment(now, *segment);
        }
        let short = Segment {
            payload: 460,
            condition,
            header: Header::Scdp(ScdpHeader {
                syn: pushed,
                esi: 8,
                ..header(&first[0])
            }),
            ..first[0]
        };
        let next_pull = |receiver: &mut Host<ModelCodec>| {
            let at = receiver.next_timeout().expect("pulls wait");
            receiver.on_timeout(at);
            at
        };
        let before = next_pull(&mut receiver);
        receiver.on_segment(before, short);
        // The next pull leaves at its planned time.
        // The following pull leaves earlier, by the time that the short symbol did not use.
        let second = next_pull(&mut receiver);
        assert_eq!(second, before + INTERVAL);
        // The duplicate caused no additional pull.
        receiver.on_segment(second, short);
        let third = next_pull(&mut receiver);
        assert_eq!(third, second + INTERVAL - saved, "{condition:?} {pushed}");
        assert_eq!(next_pull(&mut receiver), third + INTERVAL);
    }
}

/// Returns a rate at which 50 symbols of 1,460 B take half a second.
fn slow() -> DecodeSpeed {
    DecodeSpeed::new(vec![(1, Rate::from_mbps(1))]).expect("a speed")
}

/// Returns a host whose timeout exceeds the decoding time.
fn patient() -> Host<ModelCodec> {
    let patient = ScdpConfig {
        timeout: Duration::from_ms(1_000),
        ..config()
    };
    host(0, patient, DecodeSpeed::paper())
}

/// Sends a block of 50 symbols from one host to the other, with one symbol trimmed.
fn with_one_trimmed(
    sender: Host<ModelCodec>,
    receiver: Host<ModelCodec>,
) -> Pair<Host<ModelCodec>> {
    let mut pair = Pair::new(sender, receiver).with_fault(|passage| {
        let header = header(passage.segment);
        let is_hit = header.kind == ScdpKind::Symbol && header.esi == 3;
        if is_hit { Fate::Trim } else { Fate::Deliver }
    });
    pair.submit(0, 50 * T);
    pair.run();
    pair
}

#[test]
fn a_receiver_that_only_decodes_waits_for_no_symbol_however_long_it_takes() {
    let impatient = ScdpConfig {
        max_timeouts: 0,
        ..config()
    };
    let decoding = slow().time(50, T as u32);
    assert!(decoding > impatient.timeout);
    let pair = with_one_trimmed(patient(), host(1, impatient, slow()));
    let last = pair.sent.iter().rfind(|sent| sent.from == A);
    let arrival = last.expect("symbols").at + INTERVAL + pair.one_way;
    assert_eq!(pair.completed(0), Some(arrival + decoding));
    assert_eq!(pair.stats(0).timeouts, 0);
}

#[test]
fn a_receiver_whose_decoding_has_failed_waits_anew_for_the_symbol_that_it_takes() {
    // Each of two decodings takes longer than the timeout, and the first one fails.
    let impatient = ScdpConfig {
        max_timeouts: 0,
        overhead: 0,
        ..config()
    };
    let decoding = slow().time(50, T as u32);
    let codec = ModelCodec::new([0.999_999, 0.0, 0.0], slow(), 1);
    let receiver = Host::new(HostId(1), impatient, codec).expect("a valid configuration");
    let pair = with_one_trimmed(patient(), receiver);
    let symbols: Vec<_> = pair.sent.iter().filter(|sent| sent.from == A).collect();
    assert_eq!(
        symbols.len(),
        50 + 1 + 1,
        "one symbol for the header, and one for the failure"
    );
    let arrival = symbols[51].at + INTERVAL + pair.one_way;
    assert!(arrival > Time::ZERO + decoding);
    assert_eq!(pair.completed(0), Some(arrival + decoding));
}
