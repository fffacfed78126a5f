//! Model of RepFlow: a short flow (mouse) waits in a queue once in each round of slow start.
//! The copy of the flow waits independently.
//!
//! Source: Xu and Li, "RepFlow: Minimizing Flow Completion Times with Replicated Flows in Data Centers" (INFOCOM 2014).
//!
//! The customers of an M/G/1 queue are whole flows.
//! In each round of slow start, a mouse waits for the work in the M/G/1 queue.
//! The transmission time of the mouse is added once. The flow is complete when its faster copy is complete.
//! The probability that both copies wait longer than a time is therefore the square of the probability for one copy.
//! The flow and its copy both load the network.

use super::{Bounds, Service, WaitDistribution};

/// Returns the number of slow-start rounds that `packets` packets need.
/// The first window has `initial_window` packets, and the window doubles in each round.
/// The result is the smallest L with initial_window (2^L - 1) >= packets.
///
/// # Panics
/// The window is zero.
pub fn slow_start_rounds(packets: u64, initial_window: u64) -> u32 {
    assert!(initial_window > 0, "the initial window has no packets");
    let mut rounds = 0;
    let mut sent = 0u128;
    while sent < u128::from(packets) {
        sent += u128::from(initial_window) << rounds;
        rounds += 1;
    }
    rounds
}

/// Mouse (short flow) of the model.
#[derive(Clone, PartialEq, Debug)]
pub struct Mouse {
    /// Transmission time of the mouse alone, in the unit of the service times.
    pub transmission: f64,
    /// Number of slow-start rounds. The mouse waits once in each round.
    pub rounds: u32,
}

/// Resolution of the distribution of waits (see [`WaitDistribution::mg1`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lattice {
    /// Step, in the unit of the service times.
    pub step: f64,
    /// Number of steps up to the horizon.
    pub cells: usize,
}

impl Mouse {
    /// Returns the exact mean completion time of a mouse without a copy at `load`: transmission + rounds `E[W]`.
    pub fn mean_alone(&self, load: f64, service: &Service) -> f64 {
        let arrivals = load / service.mean();
        self.transmission + f64::from(self.rounds) * super::mg1::mean_wait(arrivals, service)
    }

    /// Returns the mean completion time of the faster of two copies.
    /// The copies increase the load of the network from `load` to (1 + `overhead`) `load`.
    /// The time is transmission + E[min of two independent sums of `rounds` waits].
    ///
    /// Copies are additional mice, so they change the mix of flow sizes.
    /// The model ignores the changed mix of flow sizes, like the paper.
    /// The model uses the same distribution of service times with and without copies.
    pub fn mean_replicated(
        &self,
        load: f64,
        overhead: f64,
        service: &Service,
        lattice: Lattice,
    ) -> Bounds {
        let arrivals = (1.0 + overhead) * load / service.mean();
        let smaller = WaitDistribution::mg1(arrivals, service, lattice.step, lattice.cells)
            .sum(self.rounds)
            .mean_of_smaller_of_two();
        Bounds {
            lower: self.transmission + smaller.lower,
            upper: self.transmission + smaller.upper,
        }
    }
}
