//! Tests of the guard's gate: which jobs run, which wait, and which are rejected.

use proptest::prelude::*;
use tailcut_requests::{Admission, Class, Gate, GateConfig, Left};

const ONE: u8 = 1;
const OTHER: u8 = 2;

fn gate(workers: u32, queue: u32) -> Gate<u8> {
    Gate::new(GateConfig { workers, queue })
}

#[test]
fn a_primary_overtakes_duplicates_that_wait_and_nothing_interrupts_what_runs() {
    let mut gate = gate(1, 10);
    assert_eq!(gate.arrive(1, ONE, Class::Duplicate), Admission::Runs);
    assert_eq!(gate.arrive(2, ONE, Class::Duplicate), Admission::Waits);
    assert_eq!(gate.arrive(3, ONE, Class::Primary), Admission::Waits);
    assert_eq!(gate.arrive(4, ONE, Class::Primary), Admission::Waits);
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
    gate.arrive(1, ONE, Class::Primary);
    gate.arrive(2, ONE, Class::Primary);
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
    gate.arrive(1, ONE, Class::Primary);
    gate.arrive(2, ONE, Class::Duplicate);
    gate.arrive(3, ONE, Class::Duplicate);
    assert_eq!(gate.arrive(4, ONE, Class::Duplicate), Admission::Refused);
    assert_eq!(gate.arrive(5, ONE, Class::Primary), Admission::Displaces(3));
    assert_eq!(gate.arrive(6, ONE, Class::Primary), Admission::Displaces(2));
    assert_eq!(gate.arrive(7, ONE, Class::Primary), Admission::Refused);
    assert_eq!(gate.waiting(Class::Primary), 2);
}

#[test]
fn more_workers_start_jobs_that_wait_and_fewer_let_running_ones_end() {
    let mut gate = gate(1, 10);
    for job in 1..=4 {
        gate.arrive(job, ONE, Class::Primary);
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
    assert_eq!(gate.arrive(1, ONE, Class::Primary), Admission::Runs);
    assert_eq!(gate.arrive(2, ONE, Class::Optional), Admission::Runs);
    assert_eq!(gate.arrive(3, ONE, Class::Optional), Admission::Refused);
}

#[test]
fn a_client_that_fills_the_queue_waits_for_its_turn_behind_each_other_client() {
    let mut gate = gate(1, 10);
    for job in 1..=5 {
        gate.arrive(job, ONE, Class::Primary);
    }
    gate.arrive(6, OTHER, Class::Primary);
    gate.arrive(7, OTHER, Class::Primary);
    let order = (1..=7).scan(1, |runs, _| {
        *runs = gate.leave(*runs)?.next?;
        Some(*runs)
    });
    assert_eq!(order.collect::<Vec<_>>(), [2, 6, 3, 7, 4, 5]);
}

#[test]
fn in_a_full_queue_the_client_with_the_most_jobs_makes_room_for_another_client() {
    let mut gate = gate(1, 4);
    for job in 1..=5 {
        gate.arrive(job, ONE, Class::Primary);
    }
    assert_eq!(gate.arrive(6, ONE, Class::Primary), Admission::Refused);
    assert_eq!(gate.arrive(7, OTHER, Class::Duplicate), Admission::Refused);
    assert_eq!(
        gate.arrive(8, OTHER, Class::Primary),
        Admission::Displaces(5)
    );
    assert_eq!(
        gate.arrive(9, OTHER, Class::Primary),
        Admission::Displaces(4)
    );
    // Both clients have two queued jobs now.
    assert_eq!(gate.arrive(10, OTHER, Class::Primary), Admission::Refused);
    assert_eq!(gate.arrive(11, ONE, Class::Primary), Admission::Refused);
}

#[test]
fn a_worker_whose_client_takes_no_answer_goes_to_a_client_with_fewer_workers() {
    let mut gate = gate(3, 10);
    for job in 1..=3 {
        gate.arrive(job, ONE, Class::Primary);
    }
    gate.arrive(4, ONE, Class::Primary);
    gate.arrive(5, OTHER, Class::Primary);
    let stuck_since = |job| {
        [(2, 70), (3, 50)]
            .into_iter()
            .find(|(stuck, _)| *stuck == job)
    };
    let since = |job| stuck_since(job).map(|(_, since)| since);
    assert_eq!(gate.reclaim(5, since), Some(3));
    assert_eq!(gate.reclaim(5, |_| None::<u8>), None);
    // A job of the same client ends no other, and a job that runs already needs no worker.
    assert_eq!(gate.reclaim(4, since), None);
    assert_eq!(gate.reclaim(1, since), None);
    let left = gate.leave(3).and_then(|left| left.next);
    assert_eq!(left, Some(5));
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Queued {
    class: Class,
    client: u8,
    job: u64,
}

/// Simple model of a gate: lists that are searched from their start each time.
#[derive(Default)]
struct Model {
    running: Vec<(u8, u64)>,
    queued: Vec<Queued>,
    /// Latest turns of all clients that have ever come, oldest first.
    turns: Vec<u8>,
}

impl Model {
    fn running_of(&self, client: u8) -> usize {
        let of_client = self.running.iter().filter(|(other, _)| *other == client);
        of_client.count()
    }

    fn crowd(&self, class: Class, client: u8) -> Vec<u64> {
        let of_client = self.queued.iter();
        let of_client = of_client.filter(|queued| (queued.class, queued.client) == (class, client));
        of_client.map(|queued| queued.job).collect()
    }

    fn take_turn(&mut self, client: u8) {
        self.turns.retain(|other| *other != client);
        self.turns.push(client);
    }

    fn queue(&mut self, client: u8, class: Class, job: u64) {
        if self.queued.iter().all(|queued| queued.client != client) {
            self.take_turn(client);
        }
        let queued = Queued { class, client, job };
        self.queued.push(queued);
    }

    fn next(&mut self) -> Option<u64> {
        let turn = |client| self.turns.iter().position(|other| *other == client);
        let first = self.queued.iter().min_by_key(|queued| {
            let Queued { class, client, job } = **queued;
            (class, self.running_of(client), turn(client), job)
        });
        let Queued { client, job, .. } = *first?;
        self.queued.retain(|queued| queued.job != job);
        self.running.push((client, job));
        self.take_turn(client);
        Some(job)
    }

    /// Returns the job that a full queue gives up for a new job.
    fn displaced_by(&self, client: u8, class: Class) -> Option<u64> {
        let lowest = self.queued.iter().map(|queued| queued.class).max()?;
        let crowds = (0..=u8::MAX).map(|other| self.crowd(lowest, other));
        let most = crowds.max_by_key(|jobs| (jobs.len(), jobs.last().copied()))?;
        let may =
            lowest > class || lowest == class && most.len() >= self.crowd(class, client).len() + 2;
        most.last().copied().filter(|_| may)
    }
}

proptest! {
    #[test]
    fn a_gate_keeps_its_bounds_and_its_order(
        workers in 1u32..4,
        queue in 0u32..6,
        clients in 1u8..4,
        steps in prop::collection::vec((0u8..4, 0usize..12, any::<u8>()), 0..200),
    ) {
        let mut gate = gate(workers, queue);
        let mut model = Model::default();
        for (number, (step, which, client)) in (0..).zip(steps) {
            let client = client % clients;
            if let Some(class) = Class::ALL.get(usize::from(step)).copied() {
                let full = model.queued.len() >= queue as usize;
                let expected = if model.running.len() < workers as usize {
                    model.running.push((client, number));
                    Admission::Runs
                } else if class == Class::Optional {
                    Admission::Refused
                } else if !full {
                    model.queue(client, class, number);
                    Admission::Waits
                } else if let Some(other) = model.displaced_by(client, class) {
                    model.queued.retain(|queued| queued.job != other);
                    model.queue(client, class, number);
                    Admission::Displaces(other)
                } else {
                    Admission::Refused
                };
                prop_assert_eq!(gate.arrive(number, client, class), expected);
            } else {
                let running = model.running.iter().map(|(_, job)| *job);
                let all = running.chain(model.queued.iter().map(|queued| queued.job));
                let all: Vec<u64> = all.collect();
                let Some(job) = all.get(which % all.len().max(1)).copied() else {
                    continue;
                };
                let before = model.running.len();
                model.running.retain(|(_, other)| *other != job);
                model.queued.retain(|queued| queued.job != job);
                let ran = model.running.len() < before;
                let next = if ran { model.next() } else { None };
                prop_assert_eq!(gate.leave(job), Some(Left { ran, next }));
            }
            prop_assert!(model.running.len() <= workers as usize);
            prop_assert!(model.queued.len() <= queue as usize);
            prop_assert_eq!(gate.running() as usize, model.running.len());
            let shown: usize = Class::ALL.iter().map(|class| gate.waiting(*class)).sum();
            prop_assert_eq!(shown, model.queued.len());
        }
    }

    /// Other clients come and go in any order. An honest client waits for at most one turn of each of them.
    #[test]
    fn a_client_gets_a_worker_after_one_turn_of_each_other_client(
        others in 1u64..6,
        backlog in 1u64..20,
        ends in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let mut gate = gate(1, 1_000);
        let mut next_job = 1;
        gate.arrive(0, OTHER, Class::Primary);
        for client in 0..others {
            for _ in 0..backlog {
                gate.arrive(next_job, 10 + client as u8, Class::Primary);
                next_job += 1;
            }
        }
        let mine = next_job;
        gate.arrive(mine, ONE, Class::Primary);
        next_job += 1;
        let mut running = 0;
        let mut turns = 0;
        for end in ends {
            let Some(next) = gate.leave(running).and_then(|left| left.next) else { break };
            if next == mine {
                break;
            }
            turns += 1;
            prop_assert!(turns <= others, "{} turns of {} clients", turns, others);
            running = next;
            // The client whose job runs, or any other one, asks again immediately.
            let client = 10 + end.index(others as usize) as u8;
            gate.arrive(next_job, client, Class::Primary);
            next_job += 1;
        }
        prop_assert!(turns > 0);
    }
}
