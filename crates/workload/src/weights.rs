//! Weights of hosts. A host with a higher weight sends or receives more flows.

use crate::error::Error;
use alloc::format;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Weights of hosts as sources and as destinations, by host number.
/// A host with weight 2 sends or receives twice as many flows as a host with weight 1.
/// Hosts without a weight have weight 1.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct HostWeights {
    sources: Vec<f64>,
    destinations: Vec<f64>,
}

impl HostWeights {
    /// Creates weights from lists by host number. Hosts beyond the end of a list have weight 1.
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

    /// Returns the weight of a host as a source.
    pub fn as_source(&self, host: HostId) -> f64 {
        weight(&self.sources, host)
    }

    /// Returns the weight of a host as a destination.
    pub fn as_destination(&self, host: HostId) -> f64 {
        weight(&self.destinations, host)
    }
}

fn weight(of: &[f64], host: HostId) -> f64 {
    of.get(host.0 as usize).copied().unwrap_or(1.0)
}

/// Weights of the sources and destinations of a matrix, in the order of the matrix.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MatrixWeights {
    sources: Vec<f64>,
    all_sources: f64,
    /// Sums of weights. The entry at an index is the sum of the weights of all destinations before this index.
    /// The last entry is the sum of all weights.
    before: Vec<f64>,
}

impl MatrixWeights {
    /// Returns the weights of the sources and destinations of a matrix, or `None` if all weights are equal.
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

    /// Returns the share of all flows that the source at `index` sends.
    pub fn share_of_source(&self, index: usize) -> f64 {
        self.sources[index] / self.all_sources
    }

    /// Returns the total weight of the destinations in a range of indices.
    pub fn weight(&self, (from, to): (usize, usize)) -> f64 {
        self.before[to] - self.before[from]
    }

    /// Returns the total weight of all destinations outside a range of indices.
    pub fn weight_beside(&self, excluded: (usize, usize)) -> f64 {
        self.weight((0, self.before.len() - 1)) - self.weight(excluded)
    }

    /// Returns the index of a random destination outside the range `from..to`.
    /// `drawn` is a random number, uniform over `[0, 1)`.
    pub fn place(&self, drawn: f64, (from, to): (usize, usize)) -> usize {
        let places = self.before.len() - 1;
        let drawn = drawn * self.weight_beside((from, to));
        // The sums are rounded, so a search over all destinations could find an excluded destination or exceed the end.
        // The search is therefore limited to the allowed ranges.
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
