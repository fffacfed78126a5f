//! Second driver, with its own clock.
//! The second driver moves packets between the same components as the simulator, and its record is the same.
//! Even if the driver wakes up late, early or for many events together, packets are conserved and time never goes back.

use crate::determinism::{DESIGNS, run_of};
use crate::hosts::{Clock, Hosts};
use crate::storage::busy;
use crate::support::{requests, simulate};
use std::cell::RefCell;
use std::rc::Rc;
use tailcut_record::{RunRecord, RunTotals};
use tailcut_sim::fabric::{Hints, Lateness, Output, Packet, PortEvents};
use tailcut_sim::requests::{ANSWER_BYTES, ASK_BYTES};
use tailcut_sim::transport::Segment;
use tailcut_sim::{ReadBy, RunConfig, RunParts, WriteBy};
use tailcut_units::{Bytes, Duration, HostId, Rate, Time};

/// Packet that entered the network: time, host and content.
struct Entry {
    at: Time,
    host: HostId,
    packet: Packet,
    hints: Hints,
    segment: Segment,
}

/// Packet that reached its host: time, host and content.
type Exit = (Time, HostId, Segment);

struct Driver {
    hosts: Hosts,
    drain: Duration,
    sample_every: Option<Duration>,
    next_sample: Time,
    now: Time,
    wakes: u64,
    entries: Rc<RefCell<Vec<Entry>>>,
    exits: Vec<Exit>,
}

impl Driver {
    fn new(config: &RunConfig) -> Self {
        let parts = RunParts::new(config).expect("a run with packets");
        let entries: Rc<RefCell<Vec<Entry>>> = Rc::default();
        let entered = Rc::clone(&entries);
        let seen = move |(at, host, packet, hints, segment)| {
            entered.borrow_mut().push(Entry {
                at,
                host,
                packet,
                hints,
                segment,
            });
        };
        Self {
            hosts: Hosts::new(parts, seen),
            drain: config.drain,
            sample_every: config.sample_every,
            next_sample: config.sample_every.map_or(Time::MAX, |_| Time::ZERO),
            now: Time::ZERO,
            wakes: 0,
            entries,
            exits: Vec::new(),
        }
    }

    /// Sleeps and wakes up until the run is over.
    fn drive(mut self, clock: Clock) -> (RunRecord, Lateness, Vec<Entry>, Vec<Exit>) {
        loop {
            let parts = &mut self.hosts.parts;
            let fault = parts.faults.as_ref().and_then(|faults| faults.next());
            let next = [parts.next(), fault, parts.fabric.next_timeout()];
            let next = next.into_iter().chain([self.hosts.next()]);
            let next = next.flatten().min().unwrap_or(Time::MAX);
            let end = self.hosts.end(self.drain);
            let requested = next.min(self.next_sample).min(end);
            if requested == Time::MAX {
                break;
            }
            self.wakes += 1;
            let woken = clock.wake(self.now, requested, self.wakes);
            assert!(woken >= self.now, "time went back");
            self.now = woken.min(end.max(self.now));
            while self.step(end) {}
            if self.now >= end && self.hosts.end(self.drain) <= self.now {
                break;
            }
        }
        let lateness = self.hosts.parts.fabric.lateness();
        let record = self.hosts.parts.record(self.now, self.hosts.events);
        (record, lateness, self.entries.take(), self.exits)
    }

    /// Executes one action that is due, in the simulator's order. Returns false if nothing is due.
    fn step(&mut self, end: Time) -> bool {
        let now = self.now;
        let parts = &mut self.hosts.parts;
        if let Some(output) = parts.fabric.advance(now) {
            if let Output::Delivered(delivery) = output {
                let segment = self.hosts.arrive(now, &delivery);
                self.exits.push((delivery.time, delivery.host, segment));
            }
            return true;
        }
        let fault = parts.faults.as_ref().and_then(|faults| faults.next());
        if fault.is_some_and(|at| at <= now && at < end) {
            let changed = parts.change_links(now).expect("links that can change");
            for host in changed {
                self.hosts.serve(now, host, now);
            }
            return true;
        }
        if self.hosts.act(now) {
            return true;
        }
        if self.next_sample <= now && now < end {
            let parts = &mut self.hosts.parts;
            parts.sample(now);
            let every = self.sample_every.unwrap_or(Duration::MAX);
            self.next_sample = self.next_sample.saturating_add(every);
            if !parts.begins_more() && parts.unfinished() == 0 {
                self.next_sample = Time::MAX;
            }
            return true;
        }
        self.hosts.apply(now, end)
    }
}

/// Returns the record without the values that can differ between drivers: events and cost.
fn comparable(record: RunRecord) -> RunRecord {
    RunRecord {
        totals: RunTotals {
            events: 0,
            ..record.totals
        },
        cost: Default::default(),
        ..record
    }
}

/// Returns runs with all kinds of traffic: flows in every design, storage sessions, and requests.
fn runs() -> Vec<(String, RunConfig)> {
    let flows = DESIGNS.map(|design| (design.to_owned(), run_of(design)));
    let chain = WriteBy::DaisyChain(Bytes::from_kb(64));
    let sessions = [
        ("scdp", WriteBy::Multicast, ReadBy::AllReplicas),
        ("ndp", WriteBy::MultiUnicast, ReadBy::OneReplica),
        ("tcp", chain, ReadBy::OneReplica),
    ];
    let sessions = sessions.map(|(design, write, read)| {
        let case = format!("storage over {design}, {write:?}");
        (case, busy(design, write, read))
    });
    let designs = [
        "tcp",
        "rans+tcp",
        "das+dctcp",
        "hedge+dctcp",
        "rans+ndp",
        "rans+scdp",
        "rans+pias",
    ];
    let requests = designs.map(|design| {
        let mut config = requests(design, 0.4, 40);
        config.settings.designs.requests.swap_lead = Some(Bytes(30_000));
        config.drain = Duration::from_ms(50);
        (format!("requests over {design}"), config)
    });
    flows.into_iter().chain(sessions).chain(requests).collect()
}

#[test]
fn woken_when_it_asked_to_be_a_second_driver_ends_with_the_same_record() {
    for (case, mut config) in runs() {
        config.measures.waits = true;
        let simulated = simulate(&config);
        let (driven, lateness, ..) = Driver::new(&config).drive(Clock::Exact);
        assert_eq!(driven.hash(), simulated.hash(), "{case}");
        assert!(comparable(driven) == comparable(simulated), "{case}");
        assert_eq!(lateness, Lateness::default(), "{case}");
    }
}

#[test]
fn headers_of_requests_and_answers_travel_and_are_no_bytes_of_the_object() {
    // The last column is the number of parts of an answer of 300 KB: a single part, or one part per chunk from a disk.
    // The number is larger if the answer depends on the window.
    let disk = Some(Rate::from_gbps(40));
    let cases = [
        ("ndp", 1, None, disk, 3),
        ("duplicate-low+tcp", 2, None, None, 1),
        ("duplicate-low+tcp", 2, None, disk, 3),
        ("duplicate-low+tcp", 2, Some(1_000_000), None, 37),
        ("duplicate-low+tcp", 2, Some(1_000_000), disk, 37),
    ];
    for (design, copies, lead, disk, parts) in cases {
        let mut config = requests(design, 0.01, 5);
        config.settings.designs.requests.disk = disk;
        config.settings.designs.requests.swap_lead = lead.map(Bytes);
        config.settings.designs.requests.request_size = Bytes(1_000);
        config.settings.designs.requests.chunk = Bytes(100_000);
        let (record, _, entries, _) = Driver::new(&config).drive(Clock::Exact);
        let payload = |is_server: bool| -> u64 {
            let from = entries
                .iter()
                .filter(|entry| (entry.host.0 < 6) == is_server);
            from.map(|entry| u64::from(entry.segment.payload)).sum()
        };
        let (ask, header) = (ASK_BYTES as u64, ANSWER_BYTES as u64);
        assert_eq!(payload(false), 5 * copies * (ask + 1_000), "{design}");
        let answer = 300_000 + parts * header;
        assert_eq!(payload(true), 5 * copies * answer, "{design}");
        for request in &record.requests {
            assert_eq!(request.sent, Bytes(copies * 300_000), "{design}");
            let wasted = Bytes((copies - 1) * 300_000);
            assert_eq!(request.wasted, wasted, "{design}");
        }
    }
}

#[test]
fn woken_late_early_or_for_many_things_at_once_it_keeps_the_books() {
    for (run, mut config) in runs() {
        config.sample_every = None;
        config.drain = Duration::from_ms(2_000);
        for clock in [Clock::Late, Clock::Early, Clock::Coarse] {
            let (record, lateness, ..) = Driver::new(&config).drive(clock);
            let case = format!("{run}, {clock:?}");
            let totals = &record.totals;
            let dropped = totals.drops.total().packets;
            assert_eq!(
                totals.sent.packets + totals.copied.packets,
                totals.delivered.packets + dropped + totals.remaining.packets,
                "{case}"
            );
            assert_eq!(
                totals.remaining.packets, 0,
                "{case}: packets remain in the network"
            );
            assert!(lateness.packets > 0, "{case}: nothing was late");
            for flow in &record.flows {
                let fct = flow.fct.expect("every flow finishes");
                assert!(fct >= flow.ideal_fct, "{case}: {flow:?}");
            }
            let mut sessions = record.sessions.iter();
            assert!(sessions.all(|row| row.completion.is_some()), "{case}");
            let mut requests = record.requests.iter();
            assert!(requests.all(|row| row.latency.is_some()), "{case}");
        }
    }
}

#[test]
fn departures_inside_the_network_keep_their_own_times_however_late_the_driver_is() {
    for (design, two) in [("dctcp", false), ("dctcp", true), ("tcp", true)] {
        let mut config = run_of(design);
        config.faults = Vec::new();
        if two {
            config.port_events = PortEvents::Two;
        }
        let (_, _, entries, exits) = Driver::new(&config).drive(Clock::Coarse);
        // The same packets enter at the same times, but the driver is never late.
        let mut parts = RunParts::new(&config).expect("a run with packets");
        let mut exact: Vec<Exit> = Vec::new();
        let mut run_to = |parts: &mut RunParts<'static>, at: Time| {
            while let Some(output) = parts.fabric.advance(at) {
                if let Output::Delivered(delivery) = output {
                    exact.push((
                        delivery.time,
                        delivery.host,
                        parts.arrived(delivery.time, &delivery),
                    ));
                }
            }
        };
        for entry in entries {
            run_to(&mut parts, entry.at);
            let (packet, hints) = (entry.packet, entry.hints);
            let fabric = &mut parts.fabric;
            fabric.inject_with(entry.at, entry.host, packet, hints, entry.segment);
        }
        run_to(&mut parts, Time::MAX);
        assert!(!exact.is_empty());
        assert_eq!(exact.len(), exits.len(), "{design}");
        let differs = exact.iter().zip(&exits).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{design}");
    }
}
