//! Custom load balancer: each packet takes the least loaded of three ports. Two of the ports are drawn at random.
//! The third port is the last chosen port (DRILL, SIGCOMM 2017, with d = 2 and m = 1).
//!
//! Run it with `cargo run --release --example own_balancer`.

use tailcut_scenario::sim::fabric::Packet;
use tailcut_scenario::sim::fabric::load_balancer::{LoadBalancer, PortView};
use tailcut_scenario::sim::{Choice, NamedBalancer, Registered};
use tailcut_scenario::units::{Time, mix64, reduce};
use tailcut_scenario::{Scenario, Study, Workers};

#[derive(Debug)]
struct TwoChoices {
    /// State of the random number generator.
    state: u64,
    /// Port of the last choice.
    best: usize,
}

impl TwoChoices {
    fn draw(&mut self, below: usize) -> usize {
        self.state = mix64(self.state);
        reduce((self.state >> 32) as u32, below as u32) as usize
    }
}

impl LoadBalancer for TwoChoices {
    fn select(&mut self, _now: Time, _packet: &Packet, ports: &[PortView]) -> usize {
        let drawn = [self.draw(ports.len()), self.draw(ports.len())];
        let remembered = self.best.min(ports.len() - 1);
        let candidates = drawn.into_iter().chain([remembered]);
        let up = candidates.filter(|&port| ports[port].is_up);
        let chosen = up.min_by_key(|&port| ports[port].backlog_bytes);
        self.best = chosen.unwrap_or(drawn[0]);
        self.best
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let about = "each packet on the emptier of two drawn ports and the last one (DRILL)";
    NamedBalancer::custom("two-choices", about, Choice::Packet, |switch| TwoChoices {
        state: mix64(u64::from(switch) + 1),
        best: 0,
    })
    .register()?;

    let scenario = Scenario::from_text(
        r#"
        designs = ["ndp@spray", "ndp@two-choices"]
        loads = 0.7
        flows = 400
        [topology]
        kind = "leaf-spine"
        leaves = 4
        spines = 4
        hosts = 4
        "#,
    )?;
    let mut trimmed = Vec::new();
    for record in Study::of(&scenario)?.run(&Workers::default())? {
        let packets = record.totals.trimmed.packets;
        println!("{}: {packets} packets trimmed", record.key.design);
        trimmed.push(packets);
        assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
    }
    assert!(
        trimmed[1] < trimmed[0],
        "the choice by queue length trims fewer packets"
    );
    Ok(())
}
