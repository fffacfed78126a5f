//! Tests of the trial of copies, with queues in virtual time: copies that help go on, and copies that harm end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use tailcut_requests::{Ticket, Trial, TrialConfig, TrialEnd, Verdict};
use tailcut_units::{Duration, Time, stream_seed};

const CONFIG: TrialConfig = TrialConfig {
    slot: Duration::from_ms(5_000),
    seed: 1,
    epoch: 0,
};

/// Random numbers of one purpose.
struct Draw {
    seed: u64,
    next: u64,
}

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.next += 1;
        (stream_seed(self.seed, 0, self.next) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// Servers that a test describes.
#[derive(Clone, Copy, Debug)]
struct Servers {
    workers: usize,
    /// Work of an execution in seconds. It has no variance, except that some executions are ten times slower.
    work: f64,
    slow: f64,
    /// Load without copies.
    load: f64,
    /// Whether copies run behind primaries, and end when the other copy has answered.
    has_guards: bool,
}

/// Copies that the client of a test sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arm {
    Never,
    Always,
    /// A copy of each second request, at random: a control group in the same stream.
    Half,
    Trial,
}

/// One of two servers: a queue with two classes, and workers.
#[derive(Default)]
struct Server {
    queue: BTreeSet<(bool, u64)>,
    running: BTreeSet<u64>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ends(u64),
    Arrives,
}

struct Outcome {
    /// Latencies of the requests that began after the first ten minutes.
    latencies: Vec<f64>,
    /// The same latencies, of requests without a copy and of requests with a copy.
    by_copies: [Vec<f64>; 2],
    trial: Trial,
}

fn mean(latencies: &[f64]) -> f64 {
    latencies.iter().sum::<f64>() / latencies.len() as f64
}

impl Outcome {
    fn mean(&self) -> f64 {
        mean(&self.latencies)
    }

    fn p99(&self) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() * 99 / 100]
    }
}

struct Model {
    servers: Servers,
    both: [Server; 2],
    events: BinaryHeap<Reverse<(u64, Event)>>,
    work: Draw,
    now: u64,
}

impl Model {
    /// A job is a copy of a request: its number is twice the number of the request, plus one for the second copy.
    /// The first copy goes to the server that has the request's parity.
    fn server(job: u64) -> usize {
        ((job / 2 + job) % 2) as usize
    }

    fn arrive(&mut self, job: u64) {
        let is_low = self.servers.has_guards && job % 2 == 1;
        self.both[Self::server(job)].queue.insert((is_low, job));
        self.start(Self::server(job));
    }

    fn start(&mut self, index: usize) {
        while self.both[index].running.len() < self.servers.workers
            && let Some((_, job)) = self.both[index].queue.pop_first()
        {
            let is_slow = self.work.uniform() < self.servers.slow;
            let seconds = self.servers.work * if is_slow { 10.0 } else { 1.0 };
            self.both[index].running.insert(job);
            let ends = self.now + (seconds * 1e9) as u64;
            self.events.push(Reverse((ends, Event::Ends(job))));
        }
    }

    /// Removes a job, whether it waits or runs. Returns whether it was there.
    fn remove(&mut self, job: u64) -> bool {
        let server = &mut self.both[Self::server(job)];
        let was_running = server.running.remove(&job);
        let has_waited = [false, true].map(|is_low| server.queue.remove(&(is_low, job)));
        self.start(Self::server(job));
        was_running || has_waited.contains(&true)
    }
}

/// Runs requests of an open system for this time in seconds.
fn run(servers: Servers, arm: Arm, seconds: f64, seed: u64) -> Outcome {
    let mut model = Model {
        servers,
        both: Default::default(),
        events: BinaryHeap::new(),
        work: Draw { seed, next: 0 },
        now: 0,
    };
    let mut arrivals = Draw {
        seed: seed + 1_000,
        next: 0,
    };
    let mean_work = servers.work * (1.0 + 9.0 * servers.slow);
    let gap = mean_work / (servers.load * 2.0 * servers.workers as f64);
    let mut trial = Trial::new(CONFIG, Time::ZERO);
    let mut open: BTreeMap<u64, (Ticket, bool)> = BTreeMap::new();
    let (mut latencies, mut by_copies) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut began = BTreeMap::new();
    let mut next = 0;
    model.events.push(Reverse((0, Event::Arrives)));
    while let Some(Reverse((at, event))) = model.events.pop() {
        model.now = at;
        let now = Time::from_ns(at);
        match event {
            Event::Arrives if at as f64 > seconds * 1e9 => {}
            Event::Arrives => {
                let ticket = trial.begin(now);
                let may_copy = match arm {
                    Arm::Never => false,
                    Arm::Always => true,
                    Arm::Half => arrivals.uniform() < 0.5,
                    Arm::Trial => ticket.may_copy,
                };
                open.insert(next, (ticket, may_copy));
                began.insert(next, at);
                model.arrive(2 * next);
                if may_copy {
                    model.arrive(2 * next + 1);
                }
                next += 1;
                let after = (arrivals.exponential(gap) * 1e9) as u64;
                model.events.push(Reverse((at + after, Event::Arrives)));
            }
            Event::Ends(job) => {
                if !model.both[Model::server(job)].running.contains(&job) {
                    continue;
                }
                model.remove(job);
                let request = job / 2;
                let Some((ticket, was_copied)) = open.remove(&request) else {
                    continue;
                };
                let end = TrialEnd {
                    copies: u32::from(was_copied),
                    has_failed: false,
                };
                trial.end(now, ticket, end);
                let began = began.remove(&request).expect("it has begun");
                if began as f64 > FINDING_OUT * 1e9 {
                    let latency = (at - began) as f64 / 1e9;
                    latencies.push(latency);
                    by_copies[usize::from(was_copied)].push(latency);
                }
                if servers.has_guards {
                    model.remove(job ^ 1);
                }
            }
        }
    }
    Outcome {
        latencies,
        by_copies,
        trial,
    }
}

const HOUR: f64 = 3_600.0;

/// Time in which the trial finds out whether copies help. These requests are not counted.
const FINDING_OUT: f64 = 600.0;

#[test]
fn copies_that_help_go_on() {
    for (load, work) in [(0.3, 0.02), (0.6, 0.1)] {
        let servers = Servers {
            workers: 8,
            work,
            slow: 0.05,
            load,
            has_guards: true,
        };
        let never = run(servers, Arm::Never, HOUR, 1);
        let always = run(servers, Arm::Always, HOUR, 1);
        let trial = run(servers, Arm::Trial, HOUR, 1);
        assert!(always.mean() < 0.8 * never.mean(), "{load}");
        let kept = (never.mean() - trial.mean()) / (never.mean() - always.mean());
        assert!(kept > 0.9, "{load}: {kept}");
        assert!(trial.p99() < 1.2 * always.p99(), "{load}");
        let report = trial.trial.report();
        assert_eq!(report.verdict, Verdict::Helps, "{load}");
        let gain = 1.0 - always.mean() / never.mean();
        let found = report.gain.expect("known");
        assert!((found - gain).abs() < 0.1, "{load}: {found} {gain}");
        assert!(report.cost.expect("known") > 0.9);
    }
}

#[test]
fn copies_that_harm_end() {
    for (load, slow) in [(0.6, 0.0), (0.6, 0.05), (0.45, 0.0)] {
        let servers = Servers {
            workers: 8,
            work: 0.05,
            slow,
            load,
            has_guards: false,
        };
        let never = run(servers, Arm::Never, 4.0 * HOUR, 2);
        let trial = run(servers, Arm::Trial, 4.0 * HOUR, 2);
        let report = trial.trial.report();
        assert_eq!(report.verdict, Verdict::Useless, "{load} {slow}");
        let mean = trial.mean() / never.mean();
        let p99 = trial.p99() / never.p99();
        assert!(mean < 1.03, "{load} {slow}: {mean}");
        assert!(p99 < 1.1, "{load} {slow}: {p99}");
    }
}

#[test]
fn a_control_group_in_the_same_stream_finds_a_gain_where_copies_harm() {
    let servers = Servers {
        workers: 8,
        work: 0.05,
        slow: 0.05,
        load: 0.6,
        has_guards: false,
    };
    let never = run(servers, Arm::Never, HOUR, 4);
    let half = run(servers, Arm::Half, HOUR, 4);
    let [without, with] = half.by_copies.each_ref().map(|latencies| mean(latencies));
    // Requests with a copy take the shorter one of two queues, which are longer for all requests.
    assert!(with < 0.9 * without, "{with} {without}");
    assert!(half.mean() > 1.5 * never.mean());
    let trial = run(servers, Arm::Trial, HOUR, 4);
    assert_eq!(trial.trial.report().verdict, Verdict::Useless);
}

#[test]
fn a_backlog_that_copies_have_made_ends_and_does_not_come_back() {
    // With a copy of each request, the load is 1.8.
    let servers = Servers {
        workers: 8,
        work: 0.05,
        slow: 0.0,
        load: 0.9,
        has_guards: false,
    };
    let never = run(servers, Arm::Never, 4.0 * HOUR, 3);
    let trial = run(servers, Arm::Trial, 4.0 * HOUR, 3);
    assert_eq!(trial.trial.report().verdict, Verdict::Useless);
    let later = |outcome: &Outcome| {
        let latencies = &outcome.latencies;
        let half = latencies.len() / 2;
        latencies[half..].iter().sum::<f64>() / half as f64
    };
    let ratio = later(&trial) / later(&never);
    assert!(ratio < 1.05, "{ratio}");
}

#[test]
fn copies_that_begin_to_harm_end_and_come_back_when_they_help() {
    let mut trial = Trial::new(CONFIG, Time::ZERO);
    let mut draw = Draw { seed: 5, next: 0 };
    let mut now = 0;
    // Runs half an hour in which copies change the latency by a factor. Returns the share of copied requests.
    let mut run = |factor: f64| {
        let (mut copied, mut last) = (0, 0);
        for _ in 0..36_000 {
            now += 50_000_000;
            let at = Time::from_ns(now);
            let ticket = trial.begin(at);
            let usual = 0.01 * (1.0 + draw.uniform());
            let seconds = usual * if ticket.may_copy { factor } else { 1.0 };
            let ends = at.saturating_add(Duration::from_ns((seconds * 1e9) as u64));
            let end = TrialEnd {
                copies: u32::from(ticket.may_copy),
                has_failed: false,
            };
            trial.end(ends, ticket, end);
            copied += i32::from(ticket.may_copy);
            last = copied;
        }
        (f64::from(last) / 36_000.0, trial.report().verdict)
    };
    let (share, verdict) = run(0.7);
    assert_eq!(verdict, Verdict::Helps);
    assert!(share > 0.9, "{share}");
    let (share, verdict) = run(1.3);
    assert_eq!(verdict, Verdict::Useless);
    assert!(share < 0.3, "{share}");
    // Tests are rare where copies do great harm, so it takes longer until the copies come back.
    let verdicts: Vec<_> = (0..12).map(|_| run(0.7).1).collect();
    assert!(verdicts.contains(&Verdict::Helps), "{verdicts:?}");
}

#[test]
fn requests_that_fail_because_of_copies_count_as_slow() {
    let mut trial = Trial::new(CONFIG, Time::ZERO);
    for number in 1..100_000 {
        let at = Time::from_ns(number * 20_000_000);
        let ticket = trial.begin(at);
        // Failures are quick. Without them, copies would look good.
        let has_failed = ticket.may_copy && number % 5 == 0;
        let ms = if has_failed { 1 } else { 20 };
        let ends = at.saturating_add(Duration::from_ms(ms));
        let copies = u32::from(ticket.may_copy);
        trial.end(ends, ticket, TrialEnd { copies, has_failed });
    }
    assert_eq!(trial.report().verdict, Verdict::Useless);
}

#[test]
fn clients_with_the_same_seed_and_clock_have_the_same_slots() {
    let minute = Duration::from_ms(60_000).as_ns();
    let early = TrialConfig { epoch: 0, ..CONFIG };
    let late = TrialConfig {
        epoch: 10 * minute,
        ..CONFIG
    };
    let mut early = Trial::new(early, Time::ZERO);
    let mut late = Trial::new(late, Time::ZERO);
    let mut with_copies = 0;
    for second in 0..3_600 {
        let at = |minutes: u64| Time::from_ns(minutes * minute + second * 1_000_000_000);
        let one = early.begin(at(20)).may_copy;
        let other = late.begin(at(10)).may_copy;
        assert_eq!(one, other, "{second}");
        with_copies += u64::from(one);
    }
    assert!((1_600..2_000).contains(&with_copies), "{with_copies}");
}

#[test]
fn requests_are_copied_until_the_first_test() {
    for start in 0..20 {
        let start = Time::from_ns(start * 1_000_000_000);
        let mut trial = Trial::new(CONFIG, start);
        for ms in 0..5_000 {
            let at = start.saturating_add(Duration::from_ms(ms));
            assert!(trial.begin(at).may_copy);
        }
    }
}
