//! RepFlow's model: a short flow waits once a round of slow start, and a copy waits independently.
//!
//! After Xu and Li, "RepFlow: Minimizing Flow Completion Times with Replicated Flows in Data
//! Centers" (INFOCOM 2014): each round of a mouse meets the workload of an M/G/1 queue whose
//! customers are whole flows; the mouse's own transmission is added. The first copy to end counts,
//! so the tail of the summed waits is squared, while both copies load the network.

use super::{Bounds, Service, Waits};

/// The rounds of slow start from a window of `initial_window` packets that doubles each round,
/// until `packets` are sent: the smallest L with initial_window (2^L - 1) >= packets.
///
/// # Panics
/// When the window is zero.
pub fn slow_start_rounds(packets: u64, initial_window: u64) -> u32 {
    assert!(initial_window > 0, "an empty window sends nothing");
    let mut rounds = 0;
    let mut sent = 0u128;
    while sent < u128::from(packets) {
        sent += u128::from(initial_window) << rounds;
        rounds += 1;
    }
    rounds
}

/// What a mouse meets in the model.
#[derive(Clone, PartialEq, Debug)]
pub struct Mouse {
    /// Its transmission alone, in the unit of the service times.
    pub transmission: f64,
    /// Its rounds, each of which waits once.
    pub rounds: u32,
}

/// The resolution of the distribution of waits: see [`Waits::mg1`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lattice {
    /// The step, in the unit of the service times.
    pub step: f64,
    /// The number of steps to the horizon.
    pub cells: usize,
}

impl Mouse {
    /// The mean completion time of one copy at `load`: transmission + rounds `E[W]`, exactly.
    pub fn mean_alone(&self, load: f64, service: &Service) -> f64 {
        let arrivals = load / service.mean();
        self.transmission + f64::from(self.rounds) * super::mg1::mean_wait(arrivals, service)
    }

    /// The mean completion time of the faster of two copies at the load (1 + `overhead`) `load`,
    /// where the copies add the share `overhead` of bytes: transmission + E[min of two independent
    /// sums of `rounds` waits].
    ///
    /// Copies grow the number of mice rather than change the sizes; the model, like the paper,
    /// keeps the distribution of the service.
    pub fn mean_replicated(
        &self,
        load: f64,
        overhead: f64,
        service: &Service,
        lattice: Lattice,
    ) -> Bounds {
        let arrivals = (1.0 + overhead) * load / service.mean();
        let smaller = Waits::mg1(arrivals, service, lattice.step, lattice.cells)
            .sum(self.rounds)
            .mean_of_smaller_of_two();
        Bounds {
            lower: self.transmission + smaller.lower,
            upper: self.transmission + smaller.upper,
        }
    }
}
