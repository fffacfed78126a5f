//! Data of a measurement, and its findings: results and recommendation.

use crate::mda::Map;
use crate::stats::{Groups, Prediction, Volley, groups, predict};
use crate::verdict::Verdict;
use serde::Serialize;
use std::net::SocketAddr;

/// All results of a measurement.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Target as given by the user.
    pub target: String,
    /// Address of the target.
    pub address: SocketAddr,
    /// Source ports. A port's index is its number.
    pub ports: Vec<u16>,
    /// Paths to the target.
    pub map: Map,
    /// Volleys in order of time.
    pub volleys: Vec<Volley>,
    /// Median, over the volleys, of the microseconds between the first and the last SYN.
    pub span_us: f64,
}

/// Handshakes of the ports on one path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathDelays {
    /// Routers, first to last. `?` stands for a router that did not answer.
    pub routers: String,
    /// Source ports.
    pub ports: Vec<u16>,
    /// Number of handshakes.
    pub handshakes: usize,
    /// Mean of the handshakes in microseconds.
    pub mean_us: f64,
    /// Median in microseconds.
    pub p50_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
}

/// Findings of a measurement, as `--json` prints them.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Recommendation.
    pub verdict: Verdict,
    /// Target as given by the user.
    pub target: String,
    /// Address of the target.
    pub address: SocketAddr,
    /// Paths.
    pub paths: Map,
    /// Number of volleys.
    pub volleys: usize,
    /// Number of ports in each volley.
    pub ports: usize,
    /// Seconds from the first volley to the last.
    pub seconds: f64,
    /// Number of answered handshakes. Handshakes with a repeated SYN are included.
    pub answered: usize,
    /// Number of answered handshakes with a repeated SYN. Their SYN or its answer was lost.
    pub resent: usize,
    /// Number of handshakes without an answer within 3.5 s. In all figures, their time is 3.5 s.
    pub unanswered: usize,
    /// Number of handshakes that failed for another reason, such as a port in use or a reset.
    pub failed: usize,
    /// Median, over the volleys, of the microseconds between the first and the last SYN.
    pub span_us: f64,
    /// Comparison of the faster of two handshakes with one handshake. `null`: too few volleys.
    pub prediction: Option<Prediction>,
    /// Groups of ports with correlated delays. `null`: too few volleys.
    pub groups: Option<Groups>,
    /// Delays by path.
    pub by_path: Vec<PathDelays>,
}

impl Measurement {
    /// Evaluates the measurement.
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

    /// Returns the ports grouped by the routers that their SYNs pass, sorted by router.
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
