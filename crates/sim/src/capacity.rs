//! Capacity of links over time, with slow links.

use std::collections::BTreeMap;
use tailcut_fabric::topology::{LinkFault, Topology, Trouble};
use tailcut_record::{LinkFailure, LinkTrouble};
use tailcut_units::{Bytes, Rate, Time};

/// Returns every failure of a link, in the order of the ports.
pub(crate) fn failures(topology: &Topology, faults: &[LinkFault]) -> Vec<LinkFailure> {
    let numbered = (0..).zip(&topology.links);
    let of_link = numbered.flat_map(|(port, link)| {
        let about = faults.iter().filter(|f| f.is_about(link));
        about.map(move |fault| LinkFailure {
            link: port,
            trouble: match fault.trouble {
                Trouble::Down => LinkTrouble::Down,
                Trouble::Slow(rate) => LinkTrouble::Slow(rate),
                Trouble::Lossy(loss) => LinkTrouble::Lossy(loss.billionths()),
            },
            from: fault.from,
            until: (fault.until < Time::MAX).then_some(fault.until),
        })
    });
    of_link.collect()
}

/// Rate of every link over time.
pub(crate) struct Capacity {
    rates: Vec<Rate>,
    /// For each slow link: start, end and rate of each slow period.
    slowed: BTreeMap<u32, Vec<(Time, Time, Rate)>>,
}

impl Capacity {
    /// Creates the capacity of a network under `failures`. `topology` is the network without faults.
    /// A link that is down keeps its rate, because its port still transmits, but the link delivers nothing.
    pub fn new(topology: &Topology, failures: &[LinkFailure]) -> Self {
        let mut slowed: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for failure in failures {
            if let Some(rate) = failure.trouble.rate() {
                let span = (failure.from, failure.until.unwrap_or(Time::MAX), rate);
                slowed.entry(failure.link).or_default().push(span);
            }
        }
        Self {
            rates: topology.links.iter().map(|link| link.config.rate).collect(),
            slowed,
        }
    }

    /// Returns the number of links.
    pub fn links(&self) -> usize {
        self.rates.len()
    }

    /// Returns the share of the time from `since` to `now` in which the link transmits `bytes`, from 0 to 1.
    pub fn share(&self, link: u32, (since, now): (Time, Time), bytes: Bytes) -> f64 {
        let span_ps = now.since(since).as_ps().max(1) as f64;
        let rate = self.rates[link as usize];
        let share = match self.slowed.get(&link) {
            None => rate.serialisation(bytes.0).as_ps() as f64 / span_ps,
            Some(slowed) => {
                let mean = mean_rate(rate, slowed, (since, now));
                bytes.0 as f64 * 8e12 / (mean * span_ps)
            }
        };
        // Without the limit, the share could exceed 1, because a byte is counted when its transmission ends.
        // A short span can therefore include a byte that was mostly sent before the span.
        // If the rate falls during a packet, the packet still ends at the old rate.
        share.min(1.0)
    }
}

/// Returns the mean rate of a link between two instants, in bits per second.
fn mean_rate(usual: Rate, slowed: &[(Time, Time, Rate)], (since, now): (Time, Time)) -> f64 {
    let at = |time: Time| {
        let on = slowed
            .iter()
            .filter(|(from, until, _)| *from <= time && time < *until);
        on.map(|(.., rate)| *rate).fold(usual, Rate::min).as_bps() as f64
    };
    let changes = slowed.iter().flat_map(|&(from, until, _)| [from, until]);
    let mut instants: Vec<Time> = changes.filter(|at| since < *at && *at < now).collect();
    instants.extend([since, now]);
    instants.sort_unstable();
    let spans = instants.windows(2);
    let carried = spans.map(|span| at(span[0]) * span[1].since(span[0]).as_secs_f64());
    match now.since(since).as_secs_f64() {
        0.0 => at(now),
        seconds => carried.sum::<f64>() / seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::Duration;

    #[test]
    fn the_rate_of_a_span_is_the_mean_of_the_slowest_rates_on_at_each_time() {
        let at = |us| Time::ZERO + Duration::from_us(us);
        let gigabits = Rate::from_gbps;
        let slowed = [(at(10), at(30), gigabits(4)), (at(20), at(40), gigabits(2))];
        let mean = |from, until| mean_rate(gigabits(10), &slowed, (at(from), at(until))) / 1e9;
        for (from, until, expected) in [
            (0, 10, 10.0),
            (10, 20, 4.0),
            (0, 20, 7.0),
            (20, 40, 2.0),
            (0, 50, (10.0 + 4.0 + 2.0 + 2.0 + 10.0) / 5.0),
            (25, 25, 2.0),
        ] {
            let found = mean(from, until);
            assert!(
                (found - expected).abs() < 1e-9,
                "{from} to {until}: {found}"
            );
        }
    }
}
