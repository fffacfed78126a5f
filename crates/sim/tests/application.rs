//! Applications of one's own: they hear of their transfers, answer with others, and leave rows.

#![allow(dead_code, reason = "the configurations serve other tests too")]

#[path = "truth/support.rs"]
mod support;

use std::sync::{Arc, Mutex};
use support::{config, queue_of, simulate, single_switch, workload};
use tailcut_record::RunRecord;
use tailcut_sim::transport::{Event, FlowStats};
use tailcut_sim::workload::SizeDistribution;
use tailcut_sim::{
    Application, ApplicationPart, Desk, FlowsSpec, OwnApplication, RunConfig, Unattended, run,
};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

/// Hands a word around the hosts of a switch, so often, and notes what it hears.
struct Relay {
    hosts: u32,
    hops: u32,
    begins: Option<Time>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Application for Relay {
    fn next(&self) -> Option<Time> {
        self.begins
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        self.begins = None;
        assert_eq!(desk.hosts(), self.hosts);
        // There is no such host, and nobody talks to himself.
        assert_eq!(desk.send(HostId(0), HostId(self.hosts), 1), None);
        assert_eq!(desk.send(HostId(1), HostId(1), 1), None);
        desk.send(HostId(0), HostId(1), 1_000);
    }

    fn event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        let what = match event {
            Event::Completed(_) => "has it",
            Event::Closed(..) => "is done",
            _ => return,
        };
        let mut heard = self.heard.lock().expect("one thread");
        heard.push(format!("{} {what}", host.0));
        if what == "has it" && self.hops > 1 {
            self.hops -= 1;
            desk.send(host, HostId((host.0 + 1) % self.hosts), 1_000);
        }
    }
}

fn part(application: &'static OwnApplication) -> FlowsSpec {
    FlowsSpec::Application(ApplicationPart {
        application,
        sizes: Arc::new(SizeDistribution::fixed(1_000)),
        from: Duration::from_us(50),
        until: Duration::from_ms(1),
        at_most: Some(5),
    })
}

/// A run of five hops over three hosts, and what the relay called `name` heard.
fn relayed(name: &'static str, design: &str, parts: usize) -> (RunConfig, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let relay = OwnApplication::new(name, "hands a word around", move |seat| Relay {
        hosts: seat.hosts,
        hops: seat.at_most.unwrap_or(1) as u32,
        begins: Some(seat.from),
        heard: Arc::clone(&notes),
    });
    relay.register().expect("a new name");
    let relay = OwnApplication::find(name).expect("registered");
    let parts = (0..parts).map(|_| part(relay)).collect();
    let shape = single_switch(3, queue_of(100));
    (
        config(design, "a switch", shape, workload("relay", parts)),
        heard,
    )
}

fn ends(record: &RunRecord) -> Vec<(u32, u32, u64)> {
    let rows = record.flows.iter();
    rows.map(|flow| (flow.src.0, flow.dst.0, flow.bytes.0))
        .collect()
}

#[test]
fn a_word_goes_round_as_often_as_the_application_hands_it_on() {
    for (name, design) in [
        ("relay-tcp", "tcp"),
        ("relay-ndp", "ndp"),
        ("relay-scdp", "scdp"),
    ] {
        let (config, heard) = relayed(name, design, 1);
        let record = simulate(&config);
        let hops = [(0, 1), (1, 2), (2, 0), (0, 1), (1, 2)].map(|(src, dst)| (src, dst, 1_000));
        assert_eq!(ends(&record), hops, "{design}");
        // Each hop begins when the one before has arrived, at the same instant.
        assert_eq!(record.flows[0].start, Time::ZERO + Duration::from_us(50));
        for pair in record.flows.windows(2) {
            let arrived = pair[0].start + pair[0].fct.expect("it arrived");
            assert_eq!(pair[1].start, arrived, "{design}");
        }
        assert!(
            record
                .flows
                .iter()
                .all(|flow| flow.payload_sent >= Bytes(1_000))
        );
        let heard = heard.lock().expect("one thread");
        let arrivals: Vec<&str> = heard
            .iter()
            .filter_map(|word| word.strip_suffix(" has it"))
            .collect();
        assert_eq!(arrivals, ["1", "2", "0", "1", "2"], "{design}");
        assert_eq!(heard.len(), 10, "both ends speak of each hop: {heard:?}");
    }
}

#[test]
fn a_run_has_one_application() {
    let (config, _) = relayed("relay-twice", "tcp", 2);
    let refused = run(&config, &Unattended).expect_err("two of them");
    assert!(refused.to_string().contains("applications"), "{refused}");
}

/// Sends a large object, takes it back after a while, and notes what it hears of it.
struct Regret {
    at: Vec<Time>,
    sent: Option<FlowId>,
    heard: Arc<Mutex<Vec<(HostId, FlowStats)>>>,
}

impl Application for Regret {
    fn next(&self) -> Option<Time> {
        self.at.first().copied()
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        self.at.remove(0);
        match self.sent {
            None => self.sent = desk.send(HostId(0), HostId(1), 10_000_000),
            Some(flow) => desk.cancel(HostId(0), flow),
        }
    }

    fn event(&mut self, host: HostId, event: Event, _desk: &mut Desk<'_>) {
        if let Event::Failed(_, stats) = event {
            self.heard.lock().expect("one thread").push((host, stats));
        }
    }
}

#[test]
fn a_transfer_that_is_taken_back_sends_no_more_and_is_told_with_what_it_cost() {
    let designs = ["tcp", "repflow", "ndp", "scdp", "pfabric", "hull", "qos"];
    for (number, design) in designs.into_iter().enumerate() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        let name: &'static str = format!("regret-{number}").leak();
        let regret = OwnApplication::new(name, "takes its object back", move |seat| Regret {
            // Taking it back twice is once.
            at: [0, 2_000, 2_500]
                .map(|us| seat.from + Duration::from_us(us))
                .to_vec(),
            sent: None,
            heard: Arc::clone(&notes),
        });
        regret.register().expect("a new name");
        let regret = OwnApplication::find(name).expect("registered");
        let shape = single_switch(3, queue_of(100));
        let config = config(
            design,
            "a switch",
            shape,
            workload(name, vec![part(regret)]),
        );
        let record = simulate(&config);
        let [row] = &record.flows[..] else {
            panic!("{design}: one flow");
        };
        assert_eq!(row.fct, None, "{design}");
        // Two milliseconds at 10 Gb/s are 2.5 MB.
        let sent = row.payload_sent.0;
        assert!(
            (100_000..3_000_000).contains(&sent),
            "{design}: {sent} bytes"
        );
        let heard = heard.lock().expect("one thread");
        let heard: Vec<(HostId, u64)> = heard.iter().map(|(h, s)| (*h, s.payload_sent)).collect();
        assert_eq!(heard, [(HostId(0), sent)], "{design}");
    }
}
