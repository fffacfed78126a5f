//! Tests of the lab's driver with a fake clock and simulated hosts.
//! If the clock wakes the driver at exact times, the records equal the records of the simulator.
//! If the clock wakes the driver late, early or rarely, no packet is lost or duplicated.

use tailcut_fabric::{Delivery, Dropped, Fabric, LinkError};
use tailcut_lab::driver::{World, drive};
use tailcut_record::RunRecord;
use tailcut_scenario::{Scenario, Study};
use tailcut_sim::{RunConfig, RunParts, Unattended, Watch, run};
use tailcut_transport::Segment;
use tailcut_units::{Duration, Time};

#[path = "../../sim/tests/truth/hosts.rs"]
mod hosts;

use hosts::{Clock, Hosts};

/// Simulated hosts around a fabric, with a fake clock.
struct Simulated {
    hosts: Hosts,
    drain: Duration,
    clock: Clock,
    now: Time,
    wakes: u64,
}

impl Simulated {
    fn new(config: &RunConfig, clock: Clock) -> Self {
        let parts = RunParts::new(config).expect("a run with packets");
        Self {
            hosts: Hosts::new(parts, |_| {}),
            drain: config.drain,
            clock,
            now: Time::ZERO,
            wakes: 0,
        }
    }
}

impl World for Simulated {
    type Body = Segment;
    type Watch = Watch<'static>;

    fn fabric(&mut self) -> &mut Fabric<Segment, Watch<'static>> {
        &mut self.hosts.parts.fabric
    }

    fn now(&mut self) -> Time {
        self.now
    }

    fn wait(&mut self, until: Time) {
        self.wakes += 1;
        let end = self.end().max(self.now);
        self.now = self.clock.wake(self.now, until, self.wakes).min(end);
    }

    fn change_links(&mut self, now: Time) -> Result<bool, LinkError> {
        let end = self.end();
        let parts = &mut self.hosts.parts;
        match &mut parts.faults {
            Some(faults) if faults.next().is_some_and(|at| at <= now && at < end) => {
                faults.apply(now, &mut parts.fabric)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn act(&mut self, now: Time) -> bool {
        let end = self.end();
        self.hosts.act(now) || self.hosts.apply(now, end)
    }

    fn deliver(&mut self, now: Time, delivery: Delivery<Segment>) {
        self.hosts.arrive(now, &delivery);
    }

    fn dropped(&mut self, _: Dropped<Segment>) {}

    fn next(&self) -> Time {
        let parts = &self.hosts.parts;
        let fault = parts.faults.as_ref().and_then(|faults| faults.next());
        let next = [fault, self.hosts.next(), parts.next()];
        next.into_iter().flatten().min().unwrap_or(Time::MAX)
    }

    fn end(&self) -> Time {
        self.hosts.end(self.drain)
    }
}

fn driven(config: &RunConfig, clock: Clock) -> RunRecord {
    let mut world = Simulated::new(config, clock);
    let end = drive(&mut world).expect("links that can change");
    world.hosts.parts.record(end, world.hosts.events)
}

/// Returns one run for each tested design. The lab's driver also runs designs that real hosts do not support.
/// One link fails and recovers during each run.
fn runs() -> Vec<RunConfig> {
    let text = r#"
        designs = ["tcp", "cubic", "dctcp", "hull", "pias", "dctcp@spray", "dctcp@letflow",
                   "dctcp@conga", "dctcp@expeditus", "ndp", "scdp", "repflow", "repsyn+dctcp"]
        loads = 0.5
        flows = 150
        drain = "200ms"
        measure_waits = true
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        hosts = 3
        rate = "1Gbps"
        [[failures]]
        a = "leaf0"
        b = "spine1"
        from = "20ms"
        until = "60ms"
        [[workload]]
        sizes = "websearch"
    "#;
    let scenario = Scenario::from_text(text).expect("a scenario");
    Study::of(&scenario).expect("a study").runs
}

#[test]
fn under_a_fake_clock_the_labs_driver_gives_the_simulators_records() {
    for config in runs() {
        let simulated = run(&config, &Unattended).expect("a record");
        let record = driven(&config, Clock::Exact);
        assert_eq!(record.hash(), simulated.hash(), "{}", config.stack);
        assert_eq!(
            record.switch_waits, simulated.switch_waits,
            "{}",
            config.stack
        );
    }
}

#[test]
fn woken_late_early_or_rarely_it_keeps_the_books() {
    for config in runs() {
        for clock in [Clock::Late, Clock::Early, Clock::Coarse] {
            let record = driven(&config, clock);
            let totals = &record.totals;
            let there = totals.delivered.packets + totals.drops.total().packets;
            let seen = there + totals.remaining.packets;
            assert_eq!(totals.sent.packets, seen, "{} {clock:?}", config.stack);
            let finished = record.flows.iter().filter(|flow| flow.fct.is_some());
            assert!(finished.count() > 40, "{} {clock:?}", config.stack);
        }
    }
}
