//! Hosts that send or receive more than others.

use crate::error::Error;
use alloc::format;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// How often hosts are picked as sources and as destinations, by host number. A host with weight 2 is picked
/// twice as often as one with weight 1, the weight of every host that none is said of.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct HostWeights {
    sources: Vec<f64>,
    destinations: Vec<f64>,
}

impl HostWeights {
    /// Weights of hosts, by their numbers; a list that is too short leaves the others at 1.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a weight that is not a finite number above zero.
    pub fn new(sources: Vec<f64>, destinations: Vec<f64>) -> Result<Self, Error> {
        let mut all = sources.iter().chain(&destinations);
        match all.find(|weight| !(**weight > 0.0 && weight.is_finite())) {
            Some(wrong) => Err(Error::OutOfRange {
                parameter: "weight of a host",
                found: format!("{wrong}"),
                allowed: "a number above 0",
            }),
            None => Ok(Self {
                sources,
                destinations,
            }),
        }
    }

    /// The weight of a host among sources.
    pub fn as_source(&self, host: HostId) -> f64 {
        weight(&self.sources, host)
    }

    /// The weight of a host among destinations.
    pub fn as_destination(&self, host: HostId) -> f64 {
        weight(&self.destinations, host)
    }
}

fn weight(of: &[f64], host: HostId) -> f64 {
    of.get(host.0 as usize).copied().unwrap_or(1.0)
}

/// The weights of a matrix' sources and destinations, in their orders.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Picks {
    sources: Vec<f64>,
    all_sources: f64,
    /// The sum of the weights of the destinations before each place, and of all of them at the end.
    before: Vec<f64>,
}

impl Picks {
    /// `None` where all are picked alike.
    pub fn of(weights: &HostWeights, sources: &[HostId], destinations: &[HostId]) -> Option<Self> {
        let sources: Vec<f64> = sources.iter().map(|&h| weights.as_source(h)).collect();
        let receive = |host: &HostId| weights.as_destination(*host);
        let is_even = sources.windows(2).all(|pair| pair[0] == pair[1])
            && destinations
                .windows(2)
                .all(|pair| receive(&pair[0]) == receive(&pair[1]));
        if is_even {
            return None;
        }
        let mut before = Vec::with_capacity(destinations.len() + 1);
        let mut sum = 0.0;
        before.push(sum);
        for host in destinations {
            sum += receive(host);
            before.push(sum);
        }
        Some(Self {
            all_sources: sources.iter().sum(),
            sources,
            before,
        })
    }

    /// The share of all flows that the source at `index` sends.
    pub fn share_of_source(&self, index: usize) -> f64 {
        self.sources[index] / self.all_sources
    }

    /// The weight of the destinations from one place to another.
    pub fn weight(&self, (from, to): (usize, usize)) -> f64 {
        self.before[to] - self.before[from]
    }

    /// The weight of all destinations but those from one place to another.
    pub fn weight_beside(&self, excluded: (usize, usize)) -> f64 {
        self.weight((0, self.before.len() - 1)) - self.weight(excluded)
    }

    /// The place of a destination outside `excluded`, for a number drawn evenly over `[0, 1)`.
    pub fn place(&self, drawn: f64, (from, to): (usize, usize)) -> usize {
        let places = self.before.len() - 1;
        let drawn = drawn * self.weight_beside((from, to));
        // A sum that was rounded must not lead into what is excluded, nor beyond the end.
        let within = |first: usize, end: usize, drawn: f64| {
            let after = self.before[first..end].partition_point(|before| *before <= drawn);
            first + after.saturating_sub(1)
        };
        match from > 0 && (drawn < self.before[from] || to == places) {
            true => within(0, from, drawn),
            false => within(to, places, drawn + self.weight((from, to))),
        }
    }
}
