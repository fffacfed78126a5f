//! Traffic matrices: the senders, and the receivers of each sender.

use crate::error::Error;
use crate::random::{Purpose, Stream};
use crate::weights::{HostWeights, MatrixWeights};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Racks: the rack number of each host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Racks(Vec<u32>);

impl Racks {
    /// Returns the racks of `hosts` hosts that are numbered rack by rack. Each rack has `per_rack` hosts, at least one.
    pub fn even(hosts: u32, per_rack: u32) -> Self {
        Self((0..hosts).map(|host| host / per_rack.max(1)).collect())
    }

    /// Returns racks from a list that contains the rack number of each host.
    pub fn from_ids(rack_of: Vec<u32>) -> Self {
        Self(rack_of)
    }

    /// Returns the rack of `host`. A host that is not in the list has a rack for itself.
    pub fn of(&self, host: HostId) -> u64 {
        match self.0.get(host.0 as usize) {
            Some(&rack) => u64::from(rack),
            None => (1 << 32) | u64::from(host.0),
        }
    }
}

/// Traffic matrix: the sending hosts, and the rule that selects the receiver of a host's next flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    sources: Vec<HostId>,
    rule: Rule,
    /// Weights of hosts. `None` if all weights are equal.
    weights: Option<MatrixWeights>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Rule {
    /// Each flow gets a random receiver from `destinations`. Indices in the range `excluded[source]` are not allowed.
    Random {
        destinations: Vec<HostId>,
        excluded: Vec<(u32, u32)>,
    },
    /// Each source has one fixed receiver.
    Assigned(Vec<HostId>),
}

impl Matrix {
    /// Returns a matrix in which each flow goes to a random destination.
    /// All destinations except the source itself have the same probability.
    ///
    /// # Errors
    /// [`Error::Matrix`] for an empty list, a host that is listed twice, or a source without a destination.
    pub fn anywhere(sources: &[HostId], destinations: &[HostId]) -> Result<Self, Error> {
        Self::random(sources, destinations, |host| u64::from(host.0))
    }

    /// Returns a matrix in which each flow goes to a random destination in another rack than the source's rack.
    /// All destinations in other racks have the same probability.
    ///
    /// # Errors
    /// [`Error::Matrix`] for an empty list or a host that is listed twice.
    /// [`Error::Matrix`] also for a source without a destination in another rack.
    pub fn between_racks(
        sources: &[HostId],
        destinations: &[HostId],
        racks: &Racks,
    ) -> Result<Self, Error> {
        Self::random(sources, destinations, |host| racks.of(host))
    }

    /// Returns a permutation, drawn with `seed`.
    /// Each source sends to one fixed destination, and each destination receives from one source.
    /// No source sends to itself.
    ///
    /// # Errors
    /// [`Error::Matrix`] for an empty list, a host that is listed twice, or lists of different lengths.
    /// [`Error::Matrix`] also for a single host as both source and destination.
    pub fn permutation(
        sources: &[HostId],
        destinations: &[HostId],
        seed: u64,
    ) -> Result<Self, Error> {
        Self::assignment(sources, destinations, seed, |host| u64::from(host.0))
    }

    /// Returns a permutation (see [`Matrix::permutation`]) in which no flow stays within a rack.
    ///
    /// # Errors
    /// The errors of [`Matrix::permutation`], and an error if no permutation between racks exists.
    /// No permutation exists if a rack has more sources and destinations together than the matrix has sources.
    pub fn permutation_between_racks(
        sources: &[HostId],
        destinations: &[HostId],
        racks: &Racks,
        seed: u64,
    ) -> Result<Self, Error> {
        Self::assignment(sources, destinations, seed, |host| racks.of(host))
    }

    /// Returns `count` of the `hosts`, drawn with `seed`, in the order of `hosts`.
    /// A caller can build a permutation of the returned hosts.
    ///
    /// # Errors
    /// [`Error::Matrix`] if `count` is larger than the number of hosts.
    pub fn sample(hosts: &[HostId], count: usize, seed: u64) -> Result<Vec<HostId>, Error> {
        if count > hosts.len() {
            return Err(Error::Matrix {
                found: format!("{count} of {} hosts", hosts.len()),
                allowed: "at most all hosts",
            });
        }
        let mut stream = Stream::of(seed, 0, Purpose::Sample, 0);
        let mut drawn = Vec::with_capacity(count);
        for (index, &host) in hosts.iter().enumerate() {
            // Each host is selected with the probability (hosts still wanted) / (hosts left).
            // The selection keeps the order of the hosts, and all samples are equally likely.
            let (wanted, left) = (count - drawn.len(), hosts.len() - index);
            if stream.below(left as u64) < wanted as u64 {
                drawn.push(host);
            }
        }
        Ok(drawn)
    }

    /// Returns a matrix in which every sender sends to one receiver.
    ///
    /// # Errors
    /// [`Error::Matrix`] without a sender, if a sender is listed twice, or if the receiver is one of the senders.
    pub fn incast(senders: &[HostId], receiver: HostId) -> Result<Self, Error> {
        distinct(senders, "sources")?;
        if senders.contains(&receiver) {
            return Err(Error::Matrix {
                found: format!("the receiver {receiver} among its senders"),
                allowed: "senders other than the receiver",
            });
        }
        Ok(Self {
            sources: senders.to_vec(),
            rule: Rule::Assigned(alloc::vec![receiver; senders.len()]),
            weights: None,
        })
    }

    /// Returns a matrix of pairs of source and destination. A source may be in several pairs.
    ///
    /// # Errors
    /// [`Error::Matrix`] without a pair, or if both hosts of a pair are the same.
    pub fn pairs(pairs: &[(HostId, HostId)]) -> Result<Self, Error> {
        if let Some((host, _)) = pairs.iter().find(|(src, dst)| src == dst) {
            return Err(Error::Matrix {
                found: format!("the pair {host} to {host}"),
                allowed: "pairs of two different hosts",
            });
        }
        if pairs.is_empty() {
            return Err(none_listed("pairs"));
        }
        Ok(Self {
            sources: pairs.iter().map(|pair| pair.0).collect(),
            rule: Rule::Assigned(pairs.iter().map(|pair| pair.1).collect()),
            weights: None,
        })
    }

    /// Returns the same matrix with weights for hosts.
    /// In an open loop, the rate of a source is proportional to its weight.
    /// The probability of an allowed destination is proportional to the destination's weight.
    /// The weights have no effect if all are equal.
    /// The weights also have no effect if each source has one fixed destination (permutations, incasts, pairs).
    pub fn weighted(mut self, weights: &HostWeights) -> Self {
        if let Rule::Random { destinations, .. } = &self.rule {
            self.weights = MatrixWeights::of(weights, &self.sources, destinations);
        }
        self
    }

    /// Returns whether the weights of hosts differ.
    pub const fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Returns the part of a total `all`, such as a rate, that belongs to one source in an open loop.
    /// The source is at `index` of [`Matrix::sources`].
    ///
    /// # Panics
    /// There is no source at `index`.
    pub fn part_of_source(&self, index: usize, all: f64) -> f64 {
        match &self.weights {
            Some(weights) => all * weights.share_of_source(index),
            None => all / self.sources.len() as f64,
        }
    }

    /// Returns the share of an open loop's flows that go to another rack than their source's rack.
    pub fn share_between_racks(&self, racks: &Racks) -> f64 {
        let mut shares = 0.0;
        let mut of_racks: BTreeMap<u64, f64> = BTreeMap::new();
        if let Rule::Random { destinations, .. } = &self.rule {
            for (place, &host) in destinations.iter().enumerate() {
                *of_racks.entry(racks.of(host)).or_default() += self.weight((place, place + 1));
            }
        }
        for (index, &source) in self.sources.iter().enumerate() {
            let leaving = match &self.rule {
                Rule::Assigned(to) => f64::from(racks.of(to[index]) != racks.of(source)),
                Rule::Random { excluded, .. } => {
                    let (from, to) = excluded[index];
                    let excluded = (from as usize, to as usize);
                    let own = of_racks.get(&racks.of(source)).copied().unwrap_or(0.0);
                    // All excluded destinations are in the source's rack.
                    let within = f64::max(own - self.weight(excluded), 0.0);
                    1.0 - within / self.weight_beside(excluded)
                }
            };
            shares += self.part_of_source(index, leaving);
        }
        shares
    }

    /// Returns the total weight of the destinations in a range of indices.
    fn weight(&self, places: (usize, usize)) -> f64 {
        match &self.weights {
            Some(weights) => weights.weight(places),
            None => (places.1 - places.0) as f64,
        }
    }

    /// Returns the total weight of all destinations outside a range of indices.
    fn weight_beside(&self, excluded: (usize, usize)) -> f64 {
        match (&self.weights, &self.rule) {
            (Some(weights), _) => weights.weight_beside(excluded),
            (None, Rule::Random { destinations, .. }) => {
                (destinations.len() - (excluded.1 - excluded.0)) as f64
            }
            (None, Rule::Assigned(_)) => 1.0,
        }
    }

    /// Returns the sending hosts, in the given order.
    pub fn sources(&self) -> &[HostId] {
        &self.sources
    }

    /// Returns an identifier for the random streams of each source. The identifier contains the source's host number.
    /// If a host is listed several times, the identifier also contains the number of the repetition.
    pub(crate) fn entities(&self) -> impl Iterator<Item = u64> {
        let mut listed: BTreeMap<HostId, u64> = BTreeMap::new();
        self.sources.iter().map(move |&host| {
            let times = listed.entry(host).or_default();
            *times += 1;
            ((*times - 1) << 32) | u64::from(host.0)
        })
    }

    /// Returns the receiver of the next flow of one source. The source is at `index` of [`Matrix::sources`].
    ///
    /// # Panics
    /// There is no source at `index`.
    pub fn destination(&self, index: usize, stream: &mut Stream) -> HostId {
        match &self.rule {
            Rule::Assigned(destinations) => destinations[index],
            Rule::Random {
                destinations,
                excluded,
            } => {
                let (from, to) = excluded[index];
                if let Some(weights) = &self.weights {
                    let excluded = (from as usize, to as usize);
                    return destinations[weights.place(stream.uniform(), excluded)];
                }
                let width = (to - from) as usize;
                let drawn = stream.below((destinations.len() - width) as u64) as usize;
                let skipped = if drawn < from as usize { 0 } else { width };
                destinations[drawn + skipped]
            }
        }
    }

    /// Returns the possible receivers of a source, each with its share of the source's flows.
    /// The source is at `index` of [`Matrix::sources`].
    ///
    /// # Panics
    /// There is no source at `index`.
    pub fn shares(&self, index: usize) -> impl Iterator<Item = (HostId, f64)> + '_ {
        let (receivers, excluded) = match &self.rule {
            Rule::Assigned(destinations) => (&destinations[index..=index], 0..0),
            Rule::Random {
                destinations,
                excluded,
            } => {
                let (from, to) = excluded[index];
                (&destinations[..], from as usize..to as usize)
            }
        };
        let all = self.weight_beside((excluded.start, excluded.end));
        let numbered = receivers.iter().enumerate();
        let picked = numbered.filter(move |(place, _)| !excluded.contains(place));
        picked.map(move |(place, &host)| (host, self.weight((place, place + 1)) / all))
    }

    fn random(
        sources: &[HostId],
        destinations: &[HostId],
        group: impl Fn(HostId) -> u64,
    ) -> Result<Self, Error> {
        distinct(sources, "sources")?;
        distinct(destinations, "destinations")?;
        // Destinations are sorted by group, so that the excluded destinations of a source are one index range.
        let mut destinations = destinations.to_vec();
        destinations.sort_by_key(|&host| (group(host), host));
        let mut excluded = Vec::with_capacity(sources.len());
        for &source in sources {
            let own = group(source);
            let from = destinations.partition_point(|&host| group(host) < own);
            let to = destinations.partition_point(|&host| group(host) <= own);
            if to - from == destinations.len() {
                return Err(Error::Matrix {
                    found: format!("source {source} without any destination that it may pick"),
                    allowed: "at least one destination outside the source (or its rack) for each",
                });
            }
            excluded.push((from as u32, to as u32));
        }
        Ok(Self {
            sources: sources.to_vec(),
            rule: Rule::Random {
                destinations,
                excluded,
            },
            weights: None,
        })
    }

    /// Draws a random bijection in which no source sends within its own group.
    ///
    /// A Fisher-Yates shuffle creates a first bijection.
    /// After the shuffle, each pair within one group swaps its destination with a partner. Both new pairs are allowed.
    /// The search for a partner starts at a random index.
    ///
    /// A partner always exists if no group has more than n sources and destinations together.
    /// At most n - 1 pairs contain a source or a destination of the group. Every allowed bijection is possible.
    /// The probabilities are almost equal, but not exactly.
    fn assignment(
        sources: &[HostId],
        destinations: &[HostId],
        seed: u64,
        group: impl Fn(HostId) -> u64,
    ) -> Result<Self, Error> {
        distinct(sources, "sources")?;
        distinct(destinations, "destinations")?;
        let n = sources.len();
        if destinations.len() != n {
            return Err(Error::Matrix {
                found: format!("{n} sources and {} destinations", destinations.len()),
                allowed: "as many destinations as sources in a permutation",
            });
        }
        let mut members: Vec<u64> = sources
            .iter()
            .chain(destinations)
            .map(|&host| group(host))
            .collect();
        members.sort_unstable();
        if members.chunk_by(|a, b| a == b).any(|group| group.len() > n) {
            return Err(Error::Matrix {
                found: format!("{n} sources, more than half of them in one rack"),
                allowed: "racks so small that every source has a partner outside its own",
            });
        }
        let mut stream = Stream::of(seed, 0, Purpose::Permutation, 0);
        let mut assigned = destinations.to_vec();
        for i in (1..n).rev() {
            assigned.swap(i, stream.below(i as u64 + 1) as usize);
        }
        for i in 0..n {
            if group(sources[i]) != group(assigned[i]) {
                continue;
            }
            let offset = stream.below(n as u64) as usize;
            let partner = (0..n).map(|step| (offset + step) % n).find(|&j| {
                group(sources[i]) != group(assigned[j]) && group(sources[j]) != group(assigned[i])
            });
            if let Some(j) = partner {
                assigned.swap(i, j);
            }
        }
        Ok(Self {
            sources: sources.to_vec(),
            rule: Rule::Assigned(assigned),
            weights: None,
        })
    }
}

fn none_listed(what: &str) -> Error {
    Error::Matrix {
        found: format!("no {what}"),
        allowed: "at least one of each",
    }
}

/// Checks that `hosts` contains at least one host, and no host twice.
fn distinct(hosts: &[HostId], what: &'static str) -> Result<(), Error> {
    if hosts.is_empty() {
        return Err(none_listed(what));
    }
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Matrix {
            found: format!("{} twice among the {what}", pair[0]),
            allowed: "each host once",
        }),
        None => Ok(()),
    }
}
