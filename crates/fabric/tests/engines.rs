//! Tests of the calendar queue: it returns events in the same order as the heap, for any sequence of calls.

use proptest::prelude::*;
use tailcut_fabric::engine::{Engine, EngineKind, Event};
use tailcut_units::Time;

#[derive(Clone, Debug)]
enum Step {
    /// Push an event. Its time is this number of picoseconds after the last popped event.
    Push(u64, u32),
    /// Pop the earliest event, if it is due within this number of picoseconds.
    Pop(u64),
    Peek,
}

/// Generates spans from a picosecond to seconds.
/// After a span, the calendar is in the same day, in a later day on the ring, or after the ring.
fn span() -> impl Strategy<Value = u64> {
    (0u32..44).prop_flat_map(|bits| 0..(1u64 << bits))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (span(), 0u32..50).prop_map(|(after, entity)| Step::Push(after, entity)),
        3 => span().prop_map(Step::Pop),
        1 => Just(Step::Peek),
    ]
}

proptest! {
    #[test]
    fn a_calendar_pops_what_a_heap_pops(steps in prop::collection::vec(step(), 1..600)) {
        let mut calendar = Engine::new(EngineKind::Calendar, 1, 50);
        let mut heap = Engine::new(EngineKind::Heap, 1, 50);
        let mut now = 0u64;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push(after, entity) => {
                    let event = Event::new(Time::from_ps(now + after), entity, number as u32);
                    calendar.push(event);
                    heap.push(event);
                }
                Step::Pop(span) => {
                    let until = Time::from_ps(now + span);
                    let popped = calendar.pop_until(until);
                    prop_assert_eq!(popped, heap.pop_until(until));
                    if let Some(event) = popped {
                        now = event.time().as_ps();
                    }
                }
                Step::Peek => prop_assert_eq!(calendar.peek(), heap.peek()),
            }
        }
        loop {
            let popped = calendar.pop_until(Time::MAX);
            prop_assert_eq!(popped, heap.pop_until(Time::MAX));
            if popped.is_none() {
                break;
            }
        }
    }
}

#[test]
fn the_width_of_a_day_follows_the_load_without_losing_an_event() {
    let mut calendar = Engine::new(EngineKind::Calendar, 1, 50);
    let mut heap = Engine::new(EngineKind::Heap, 1, 50);
    let mut state = 1u64;
    let mut now = 0;
    for round in 0..400_000u32 {
        // The load is first dense, then sparse, then dense.
        // The calendar must therefore make its days narrower and wider.
        let spread = if (100_000..200_000).contains(&round) {
            40
        } else {
            20
        };
        state = tailcut_units::mix64(state);
        let event = Event::new(
            Time::from_ps(now + (state >> (64 - spread))),
            round % 7,
            round,
        );
        calendar.push(event);
        heap.push(event);
        if round > 3_000 {
            let popped = calendar.pop_until(Time::MAX);
            assert_eq!(popped, heap.pop_until(Time::MAX));
            now = popped.expect("thousands are left").time().as_ps();
        }
    }
}
