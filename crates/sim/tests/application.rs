//! Custom applications: they receive the events of their transfers, start further transfers, and write rows.

#![allow(dead_code, reason = "other tests also use the configurations")]

#[path = "truth/support.rs"]
mod support;

use std::sync::{Arc, Mutex};
use support::{config, queue_of, simulate, single_switch, workload};
use tailcut_record::RunRecord;
use tailcut_sim::fabric::GroupError;
use tailcut_sim::transport::{Event, FlowStats, StragglerPolicy, Stragglers};
use tailcut_sim::workload::SizeDistribution;
use tailcut_sim::{
    Application, ApplicationPart, Desk, FlowsSpec, OwnApplication, Registered, RunConfig,
    Unattended, run,
};
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

/// Application that passes a message around the hosts of a switch, `hops` times, and records its events.
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
        // `send` rejects an unknown host and a transfer from a host to itself.
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

/// Returns a run of five hops over three hosts, and the events that the relay called `name` receives.
fn relayed(name: &'static str, design: &str, parts: usize) -> (RunConfig, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let relay = OwnApplication::new(name, "passes a message around", move |seat| Relay {
        hosts: seat.hosts,
        hops: seat.at_most.unwrap_or(1) as u32,
        begins: Some(seat.from),
        heard: Arc::clone(&notes),
    });
    relay.register().expect("a new name");
    let relay = OwnApplication::named(name).expect("registered");
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
        // Each hop starts at the instant when the previous hop has ended.
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
        assert_eq!(heard.len(), 10, "both ends report each hop: {heard:?}");
    }
}

#[test]
fn a_run_has_one_application() {
    let (config, _) = relayed("relay-twice", "tcp", 2);
    let refused = run(&config, &Unattended).expect_err("two of them");
    assert!(refused.to_string().contains("applications"), "{refused}");
}

/// Application that sends a large object, cancels it after some time, and records the events.
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
        let regret = OwnApplication::new(name, "cancels its object", move |seat| Regret {
            // The second cancellation has no effect.
            at: [0, 2_000, 2_500]
                .map(|us| seat.from + Duration::from_us(us))
                .to_vec(),
            sent: None,
            heard: Arc::clone(&notes),
        });
        regret.register().expect("a new name");
        let regret = OwnApplication::named(name).expect("registered");
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
        // In two milliseconds, a sender at 10 Gb/s sends 2.5 MB.
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

/// Application that sends an object to three hosts at the same time.
struct Broadcast {
    begins: Option<Time>,
    receivers: Vec<HostId>,
    heard: Arc<Mutex<Vec<(HostId, &'static str)>>>,
}

impl Application for Broadcast {
    fn next(&self) -> Option<Time> {
        self.begins
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        self.begins = None;
        let stragglers = Stragglers {
            after: Duration::from_ms(1),
            policy: StragglerPolicy::Wait,
        };
        let mut to =
            |receivers: &[HostId]| desk.send_to_all(HostId(0), receivers, 300_000, stragglers);
        assert_eq!(to(&[]), Err(GroupError::Members(0)));
        assert_eq!(to(&[HostId(0)]), Err(GroupError::Excluded(HostId(0))));
        assert_eq!(to(&[HostId(9)]), Err(GroupError::Excluded(HostId(9))));
        to(&self.receivers).expect("hosts of the network");
    }

    fn event(&mut self, host: HostId, event: Event, _desk: &mut Desk<'_>) {
        let what = match event {
            Event::Completed(_) => "has it",
            Event::Closed(..) => "is done",
            Event::Failed(..) => "cannot",
            _ => return,
        };
        self.heard.lock().expect("one thread").push((host, what));
    }
}

/// Returns the record of a broadcast to hosts 1 to 3 of a switch, and the events that the application received.
fn broadcast(name: &'static str, design: &str) -> (RunRecord, Vec<(HostId, &'static str)>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let own = OwnApplication::new(name, "sends to all", move |seat| Broadcast {
        begins: Some(seat.from),
        receivers: (1..4).map(HostId).collect(),
        heard: Arc::clone(&notes),
    });
    own.register().expect("a new name");
    let own = OwnApplication::named(name).expect("registered");
    let shape = single_switch(4, queue_of(100));
    let workload = workload("all", vec![part(own)]);
    let record = simulate(&config(design, "a switch", shape, workload));
    let heard = heard.lock().expect("one thread").clone();
    (record, heard)
}

#[test]
fn one_object_goes_to_several_hosts_once_and_each_has_a_row() {
    let (record, heard) = broadcast("to-all-scdp", "scdp");
    let of_all = ends(&record);
    assert_eq!(of_all, [1, 2, 3].map(|host| (0, host, 300_000)));
    assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
    // Switches copy the packets, so the sender sends the object about once.
    let sent: Vec<u64> = record.flows.iter().map(|f| f.payload_sent.0).collect();
    assert!((300_000..360_000).contains(&sent[0]), "{sent:?}");
    assert_eq!(sent[1..], [0, 0]);
    let (last, arrivals) = heard.split_last().expect("news");
    assert_eq!(*last, (HostId(0), "is done"));
    let mut hosts: Vec<u32> = arrivals.iter().map(|(host, _)| host.0).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [1, 2, 3]);
}

#[test]
fn a_design_that_cannot_send_to_several_hosts_says_so_at_once() {
    let (record, heard) = broadcast("to-all-tcp", "dctcp");
    assert_eq!(heard, [(HostId(0), "cannot")]);
    assert!(record.flows.iter().all(|flow| flow.fct.is_none()));
    assert_eq!(record.totals.sent.packets, 0);
}

/// Application in which two hosts each send a large object to a third host. The class of the second flow changes.
struct Favourite {
    at: Vec<Time>,
    class: u8,
    flows: Vec<FlowId>,
}

impl Application for Favourite {
    fn next(&self) -> Option<Time> {
        self.at.first().copied()
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        self.at.remove(0);
        if self.flows.is_empty() {
            for src in [0, 1] {
                let flow = desk.send(HostId(src), HostId(2), 10_000_000);
                self.flows.extend(flow);
            }
        } else {
            desk.reprioritise(HostId(1), self.flows[1], self.class);
        }
    }
}

/// Returns the completion times of the two objects over strict priorities. The second object changes to `class`.
fn favoured(name: &'static str, class: u8) -> [Duration; 2] {
    let own = OwnApplication::new(name, "changes the class of a flow", move |seat| Favourite {
        at: [0, 500]
            .map(|us| seat.from + Duration::from_us(us))
            .to_vec(),
        class,
        flows: Vec::new(),
    });
    own.register().expect("a new name");
    let own = OwnApplication::named(name).expect("registered");
    let shape = single_switch(3, queue_of(100));
    let mut config = config("pias", "a switch", shape, workload(name, vec![part(own)]));
    // All bytes are in the second class, unless the application selects another class.
    config.settings.designs.pias.thresholds = vec![1];
    let record = simulate(&config);
    let fcts: Vec<Duration> = record.flows.iter().filter_map(|flow| flow.fct).collect();
    fcts.try_into().expect("both arrive")
}

#[test]
fn a_flow_that_is_put_into_a_higher_class_overtakes_and_one_in_the_same_class_does_not() {
    let [first, second] = favoured("favourite-high", 0);
    // At 10 Gb/s, one object of 10 MB needs 8 ms, and both objects together need 16 ms.
    assert!(second < Duration::from_us(10_500), "{second}");
    assert!(first > Duration::from_ms(15), "{first}");
    let [first, second] = favoured("favourite-same", 1);
    for took in [first, second] {
        assert!(took > Duration::from_ms(13), "{took}: they share the link");
    }
}

/// Application with a multicast group whose members join and leave.
struct Members {
    begins: Option<Time>,
}

impl Application for Members {
    fn next(&self) -> Option<Time> {
        self.begins
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        self.begins = None;
        let group = desk.form_group(&[HostId(1)]).expect("a group of one");
        assert_eq!(desk.join_group(group, HostId(2)), Ok(()));
        let again = desk.join_group(group, HostId(2));
        assert_eq!(again, Err(GroupError::Repeated(HostId(2))));
        let nobody = desk.join_group(group, HostId(7));
        assert_eq!(nobody, Err(GroupError::Excluded(HostId(7))));
        desk.leave_group(group, HostId(2));
        assert_eq!(
            desk.join_group(group, HostId(2)),
            Ok(()),
            "the host joins again"
        );
        desk.dissolve_group(group);
        let ended = desk.join_group(group, HostId(0));
        assert_eq!(ended, Err(GroupError::Unknown(group)));
    }
}

#[test]
fn hosts_join_and_leave_groups_by_the_applications_word() {
    let own = OwnApplication::new("members", "hosts join and leave a group", |seat| Members {
        begins: Some(seat.from),
    });
    own.register().expect("a new name");
    let own = OwnApplication::named("members").expect("registered");
    let shape = single_switch(3, queue_of(100));
    let workload = workload("members", vec![part(own)]);
    let record = simulate(&config("tcp", "a switch", shape, workload));
    assert!(record.flows.is_empty());
}
