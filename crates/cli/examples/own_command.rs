//! Custom `tailcut` program with an additional congestion controller, load balancer, queue discipline and application.
//! The names of custom parts work in scenarios, as arguments, in the lab and in the report:
//!
//! ```sh
//! cargo run --release --example own_command -- compare --designs dctcp,gentle,gentle@least-queued
//! ```

use std::process::ExitCode;
use tailcut_scenario::sim::fabric::load_balancer::{LoadBalancer, PortView};
use tailcut_scenario::sim::fabric::queue::{
    BuildDiscipline, Dequeued, DropReason, DropTailQueue, Fate, QueueConfig, QueueDiscipline,
    Verdict,
};
use tailcut_scenario::sim::fabric::{Packet, PacketId};
use tailcut_scenario::sim::transport::tcp::congestion::{
    Ack, Congested, CongestionControl, EcnUse, NewReno, Window,
};
use tailcut_scenario::sim::{
    Application, Choice, Controller, Design, Desk, Hosts, NameError, NamedBalancer, NamedQueue,
    OwnApplication, Registered,
};
use tailcut_scenario::units::{Duration, HostId, Time};

/// NewReno that keeps 7/8 of its window after a mark, and 1/2 after a loss.
#[derive(Debug)]
struct Gentle(NewReno);

impl CongestionControl for Gentle {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.0.on_ack(window, ack);
    }
    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        self.0.on_loss(window, congested);
    }
    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.0.on_timeout(window, congested);
    }
    fn on_mark(&mut self, window: &mut Window, congested: &Congested) {
        window.ssthresh = (window.cwnd / 8 * 7).max(2 * congested.mss);
        window.cwnd = window.ssthresh;
    }
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Accurate
    }
}

/// FIFO that drops every fiftieth packet.
#[derive(Debug)]
struct Thinned {
    fifo: DropTailQueue,
    arrivals: u64,
}

impl QueueDiscipline for Thinned {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        self.arrivals += 1;
        match self.arrivals % 50 {
            0 => Fate::Dropped(DropReason::ActiveQueue).into(),
            _ => self.fifo.enqueue(now, id, packets),
        }
    }
    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        self.fifo.dequeue(now, packets)
    }
    fn backlog_packets(&self) -> u32 {
        self.fifo.backlog_packets()
    }
    fn backlog_bytes(&self) -> u64 {
        self.fifo.backlog_bytes()
    }
}

#[derive(Debug)]
struct LeastQueued;

impl LoadBalancer for LeastQueued {
    fn select(&mut self, _now: Time, _packet: &Packet, ports: &[PortView]) -> usize {
        let up = (0..ports.len()).filter(|&port| ports[port].is_up);
        up.min_by_key(|&port| ports[port].backlog_bytes)
            .unwrap_or(0)
    }
}

/// Application in which each host sends a short message to the next host every millisecond.
struct Heartbeat {
    hosts: u32,
    next: Time,
    until: Time,
}

impl Application for Heartbeat {
    fn next(&self) -> Option<Time> {
        (self.next < self.until).then_some(self.next)
    }
    fn act(&mut self, desk: &mut Desk<'_>) {
        for host in 0..self.hosts {
            desk.send(HostId(host), HostId((host + 1) % self.hosts), 100);
        }
        self.next += Duration::from_ms(1);
    }
}

fn register() -> Result<(), NameError> {
    let dctcp = Design::named("dctcp").expect("dctcp is built in");
    Design {
        name: "gentle",
        summary: "DCTCP's switches, a gentler TCP",
        hosts: Hosts::tcp(Controller::own(|_run| || Gentle(NewReno::new()))),
        ..dctcp.clone()
    }
    .register()?;
    let about = "each packet on the emptiest port";
    NamedBalancer::custom("least-queued", about, Choice::Packet, |_| LeastQueued).register()?;
    let about = "FIFO that drops every fiftieth packet";
    NamedQueue::new("thinned", about, |port, _| {
        let config = port.fifo();
        QueueConfig::Custom(BuildDiscipline::new(move |_seed| Thinned {
            fifo: DropTailQueue::new(config),
            arrivals: 0,
        }))
    })
    .register()?;
    OwnApplication::new("heartbeat", "a word to the next host every ms", |seat| {
        Heartbeat {
            hosts: seat.hosts,
            next: seat.from,
            until: seat.until,
        }
    })
    .register()
}

fn main() -> ExitCode {
    if let Err(error) = register() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    tailcut::main()
}
