//! Tests of the guard's gate: which jobs run, which wait, and which are rejected.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tailcut_requests::{Admission, Class, Gate, GateConfig, Left};

fn gate(workers: u32, queue: u32) -> Gate {
    Gate::new(GateConfig { workers, queue })
}

#[test]
fn a_primary_overtakes_duplicates_that_wait_and_nothing_interrupts_what_runs() {
    let mut gate = gate(1, 10);
    assert_eq!(gate.arrive(1, Class::Duplicate), Admission::Runs);
    assert_eq!(gate.arrive(2, Class::Duplicate), Admission::Waits);
    assert_eq!(gate.arrive(3, Class::Primary), Admission::Waits);
    assert_eq!(gate.arrive(4, Class::Primary), Admission::Waits);
    let mut order = Vec::new();
    let mut runs = 1;
    while let Some(Left {
        next: Some(next), ..
    }) = gate.leave(runs)
    {
        order.push(next);
        runs = next;
    }
    assert_eq!(order, [3, 4, 2]);
    assert_eq!(gate.running(), 0);
}

#[test]
fn a_job_that_is_purged_while_it_waits_is_never_started() {
    let mut gate = gate(1, 10);
    gate.arrive(1, Class::Primary);
    gate.arrive(2, Class::Primary);
    let purged = Left {
        ran: false,
        next: None,
    };
    assert_eq!(gate.leave(2), Some(purged));
    let done = Left {
        ran: true,
        next: None,
    };
    assert_eq!(gate.leave(1), Some(done));
    assert_eq!(gate.leave(2), None);
}

#[test]
fn where_all_places_are_taken_a_duplicate_gives_its_own_to_a_primary() {
    let mut gate = gate(1, 2);
    gate.arrive(1, Class::Primary);
    gate.arrive(2, Class::Duplicate);
    gate.arrive(3, Class::Duplicate);
    assert_eq!(gate.arrive(4, Class::Duplicate), Admission::Refused);
    assert_eq!(gate.arrive(5, Class::Primary), Admission::Displaces(3));
    assert_eq!(gate.arrive(6, Class::Primary), Admission::Displaces(2));
    assert_eq!(gate.arrive(7, Class::Primary), Admission::Refused);
    assert_eq!(gate.waiting(Class::Primary), 2);
}

#[test]
fn more_workers_start_jobs_that_wait_and_fewer_let_running_ones_end() {
    let mut gate = gate(1, 10);
    for job in 1..=4 {
        gate.arrive(job, Class::Primary);
    }
    let bounds = |workers| GateConfig { workers, queue: 10 };
    assert_eq!(gate.set(bounds(3)), [2, 3]);
    assert_eq!(gate.set(bounds(1)), []);
    assert_eq!(gate.running(), 3);
    let ended = |next| Some(Left { ran: true, next });
    assert_eq!(gate.leave(1), ended(None));
    assert_eq!(gate.leave(2), ended(None));
    assert_eq!(gate.leave(3), ended(Some(4)));
    assert_eq!(gate.running(), 1);
}

#[test]
fn optional_work_runs_on_idle_workers_and_never_waits() {
    let mut gate = gate(2, 10);
    assert_eq!(gate.arrive(1, Class::Primary), Admission::Runs);
    assert_eq!(gate.arrive(2, Class::Optional), Admission::Runs);
    assert_eq!(gate.arrive(3, Class::Optional), Admission::Refused);
}

proptest! {
    /// Compares the gate with a simple model: a list that is searched from its start each time.
    #[test]
    fn a_gate_keeps_its_bounds_and_its_order(
        workers in 1u32..4,
        queue in 0u32..6,
        steps in prop::collection::vec((0u8..4, 0usize..12), 0..200),
    ) {
        let mut gate = gate(workers, queue);
        let mut running = BTreeSet::new();
        let mut waiting: BTreeMap<(Class, u64), u64> = BTreeMap::new();
        for (number, (step, which)) in (0..).zip(steps) {
            if let Some(class) = Class::ALL.get(usize::from(step)) {
                match gate.arrive(number, *class) {
                    Admission::Runs => {
                        prop_assert!(waiting.is_empty());
                        running.insert(number);
                    }
                    Admission::Waits => {
                        waiting.insert((*class, number), number);
                    }
                    Admission::Displaces(other) => {
                        let last = waiting.pop_last();
                        prop_assert_eq!(last.map(|(_, job)| job), Some(other));
                        waiting.insert((*class, number), number);
                    }
                    Admission::Refused => {
                        prop_assert_eq!(running.len(), workers as usize);
                    }
                }
            } else {
                let all = running.iter().chain(waiting.values());
                let all: Vec<u64> = all.copied().collect();
                let Some(job) = all.get(which % all.len().max(1)).copied() else {
                    continue;
                };
                let left = gate.leave(job);
                let ran = running.remove(&job);
                let next = match ran {
                    true => waiting.pop_first().map(|(_, job)| job),
                    false => {
                        waiting.retain(|_, other| *other != job);
                        None
                    }
                };
                running.extend(next);
                prop_assert_eq!(left, Some(Left { ran, next }));
            }
            prop_assert!(running.len() <= workers as usize && waiting.len() <= queue as usize);
            prop_assert_eq!(gate.running() as usize, running.len());
            let shown: usize = Class::ALL.iter().map(|class| gate.waiting(*class)).sum();
            prop_assert_eq!(shown, waiting.len());
        }
    }
}
