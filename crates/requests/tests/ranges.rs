//! Tests of ranges from several sides: each byte arrives, exactly once if no side fails, and memory is bounded.

use proptest::prelude::*;
use tailcut_requests::{AskId, ByteRange, Coverage, Idle, Ranges};
use tailcut_units::{Duration, Time};

const AT: Time = Time::ZERO;

fn span(range: ByteRange) -> (u64, u64) {
    (range.from, range.to)
}

fn ask(ranges: &mut Ranges, side: usize) -> (AskId, (u64, u64)) {
    let (id, range) = ranges.ask(AT, side).expect("something to ask for");
    (id, span(range))
}

#[test]
fn the_first_side_takes_the_front_the_second_one_the_back_until_they_meet() {
    let mut ranges = Ranges::new(1_000, 300);
    let (front, back) = (ranges.open(), ranges.open());
    let (one, range) = ask(&mut ranges, front);
    assert_eq!(range, (0, 300));
    assert_eq!(ask(&mut ranges, back).1, (700, 1_000));
    // More than half a piece is left to arrive.
    assert_eq!(ranges.ask(AT, front), None);
    assert_eq!(ranges.arrived(one, 150).len(), 1);
    assert_eq!(ask(&mut ranges, front).1, (300, 600));
    assert_eq!(ranges.ask(AT, front), None);
    ranges.close(front);
    // Only the back side is left, so it becomes the front.
    let mut rest = Vec::new();
    while !ranges.is_whole() {
        let (id, range) = match ranges.ask(AT, back) {
            Some((id, range)) => (id, span(range)),
            None => (AskId(1), (700, 1_000)),
        };
        ranges.arrived(id, range.1 - range.0);
        ranges.end(id);
        rest.push(range);
    }
    assert_eq!(rest, [(700, 1_000), (150, 450), (450, 700)]);
}

#[test]
fn what_waits_is_taken_back_once_and_what_has_begun_is_not() {
    let mut ranges = Ranges::new(200, 100);
    let (front, back) = (ranges.open(), ranges.open());
    let (one, _) = ask(&mut ranges, front);
    let (other, range) = ask(&mut ranges, back);
    let moment = AT + Duration::from_ms(1);
    ranges.begun(moment, one);
    ranges.arrived(one, 100);
    ranges.end(one);
    // A request counts as queued only after twice the time of the quickest answer.
    let due = AT + Duration::from_ms(2);
    assert_eq!(ranges.idle(moment, front), Some(Idle::Until(due)));
    assert_eq!(ranges.idle(due, front), Some(Idle::TakeBack(other)));
    ranges.take_back(other);
    let (again, taken) = ask(&mut ranges, front);
    assert_eq!(taken, range);
    // A request that was taken back once is not taken back again.
    let later = due + Duration::from_ms(9);
    assert_eq!(ranges.idle(later, back), None);
    ranges.begun(later, again);
    ranges.arrived(again, 100);
    assert!(ranges.is_whole());
}

#[test]
fn a_reader_that_does_not_read_stops_the_asking() {
    let mut ranges = Ranges::windowed(10_000, 100, 1_000);
    let sides = [ranges.open(), ranges.open()];
    let mut most = 0;
    for position in (0..=10_000).step_by(250) {
        ranges.take(position);
        for side in sides.repeat(50) {
            if let Some((id, range)) = ranges.ask(AT, side) {
                most = most.max(range.to);
                ranges.arrived(id, range.to - range.from);
                ranges.end(id);
            }
        }
        assert!(most <= position + 1_000, "{most} {position}");
        assert!(most >= (position + 500).min(10_000), "{most} {position}");
    }
    assert!(ranges.is_whole());
}

/// Step of a random sequence.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ask(usize),
    Begin(usize),
    Arrive(usize, u64),
    End(usize),
    TakeBack(usize),
    Close(usize),
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_usize).prop_map(Step::Ask),
        1 => (0..9_usize).prop_map(Step::Begin),
        6 => (0..9_usize, 1..200_u64).prop_map(|(ask, bytes)| Step::Arrive(ask, bytes)),
        1 => (0..9_usize).prop_map(Step::End),
        1 => (0..4_usize).prop_map(Step::TakeBack),
        1 => (1..4_usize).prop_map(Step::Close),
        2 => Just(Step::Read),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_every_byte_comes_and_is_given_out_once(
        bytes in 1..3_000_u64,
        piece in 1..400_u64,
        window in 1..4_000_u64,
        steps in prop::collection::vec(step(), 0..300),
    ) {
        let mut ranges = Ranges::windowed(bytes, piece, window);
        let bound = window.max(2 * piece);
        for _ in 0..4 {
            ranges.open();
        }
        let (mut now, mut taken) = (AT, 0);
        let mut asks: Vec<(AskId, ByteRange)> = Vec::new();
        let mut seen = Coverage::of(bytes);
        // At the end, the first side delivers the rest.
        let ending = [Step::Ask(0), Step::Arrive(0, u64::MAX), Step::Read, Step::End(0)];
        let close = [1, 2, 3].map(Step::Close);
        let all = steps.into_iter().chain(close);
        let all = all.chain(ending.into_iter().cycle().take(4 * 3_100));
        for step in all {
            now += Duration::from_us(10);
            match step {
                Step::Ask(side) => if let Some((id, range)) = ranges.ask(now, side) {
                    prop_assert!(range.from < range.to && range.to <= bytes);
                    prop_assert!(range.to - range.from <= piece);
                    prop_assert!(range.to <= taken + bound);
                    for (other, _) in &asks {
                        let left = ranges.left(*other);
                        let apart = |left: ByteRange| left.to <= range.from || range.to <= left.from;
                        prop_assert!(left.is_none_or(apart), "{left:?} {range:?}");
                    }
                    asks.push((id, range));
                },
                Step::Begin(at) => if let Some((id, _)) = asks.get(at) {
                    ranges.begun(now, *id);
                },
                Step::Arrive(at, count) => if let Some((id, _)) = asks.get(at) {
                    for fresh in ranges.arrived(*id, count) {
                        prop_assert_eq!(seen.add(fresh), fresh.to - fresh.from);
                    }
                },
                Step::End(at) => if at < asks.len() {
                    ranges.end(asks.remove(at).0);
                },
                Step::TakeBack(side) => if let Some(Idle::TakeBack(id)) = ranges.idle(now, side) {
                    ranges.take_back(id);
                    prop_assert!(ranges.left(id).is_none());
                    asks.retain(|(other, _)| *other != id);
                },
                Step::Close(side) => ranges.close(side),
                Step::Read => {
                    let all = ByteRange { from: taken, to: bytes };
                    taken = seen.first_gap(all).map_or(bytes, |gap| gap.from);
                    ranges.take(taken);
                }
            }
            asks.retain(|(id, _)| ranges.left(*id).is_some());
        }
        prop_assert!(ranges.is_whole() && seen.is_whole());
    }

    #[test]
    fn gaps_are_what_has_not_come(
        adds in prop::collection::vec((0..60_u64, 1..9_u64), 0..12),
        from in 0..60_u64,
        length in 0..60_u64,
    ) {
        let mut coverage = Coverage::of(50);
        let mut bytes = [false; 50];
        for (from, length) in adds {
            coverage.add(ByteRange { from, to: from + length });
            let to = (from + length).min(50);
            bytes[from.min(50) as usize..to as usize].fill(true);
        }
        let (from, to) = (from, (from + length).min(50));
        let lacks = |at: &u64| !bytes[*at as usize];
        let first = (from..to).find(lacks).map(|first| {
            let end = (first..to).find(|at| !lacks(at)).unwrap_or(to);
            (first, end)
        });
        let last = (from..to).rev().find(lacks).map(|last| {
            let begin = (from..last).rev().find(|at| !lacks(at)).map_or(from, |at| at + 1);
            (begin, last + 1)
        });
        let range = ByteRange { from, to };
        prop_assert_eq!(coverage.first_gap(range).map(span), first);
        prop_assert_eq!(coverage.last_gap(range).map(span), last);
    }
}
