//! Who sends to whom.

use crate::error::Error;
use crate::random::{Purpose, Stream};
use crate::weights::{HostWeights, Picks};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use tailcut_units::HostId;

/// Which rack each host is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Racks(Vec<u32>);

impl Racks {
    /// `hosts` hosts, numbered rack by rack, `per_rack` in each (at least one).
    pub fn even(hosts: u32, per_rack: u32) -> Self {
        Self((0..hosts).map(|host| host / per_rack.max(1)).collect())
    }

    /// The rack of each host, by host number.
    pub fn from_ids(rack_of: Vec<u32>) -> Self {
        Self(rack_of)
    }

    /// The rack of `host`; a host outside the table is in a rack of its own.
    pub fn of(&self, host: HostId) -> u64 {
        match self.0.get(host.0 as usize) {
            Some(&rack) => u64::from(rack),
            None => (1 << 32) | u64::from(host.0),
        }
    }
}

/// A traffic matrix: the hosts that send, and how each picks the receiver of its next flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    sources: Vec<HostId>,
    rule: Rule,
    /// How often each is picked; `None`: all alike.
    picks: Option<Picks>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Rule {
    /// Drawn from `destinations`, less those in `excluded[source]`, a range of it.
    Random {
        destinations: Vec<HostId>,
        excluded: Vec<(u32, u32)>,
    },
    /// Always the same receiver.
    Assigned(Vec<HostId>),
}

impl Matrix {
    /// Each flow goes to a destination drawn evenly from all but the source itself.
    ///
    /// # Errors
    /// [`Error::Matrix`] on an empty list, a host listed twice, or a source without a destination.
    pub fn anywhere(sources: &[HostId], destinations: &[HostId]) -> Result<Self, Error> {
        Self::random(sources, destinations, |host| u64::from(host.0))
    }

    /// Each flow goes to a destination drawn evenly from those in other racks.
    ///
    /// # Errors
    /// [`Error::Matrix`] on an empty list, a host listed twice, or a source without a destination
    /// in another rack.
    pub fn between_racks(
        sources: &[HostId],
        destinations: &[HostId],
        racks: &Racks,
    ) -> Result<Self, Error> {
        Self::random(sources, destinations, |host| racks.of(host))
    }

    /// Each source always sends to one destination and each destination hears from one source;
    /// none sends to itself. Drawn by `seed`.
    ///
    /// # Errors
    /// [`Error::Matrix`] on an empty list, a host listed twice, lists of different lengths, or a
    /// single host that would have to send to itself.
    pub fn permutation(
        sources: &[HostId],
        destinations: &[HostId],
        seed: u64,
    ) -> Result<Self, Error> {
        Self::assignment(sources, destinations, seed, |host| u64::from(host.0))
    }

    /// A permutation (see [`Matrix::permutation`]) in which no flow stays within a rack.
    ///
    /// # Errors
    /// As [`Matrix::permutation`], and when a rack holds more sources and destinations together
    /// than there are sources: then no such permutation exists.
    pub fn permutation_between_racks(
        sources: &[HostId],
        destinations: &[HostId],
        racks: &Racks,
        seed: u64,
    ) -> Result<Self, Error> {
        Self::assignment(sources, destinations, seed, |host| racks.of(host))
    }

    /// So many of the hosts, drawn by `seed`, in the order given: those that take part in a
    /// permutation.
    ///
    /// # Errors
    /// [`Error::Matrix`] for more hosts than there are.
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
            let (wanted, left) = (count - drawn.len(), hosts.len() - index);
            if stream.below(left as u64) < wanted as u64 {
                drawn.push(host);
            }
        }
        Ok(drawn)
    }

    /// Every sender sends to one receiver.
    ///
    /// # Errors
    /// [`Error::Matrix`] without a sender, with a sender listed twice, or with the receiver among
    /// the senders.
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
            picks: None,
        })
    }

    /// These pairs of source and destination; a source may be listed several times.
    ///
    /// # Errors
    /// [`Error::Matrix`] without a pair or when a host is paired with itself.
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
            picks: None,
        })
    }

    /// The same matrix with hosts that send or receive more than others: in an open loop each source sends
    /// in proportion to its weight, and each destination is picked in proportion to its own among those
    /// that a source may pick. Where each source has one destination (permutations, incasts, pairs) nothing
    /// is picked, and nothing changes; nor does it where all weights are equal.
    pub fn weighted(mut self, weights: &HostWeights) -> Self {
        if let Rule::Random { destinations, .. } = &self.rule {
            self.picks = Picks::of(weights, &self.sources, destinations);
        }
        self
    }

    /// Whether some hosts send or receive more than others.
    pub const fn is_weighted(&self) -> bool {
        self.picks.is_some()
    }

    /// What the source at `index` of [`Matrix::sources`] sends of `all` that is sent in an open loop.
    ///
    /// # Panics
    /// When `index` is not that of a source.
    pub fn part_of_source(&self, index: usize, all: f64) -> f64 {
        match &self.picks {
            Some(picks) => all * picks.share_of_source(index),
            None => all / self.sources.len() as f64,
        }
    }

    /// The share of all flows of an open loop that go to another rack than their source's.
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
                    // What is excluded is of the own rack.
                    let within = f64::max(own - self.weight(excluded), 0.0);
                    1.0 - within / self.weight_beside(excluded)
                }
            };
            shares += self.part_of_source(index, leaving);
        }
        shares
    }

    /// The weight of the destinations from one place to another.
    fn weight(&self, places: (usize, usize)) -> f64 {
        match &self.picks {
            Some(picks) => picks.weight(places),
            None => (places.1 - places.0) as f64,
        }
    }

    /// The weight of all destinations but those from one place to another.
    fn weight_beside(&self, excluded: (usize, usize)) -> f64 {
        match (&self.picks, &self.rule) {
            (Some(picks), _) => picks.weight_beside(excluded),
            (None, Rule::Random { destinations, .. }) => {
                (destinations.len() - (excluded.1 - excluded.0)) as f64
            }
            (None, Rule::Assigned(_)) => 1.0,
        }
    }

    /// The hosts that send, in the order given.
    pub fn sources(&self) -> &[HostId] {
        &self.sources
    }

    /// What names the random streams of each source: its host number and, where a host is listed
    /// several times, which time it is.
    pub(crate) fn entities(&self) -> impl Iterator<Item = u64> {
        let mut listed: BTreeMap<HostId, u64> = BTreeMap::new();
        self.sources.iter().map(move |&host| {
            let times = listed.entry(host).or_default();
            *times += 1;
            ((*times - 1) << 32) | u64::from(host.0)
        })
    }

    /// The receiver of the next flow of the source at `index` of [`Matrix::sources`].
    ///
    /// # Panics
    /// When `index` is not that of a source.
    pub fn destination(&self, index: usize, stream: &mut Stream) -> HostId {
        match &self.rule {
            Rule::Assigned(destinations) => destinations[index],
            Rule::Random {
                destinations,
                excluded,
            } => {
                let (from, to) = excluded[index];
                if let Some(picks) = &self.picks {
                    let excluded = (from as usize, to as usize);
                    return destinations[picks.place(stream.uniform(), excluded)];
                }
                let width = (to - from) as usize;
                let drawn = stream.below((destinations.len() - width) as u64) as usize;
                let skipped = if drawn < from as usize { 0 } else { width };
                destinations[drawn + skipped]
            }
        }
    }

    /// The receivers of the source at `index` of [`Matrix::sources`], each with the share of the source's
    /// flows that go to it.
    ///
    /// # Panics
    /// When `index` is not that of a source.
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
        // Sorted by group, what a source must not pick is one range.
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
            picks: None,
        })
    }

    /// A random bijection in which nobody sends within its own group: a Fisher-Yates shuffle whose
    /// conflicts are then each swapped with the first partner, from a random place on, that
    /// leaves neither in conflict. Where no group holds more than n sources and destinations
    /// together, such a partner always exists: at most n - 1 places have a source or a
    /// destination of the group in conflict. Every permutation allowed can come up; their
    /// probabilities are close to even, not exactly so.
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
            picks: None,
        })
    }
}

fn none_listed(what: &str) -> Error {
    Error::Matrix {
        found: format!("no {what}"),
        allowed: "at least one of each",
    }
}

/// Checks that `hosts` is a set of at least one.
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
