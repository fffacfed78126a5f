//! Tests of requests where the bytes of all copies count: no byte is missed, and no byte counts twice.

use proptest::prelude::*;
use tailcut_requests::{ByteRange, Client, CopyId, Coverage, Order, Policy, Purpose, RequestId};
use tailcut_units::{Duration, HostId, Time};

const OBJECT: u64 = 10_000;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

const fn copy(copy: u8) -> CopyId {
    CopyId {
        request: RequestId(0),
        copy,
    }
}

/// Creates a client that requests one object from as many servers as `policy` has copies.
fn asking(policy: Policy) -> Client {
    let mut client = Client::new(policy).expect("a sound policy");
    let servers: Vec<HostId> = (0..8).map(HostId).collect();
    client.submit(at(0), RequestId(0), OBJECT, &servers);
    client
}

#[test]
fn three_copies_share_an_object_and_its_tail_is_asked_for_piece_by_piece() {
    let mut client = asking(Policy {
        copies: 3,
        piece: 1_000,
        ..Policy::RANS
    });
    let mut asked = Vec::new();
    while let Some((server, header)) = client.poll_transmit() {
        asked.push((server.0, header.purpose, header.range.from, header.range.to));
    }
    let (first, more) = (Purpose::Ask, Purpose::More);
    assert_eq!(
        asked,
        [
            (0, first, 0, 10_000),
            (1, first, 9_000, 10_000),
            (1, more, 8_000, 9_000),
            (2, first, 7_000, 8_000),
            (2, more, 6_000, 7_000)
        ]
    );
    // All three servers are equally fast: each sends a third. The copies share the last piece unequally.
    let mut sent = 0;
    while client.poll_completion().is_none() {
        sent += 100;
        for index in 0..3 {
            client.on_bytes(at(1), copy(index), 100);
        }
    }
    assert!((3_400..3_800).contains(&sent), "{sent}");
}

#[test]
fn three_copies_whose_bytes_count_have_to_be_purged_and_two_need_not() {
    let unpurged = |copies| Policy {
        copies,
        purge: None,
        ..Policy::RANS
    };
    assert_eq!(unpurged(2).fault(), None);
    assert!(
        unpurged(3)
            .fault()
            .is_some_and(|fault| fault.contains("need a purge"))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_of_an_aggregated_object_counts_exactly_once(
        ranges in proptest::collection::vec((0..400u64, 0..120u64), 1..60),
        bytes in 1..400u64,
    ) {
        let mut coverage = Coverage::of(bytes);
        let mut model = vec![false; bytes as usize];
        for (from, length) in ranges {
            let range = ByteRange { from, to: from + length };
            let mut fresh = 0;
            for index in from..range.to.min(bytes) {
                fresh += u64::from(!std::mem::replace(&mut model[index as usize], true));
            }
            prop_assert_eq!(coverage.add(range), fresh);
            prop_assert!(coverage.has(range));
            prop_assert_eq!(coverage.is_whole(), model.iter().all(|there| *there));
        }
    }

    #[test]
    fn an_aggregating_client_counts_its_object_and_no_more(
        copies in 2..6u8,
        piece in 500..12_000u64,
        steps in proptest::collection::vec((0..6u8, 1..3_000u64), 1..300),
    ) {
        let mut client = asking(Policy { copies, piece, ..Policy::RANS });
            let mut model = vec![false; OBJECT as usize];
        // Bytes that each copy has requested, in order, and the number of bytes that it has sent.
        let mut asked = vec![Vec::new(); usize::from(copies)];
        let mut sent = vec![0; usize::from(copies)];
        let mut useful = 0;
        let mut is_done = false;
        for (index, bytes) in steps {
            while let Some((_, header)) = client.poll_transmit() {
                let mut range: Vec<u64> = (header.range.from..header.range.to).collect();
                if header.order == Order::Backwards {
                    range.reverse();
                }
                match header.purpose {
                    Purpose::Ask | Purpose::More => asked[usize::from(header.copy.copy)].extend(range),
                    _ => prop_assert!(is_done),
                }
            }
            let index = index % copies;
            let of = usize::from(index);
            let left = &asked[of][sent[of]..];
            let some = &left[..left.len().min(bytes as usize)];
            for byte in some {
                model[*byte as usize] = true;
            }
            sent[of] += some.len();
            useful += client.on_bytes(at(1), copy(index), some.len() as u64);
            is_done |= client.poll_completion().is_some();
            prop_assert_eq!(is_done, model.iter().all(|there| *there));
            if !is_done {
                prop_assert_eq!(useful, model.iter().filter(|there| **there).count() as u64);
            }
        }
        prop_assert!(useful <= OBJECT);
    }

    #[test]
    fn an_aggregated_object_is_had_however_slow_some_of_its_servers_are(
        piece in 500..12_000u64,
        dead in proptest::collection::vec(any::<bool>(), 4),
    ) {
        prop_assume!(dead.contains(&false));
        let mut client = asking(Policy { copies: 4, piece, ..Policy::RANS });
            let mut left = [0u64; 4];
        let mut rounds = 0;
        while client.poll_completion().is_none() {
            while let Some((_, header)) = client.poll_transmit() {
                left[usize::from(header.copy.copy)] += header.range.to - header.range.from;
            }
            for (index, left) in left.iter_mut().enumerate().filter(|(index, _)| !dead[*index]) {
                let bytes = (*left).min(100);
                *left -= bytes;
                client.on_bytes(at(1), copy(index as u8), bytes);
            }
            rounds += 1;
            prop_assert!(rounds <= OBJECT / 100, "several copies are not slower than one copy");
        }
    }
}
