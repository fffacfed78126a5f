//! Custom congestion controller: additive increase and multiplicative decrease with two parameters (AIMD(a, b)).
//! TCP provides loss detection, timers and recovery.
//!
//! Run it with `cargo run --release --example own_controller`.

use tailcut_scenario::sim::transport::tcp::congestion::{
    Ack, Congested, CongestionControl, Window,
};
use tailcut_scenario::sim::{Controller, Design, Hosts, Registered};
use tailcut_scenario::{Scenario, Study, Workers};

#[derive(Debug)]
struct Aimd {
    /// Growth of the window in a round trip, in full segments.
    increase: u64,
    /// Share of the window that remains after a loss, from 0 to 1.
    decrease: f64,
    /// Bytes acknowledged since the last growth of the window.
    acked: u64,
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = ack.open(window);
        }
        self.acked += acked;
        if self.acked >= window.cwnd {
            self.acked -= window.cwnd;
            window.cwnd += self.increase * ack.mss;
        }
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        // A timeout and a loss reduce ssthresh in the same way. After a loss, the window continues at ssthresh.
        self.on_timeout(window, congested);
        window.cwnd = window.ssthresh;
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        let left = (congested.in_flight as f64 * self.decrease) as u64;
        window.ssthresh = left.max(2 * congested.mss);
        self.acked = 0;
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, increase, decrease) in [("aimd-1-50", 1, 0.5), ("aimd-1-80", 1, 0.8)] {
        Design {
            name,
            summary: "AIMD with parameters",
            hosts: Hosts::tcp(Controller::own(move |_run| {
                move || Aimd {
                    increase,
                    decrease,
                    acked: 0,
                }
            })),
            ..Design::over_tcp()
        }
        .register()?;
    }
    let scenario = Scenario::from_text(
        r#"
        designs = ["tcp", "aimd-1-50", "aimd-1-80", "repflow+aimd-1-80"]
        loads = 0.6
        flows = 400
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        hosts = 8
        "#,
    )?;
    let records = Study::of(&scenario)?.run(&Workers::default())?;
    for record in &records {
        let sent: u64 = record.flows.iter().map(|f| f.payload_sent.0).sum();
        let again: u64 = record
            .flows
            .iter()
            .map(|f| u64::from(f.retransmissions))
            .sum();
        println!(
            "{}: {sent} bytes sent, {again} segments retransmitted",
            record.key.design
        );
        assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
    }
    // AIMD(1, 0.5) is NewReno, so both designs must give the same flows.
    assert_eq!(records[0].flows, records[1].flows);
    assert_ne!(records[1].flows, records[2].flows);
    Ok(())
}
