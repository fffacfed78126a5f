//! Custom application: a ring all-reduce. Every host sends a piece to the next host of the ring.
//! Hosts forward each piece until it has passed all hosts twice. Then the next step begins.
//!
//! Run it with `cargo run --release --example own_application`.

use std::collections::HashMap;
use tailcut_scenario::sim::transport::Event;
use tailcut_scenario::sim::{Application, Desk, OwnApplication, Registered};
use tailcut_scenario::units::{FlowId, HostId, Time};
use tailcut_scenario::{Scenario, Study, Workers};

struct AllReduce {
    hosts: u32,
    /// Size of one piece, in bytes.
    piece: u64,
    steps: u64,
    next: Option<Time>,
    /// Pieces in flight, each with the number of hops that it still has to go.
    on_the_way: HashMap<FlowId, u32>,
}

impl AllReduce {
    fn hand_on(&mut self, from: HostId, times: u32, desk: &mut Desk<'_>) {
        let to = HostId((from.0 + 1) % self.hosts);
        let piece = desk
            .send(from, to, self.piece)
            .expect("two hosts of the network");
        self.on_the_way.insert(piece, times);
    }
}

impl Application for AllReduce {
    fn next(&self) -> Option<Time> {
        self.next
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        self.next = None;
        for host in 0..self.hosts {
            self.hand_on(HostId(host), 2 * (self.hosts - 1) - 1, desk);
        }
    }

    fn event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        let Event::Completed(piece) = event else {
            return;
        };
        match self.on_the_way.remove(&piece) {
            Some(0) if self.on_the_way.is_empty() => {
                self.steps -= 1;
                self.next = (self.steps > 0).then(|| desk.now());
            }
            None | Some(0) => {}
            Some(times) => self.hand_on(host, times - 1, desk),
        }
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let about = "steps of a ring all-reduce over all hosts; a piece has the mean of the sizes";
    OwnApplication::new("all-reduce", about, |seat| AllReduce {
        hosts: seat.hosts,
        piece: seat.sizes.mean() as u64,
        steps: seat.at_most.unwrap_or(1),
        next: Some(seat.from),
        on_the_way: HashMap::new(),
    })
    .register()?;

    let scenario = Scenario::from_text(
        r#"
        designs = ["dctcp", "ndp", "scdp"]
        flows = 3
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        hosts = 4
        [[workload]]
        kind = "application"
        application = "all-reduce"
        sizes = "fixed:100KB"
        "#,
    )?;
    for record in Study::of(&scenario)?.run(&Workers::default())? {
        let ends = record
            .flows
            .iter()
            .filter_map(|flow| Some(flow.start + flow.fct?));
        let end = ends.max().expect("a piece that arrived");
        println!(
            "{}: three steps in {} us",
            record.key.design,
            end.as_ps() / 1_000_000
        );
        assert_eq!(record.flows.len(), 3 * 8 * 14);
    }
    Ok(())
}
