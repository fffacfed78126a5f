//! What was measured, and what it comes to.

use crate::mda::Map;
use crate::stats::{Groups, Prediction, Volley, groups, predict};
use crate::verdict::Verdict;
use serde::Serialize;
use std::net::SocketAddr;

/// Everything that was measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The target as it was named.
    pub target: String,
    /// Its address.
    pub address: SocketAddr,
    /// The source ports, by number.
    pub ports: Vec<u16>,
    /// The paths.
    pub map: Map,
    /// Volleys in the order of time.
    pub volleys: Vec<Volley>,
    /// Microseconds between the first and the last SYN of half of the volleys.
    pub span_us: f64,
}

/// Handshakes of the ports that take one path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathDelays {
    /// The routers, first to last, `?` where one did not answer.
    pub routers: String,
    /// The source ports.
    pub ports: Vec<u16>,
    /// Handshakes.
    pub handshakes: usize,
    /// Their mean in microseconds.
    pub mean_us: f64,
    /// Their median.
    pub p50_us: f64,
    /// Their 99th percentile.
    pub p99_us: f64,
}

/// What a measurement comes to: what `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// What to do.
    pub verdict: Verdict,
    /// The target as it was named.
    pub target: String,
    /// Its address.
    pub address: SocketAddr,
    /// The paths.
    pub paths: Map,
    /// Volleys.
    pub volleys: usize,
    /// Ports in each.
    pub ports: usize,
    /// Seconds from the first volley to the last.
    pub seconds: f64,
    /// Handshakes that were answered, those whose SYN was sent again included.
    pub answered: usize,
    /// Handshakes among them whose SYN was sent again: a SYN or its answer was lost.
    pub resent: usize,
    /// Handshakes that were not answered in 3.5 s. They count as that long.
    pub unanswered: usize,
    /// Handshakes that did not come about for another reason, such as a port in use or a reset.
    pub failed: usize,
    /// Microseconds between the first and the last SYN of half of the volleys.
    pub span_us: f64,
    /// The faster of two handshakes against one; `null` of too few volleys.
    pub prediction: Option<Prediction>,
    /// Which ports move together; `null` of too few volleys.
    pub groups: Option<Groups>,
    /// Delays by path.
    pub by_path: Vec<PathDelays>,
}

impl Measurement {
    /// What it comes to.
    pub fn findings(&self) -> Findings {
        let prediction = predict(&self.volleys);
        let groups = groups(&self.volleys);
        let all = || self.volleys.iter().flat_map(|volley| &volley.handshakes);
        let answered = || all().flatten().filter(|one| one.is_answered);
        let (volleys, ports) = (self.volleys.len(), self.ports.len());
        Findings {
            verdict: Verdict::new(
                &self.map,
                volleys,
                ports,
                prediction.as_ref(),
                groups.as_ref(),
            ),
            target: self.target.clone(),
            address: self.address,
            paths: self.map.clone(),
            volleys,
            ports,
            seconds: self.volleys.last().map_or(0.0, |volley| volley.at),
            answered: answered().count(),
            resent: answered().filter(|one| one.resent > 0).count(),
            unanswered: all().flatten().filter(|one| !one.is_answered).count(),
            failed: all().filter(|one| one.is_none()).count(),
            span_us: self.span_us,
            prediction,
            groups,
            by_path: self.by_path(),
        }
    }

    /// The ports by the routers that their SYNs pass, the most ports first.
    pub fn ways(&self) -> Vec<(String, Vec<usize>)> {
        let mut ways: Vec<(String, Vec<usize>)> = Vec::new();
        for number in 0..self.ports.len() {
            let way = self.map.way(number).unwrap_or_default();
            match ways.iter_mut().find(|(known, _)| *known == way) {
                Some((_, ports)) => ports.push(number),
                None => ways.push((way, vec![number])),
            }
        }
        ways.sort();
        ways
    }

    fn by_path(&self) -> Vec<PathDelays> {
        let ways = self.ways().into_iter();
        let delays = ways.filter_map(|(routers, numbers)| {
            let all = self.volleys.iter().flat_map(|volley| {
                let of = numbers
                    .iter()
                    .filter_map(|number| volley.handshakes[*number]);
                of.map(|one| one.us)
            });
            let mut all: Vec<f64> = all.collect();
            all.sort_unstable_by(f64::total_cmp);
            Some(PathDelays {
                routers,
                ports: numbers.iter().map(|number| self.ports[*number]).collect(),
                handshakes: all.len(),
                mean_us: all.iter().sum::<f64>() / all.len().max(1) as f64,
                p50_us: crate::stats::quantile(&all, 0.5)?,
                p99_us: crate::stats::quantile(&all, 0.99)?,
            })
        });
        delays.collect()
    }
}
