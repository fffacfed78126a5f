//! Tests of the log of flows. The log packs a row when its flow ends.

use proptest::collection::vec;
use proptest::prelude::*;
use tailcut_record::{FlowLog, FlowRecord, RunKey, RunRecord};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

/// Generates numbers of all lengths from 1 to 64 bits.
fn number() -> impl Strategy<Value = u64> {
    (0..64u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
}

fn small() -> impl Strategy<Value = u32> {
    number().prop_map(|number| number as u32)
}

fn row(flow: u32) -> impl Strategy<Value = FlowRecord> {
    let spans = (
        proptest::option::of(number()),
        number(),
        proptest::option::of(number()),
    );
    let counts = prop_oneof![Just([0; 3]), [small(), small(), small()]];
    let sent = proptest::option::of(number());
    let ends = (small(), small(), number(), number());
    (ends, spans, sent, counts, any::<u8>()).prop_map(
        move |((src, dst, bytes, start), (fct, ideal, handshake), sent, counts, class)| {
            FlowRecord {
                flow: FlowId(flow),
                src: HostId(src),
                dst: HostId(dst),
                bytes: Bytes(bytes),
                start: Time::from_ps(start),
                fct: fct.map(Duration::from_ps),
                ideal_fct: Duration::from_ps(ideal),
                handshake: handshake.map(Duration::from_ps),
                payload_sent: Bytes(sent.unwrap_or(bytes)),
                retransmissions: counts[0],
                timeouts: counts[1],
                copies: counts[2],
                class,
            }
        },
    )
}

fn rows() -> impl Strategy<Value = Vec<FlowRecord>> {
    (1..40u32).prop_flat_map(|rows| (0..rows).map(|number| row(number * 3)).collect::<Vec<_>>())
}

/// Returns a log with the rows, started in the order of `keys`. The flows marked in `ends` have ended.
fn log(rows: &[FlowRecord], keys: &[u16], ends: &[bool]) -> FlowLog {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&index| keys[index % keys.len()]);
    let mut log = FlowLog::new();
    for index in order {
        log.begin(rows[index]);
        if ends[index % ends.len()] {
            log.end(rows[index].flow);
        }
    }
    log
}

proptest! {
    #[test]
    fn rows_are_the_same_whenever_they_began_and_whether_they_have_ended(
        rows in rows(),
        keys in vec(any::<u16>(), 1..40),
        ends in vec(any::<bool>(), 1..40),
    ) {
        let log = log(&rows, &keys, &ends);
        prop_assert_eq!(log.len(), rows.len());
        prop_assert_eq!(log.numbers(), rows.last().map_or(0, |row| row.flow.0 + 1));
        prop_assert_eq!(log.iter().collect::<Vec<_>>(), &rows[..]);
        prop_assert_eq!(Vec::from(log), rows);
    }

    #[test]
    fn a_row_can_change_after_its_flow_has_ended(
        rows in rows(),
        news in rows(),
        ends in vec(any::<bool>(), 1..40),
    ) {
        let mut changed = log(&rows, &[0], &ends);
        let mut expected = rows;
        for (row, new) in expected.iter_mut().zip(news) {
            *row = FlowRecord { flow: row.flow, ..new };
            let told = changed.change(row.flow, |old| {
                *old = *row;
                row.class
            });
            prop_assert_eq!(told, Some(row.class));
        }
        prop_assert_eq!(changed.iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_part_of_a_flow_has_the_row_of_the_flow() {
    let mut log = FlowLog::new();
    let row = FlowRecord {
        flow: FlowId(4),
        ..FlowRecord::default()
    };
    log.begin(row);
    log.is_part(FlowId(6), row.flow);
    log.change(FlowId(6), |row| row.timeouts += 1);
    log.end(row.flow);
    log.change(FlowId(6), |row| row.timeouts += 300);
    let whole = FlowRecord {
        timeouts: 301,
        ..row
    };
    assert_eq!(log.get(FlowId(6)), Some(whole));
    assert_eq!(log.iter().collect::<Vec<_>>(), [whole]);
    assert_eq!(log.get(FlowId(5)), None);
    assert_eq!(log.change(FlowId(1_000), |_| ()), None);
}

#[test]
fn a_run_is_the_same_however_its_flows_are_kept() {
    let flow = |number: u32| FlowRecord {
        flow: FlowId(number),
        bytes: Bytes(u64::from(number % 7) * 300_000),
        start: Time::from_ns(u64::from(number) * 17),
        fct: (!number.is_multiple_of(11)).then(|| Duration::from_ps(u64::from(number) * 1_234_567)),
        payload_sent: Bytes(u64::from(number % 5) * 400_000),
        timeouts: number % 3,
        ..FlowRecord::default()
    };
    let mut run = RunRecord::new(RunKey::default());
    run.flows = (0..20_000).map(flow).collect();
    let packed = run
        .clone()
        .with_flows(|flows| log(&flows, &[3, 1, 2], &[true, false, true]));
    assert_eq!(packed.hash(), run.hash());
    assert_eq!(packed.summary(), run.summary());
}
