//! Load balancer that is written in Python.

use super::{Failure, Slot, reports_to};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;
use tailcut_scenario::sim::fabric::Packet;
use tailcut_scenario::sim::fabric::load_balancer::{LoadBalancer, PortView};
use tailcut_scenario::sim::{Choice, NameError, NamedBalancer, Registered};
use tailcut_scenario::units::Time;

#[derive(Debug)]
struct Balancer {
    /// Method of the object; `None` if the object could not be created.
    select: Option<Py<PyAny>>,
    failure: Arc<Failure>,
}

impl Balancer {
    fn new(slot: &Slot, switch: u32) -> Self {
        let failure = reports_to();
        let select = failure.catch(|py| {
            let part = slot.make(py, &[("switch", switch.into())])?;
            Ok(part.getattr("select")?.unbind())
        });
        Self { select, failure }
    }
}

impl LoadBalancer for Balancer {
    fn select(&mut self, now: Time, packet: &Packet, ports: &[PortView]) -> usize {
        let Some(select) = &self.select else { return 0 };
        let backlog = |port: &PortView| port.is_up.then_some(port.backlog_bytes);
        let backlogs: Vec<Option<u64>> = ports.iter().map(backlog).collect();
        let arguments = (now.as_ns(), packet.flow_hash, packet.size, backlogs);
        let chosen = self.failure.catch(|py| {
            let answer = select.call1(py, arguments)?;
            let chosen = answer
                .extract::<usize>(py)
                .ok()
                .filter(|&chosen| chosen < ports.len());
            let count = ports.len();
            let wrong =
                || PyValueError::new_err(format!("a balancer chose {answer} of {count} ports"));
            chosen.ok_or_else(wrong)
        });
        chosen.unwrap_or(0)
    }
}

pub fn register(
    slot: &'static Slot,
    about: &'static str,
    by_packet: bool,
) -> Result<(), NameError> {
    let choice = match by_packet {
        true => Choice::Packet,
        false => Choice::Flow,
    };
    NamedBalancer::custom(slot.name, about, choice, move |switch| {
        Balancer::new(slot, switch)
    })
    .register()
}
