//! Tests of stations: the order of jobs and their times, exact to the picosecond.

use proptest::prelude::*;
use tailcut_requests::{Discipline, Preemption, Progress, Station};
use tailcut_units::{Duration, Time};

const fn ms(count: u64) -> Duration {
    Duration::from_ms(count)
}

fn at(count: u64) -> Time {
    Time::ZERO + ms(count)
}

/// Serves until no job is left. Returns the time at which each job was complete.
fn completions(station: &mut Station) -> Vec<(u64, Time)> {
    let mut done = Vec::new();
    while let Some(due) = station.next_timeout() {
        station.advance(due);
        while let Some(Progress {
            time, job, is_done, ..
        }) = station.poll_progress()
        {
            assert_eq!(time, due);
            if is_done {
                done.push((job, time));
            }
        }
    }
    assert!(station.is_empty());
    done
}

#[test]
fn first_come_is_first_served_one_after_the_other() {
    let mut station = Station::new(Discipline::Fifo, Preemption::Resume);
    station.add(at(0), 1, 0, ms(10), ms(10));
    station.add(at(2), 2, 0, ms(5), ms(5));
    assert_eq!(completions(&mut station), [(1, at(10)), (2, at(15))]);
}

#[test]
fn two_equal_jobs_share_the_processor_and_finish_together() {
    let mut station = Station::new(Discipline::ProcessorSharing, Preemption::Resume);
    station.add(at(0), 1, 0, ms(10), ms(10));
    station.add(at(4), 2, 0, ms(6), ms(6));
    // Job 1 has 6 ms left when job 2 arrives with 6 ms.
    assert_eq!(completions(&mut station), [(1, at(16)), (2, at(16))]);
}

#[test]
fn high_work_interrupts_low_work_which_resumes_where_it_was() {
    for discipline in [Discipline::Fifo, Discipline::ProcessorSharing] {
        let mut station = Station::new(discipline, Preemption::Resume);
        station.add(at(0), 1, 1, ms(10), ms(10));
        station.add(at(4), 2, 0, ms(3), ms(3));
        assert_eq!(completions(&mut station), [(2, at(7)), (1, at(13))]);
    }
}

#[test]
fn high_work_waits_for_a_chunk_or_a_job_where_it_may_not_interrupt() {
    for (preemption, high, low) in [(Preemption::Unit, 8, 13), (Preemption::Never, 13, 10)] {
        let mut station = Station::new(Discipline::Fifo, preemption);
        station.add(at(0), 1, 1, ms(10), ms(5));
        station.add(at(4), 2, 0, ms(3), ms(3));
        let mut done = completions(&mut station);
        done.sort_unstable();
        assert_eq!(done, [(1, at(low)), (2, at(high))], "{preemption:?}");
    }
}

#[test]
fn a_job_that_is_taken_away_leaves_the_station_to_the_others() {
    let mut station = Station::new(Discipline::Fifo, Preemption::Never);
    station.add(at(0), 1, 1, ms(10), ms(10));
    station.add(at(1), 2, 1, ms(10), ms(10));
    assert_eq!(station.has_started(2), Some(false));
    assert_eq!(station.has_started(3), None);
    let removed = station.remove(at(4), 1).expect("it is here");
    assert_eq!((removed.unfinished, removed.unit), (ms(4), ms(10)));
    assert_eq!(station.remove(at(4), 1), None);
    assert_eq!(completions(&mut station), [(2, at(14))]);
}

#[test]
fn waiting_work_that_is_taken_away_does_not_interrupt_the_work_in_service() {
    let mut station = Station::new(Discipline::Fifo, Preemption::Never);
    station.add(at(0), 1, 1, ms(10), ms(10));
    station.add(at(1), 2, 1, ms(10), ms(10));
    for high in [3, 4] {
        station.add(at(2), high, 0, ms(3), ms(3));
    }
    // Job 3 is the next job in its class. Job 2 belongs to the class in service.
    assert!(station.remove(at(3), 3).is_some());
    assert!(station.remove(at(4), 2).is_some());
    assert_eq!(completions(&mut station), [(1, at(10)), (4, at(13))]);
}

#[test]
fn low_work_that_shares_the_processor_has_begun_once_high_work_has_left() {
    let mut station = Station::new(Discipline::ProcessorSharing, Preemption::Resume);
    station.add(at(0), 1, 0, ms(5), ms(5));
    for low in [2, 3] {
        station.add(at(0), low, 1, ms(5), ms(5));
    }
    station.advance(at(4));
    assert_eq!(
        [1, 2, 3].map(|job| station.has_started(job)),
        [true, false, false].map(Some)
    );
    station.advance(at(5));
    assert_eq!([2, 3].map(|job| station.has_started(job)), [Some(true); 2]);
}

#[test]
fn work_that_joins_others_at_the_processor_has_begun_at_once_and_stays_so() {
    let mut station = Station::new(Discipline::ProcessorSharing, Preemption::Resume);
    station.add(at(0), 1, 1, ms(9), ms(9));
    station.add(at(1), 2, 1, ms(9), ms(9));
    assert_eq!(
        station.has_started(2),
        Some(true),
        "it receives its share at once"
    );
    // High work interrupts both jobs. One of the jobs also becomes high.
    station.add(at(2), 3, 0, ms(9), ms(9));
    station.set_class(at(3), 1, 0);
    assert_eq!(
        [1, 2, 3].map(|job| station.has_started(job)),
        [Some(true); 3]
    );
}

#[test]
fn a_job_that_changes_its_class_keeps_the_service_that_it_has_got() {
    let mut station = Station::new(Discipline::Fifo, Preemption::Resume);
    station.add(at(0), 1, 0, ms(10), ms(10));
    station.add(at(0), 2, 1, ms(10), ms(10));
    // Job 1 has 7 ms left and is low now; job 2 is high.
    station.set_class(at(3), 1, 1);
    station.set_class(at(3), 2, 0);
    assert_eq!(completions(&mut station), [(2, at(13)), (1, at(20))]);
}

/// Arrival of a job: the gap before it, its class, and its work, in microseconds.
type Arrival = (u64, u8, u64);

fn run(
    discipline: Discipline,
    preemption: Preemption,
    arrivals: &[Arrival],
    keep: impl Fn(u8) -> bool,
) -> Vec<(u64, Time)> {
    let mut station = Station::new(discipline, preemption);
    let mut now = Time::ZERO;
    let mut done = Vec::new();
    let mut collect = |station: &mut Station| {
        while let Some(progress) = station.poll_progress() {
            if progress.is_done {
                done.push((progress.job, progress.time));
            }
        }
    };
    for (job, &(gap, class, work)) in (0..).zip(arrivals) {
        now += Duration::from_us(gap);
        if keep(class) {
            station.advance(now);
            // Work is an odd number of picoseconds, so that shares are not whole numbers.
            let work = Duration::from_ps(work * 1_000_003 + 7);
            station.add(now, job, class, work, work / 3 + Duration::from_ps(1));
        }
        collect(&mut station);
    }
    while let Some(due) = station.next_timeout() {
        station.advance(due);
        collect(&mut station);
    }
    done.sort_unstable();
    done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn under_preemption_the_high_class_does_not_know_that_there_is_a_low_one(
        arrivals in proptest::collection::vec((0..40u64, 0..2u8, 1..30u64), 1..80),
        shared in any::<bool>(),
    ) {
        let discipline = match shared {
            true => Discipline::ProcessorSharing,
            false => Discipline::Fifo,
        };
        let alone = run(discipline, Preemption::Resume, &arrivals, |class| class == 0);
        let beside = run(discipline, Preemption::Resume, &arrivals, |_| true);
        let is_high = |done: &&(u64, Time)| arrivals[done.0 as usize].1 == 0;
        let beside: Vec<_> = beside.iter().filter(is_high).copied().collect();
        prop_assert_eq!(alone, beside);
    }

    #[test]
    fn without_preemption_the_high_class_loses_one_residual_at_most(
        arrivals in proptest::collection::vec((0..40u64, 0..2u8, 1..30u64), 1..80),
        by_unit in any::<bool>(),
    ) {
        let preemption = match by_unit {
            true => Preemption::Unit,
            false => Preemption::Never,
        };
        let alone = run(Discipline::Fifo, preemption, &arrivals, |class| class == 0);
        let beside = run(Discipline::Fifo, preemption, &arrivals, |_| true);
        let longest = arrivals.iter().filter(|arrival| arrival.1 == 1).map(|arrival| arrival.2).max();
        let whole = Duration::from_ps(longest.unwrap_or(0) * 1_000_003 + 7);
        let residual = match by_unit {
            true => whole / 3 + Duration::from_ps(1),
            false => whole,
        };
        for (job, time) in alone {
            let later = beside.iter().find(|(other, _)| *other == job).map(|(_, time)| *time);
            let later = later.expect("every job is done");
            prop_assert!(time <= later && later <= time + residual, "{job}: {time} and {later}");
        }
    }

    #[test]
    fn a_station_is_never_idle_while_there_is_work(
        arrivals in proptest::collection::vec((0..40u64, 0..2u8, 1..30u64), 1..60),
    ) {
        // A server that is never idle while it has work ends its last job at the same time in every order.
        let ends = [
            run(Discipline::Fifo, Preemption::Resume, &arrivals, |_| true),
            run(Discipline::Fifo, Preemption::Never, &arrivals, |_| true),
            run(Discipline::ProcessorSharing, Preemption::Resume, &arrivals, |_| true),
        ]
        .map(|done| done.into_iter().map(|(_, time)| time).max().expect("jobs"));
        prop_assert_eq!(ends[0], ends[1]);
        // At each change, shares are rounded to a fraction of a picosecond.
        let apart = ends[0].since(ends[2]).as_ps() + ends[2].since(ends[0]).as_ps();
        prop_assert!(apart <= 400, "{} ps apart", apart);
    }
}
