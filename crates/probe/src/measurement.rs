//! Data of a measurement, and the findings: results and a recommendation.

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
    /// Source ports. The number of a port is its index in this list.
    pub ports: Vec<u16>,
    /// Paths to the target.
    pub map: Map,
    /// Volleys in order of time.
    pub volleys: Vec<Volley>,
    /// Median time between the first and the last SYN of a volley, in microseconds.
    pub span_us: f64,
}

/// Delays of all handshakes whose ports use the same path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathDelays {
    /// Routers, first to last. `?` stands for a router that did not answer.
    pub routers: String,
    /// Source ports.
    pub ports: Vec<u16>,
    /// Number of handshakes.
    pub handshakes: usize,
    /// Mean time of the handshakes in microseconds.
    pub mean_us: f64,
    /// Median time of the handshakes in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the handshakes' times in microseconds.
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
    /// Paths to the target.
    pub paths: Map,
    /// Number of volleys.
    pub volleys: usize,
    /// Number of ports in each volley.
    pub ports: usize,
    /// Seconds from the first volley to the last.
    pub seconds: f64,
    /// Number of answered handshakes, including those whose SYN was repeated.
    pub answered: usize,
    /// Number of answered handshakes whose SYN was repeated, because the SYN or the answer was lost.
    pub resent: usize,
    /// Number of handshakes without an answer within 3.5 s.
    /// All statistics include the handshakes without an answer, with a time of 3.5 s.
    pub unanswered: usize,
    /// Number of handshakes that failed for another reason, such as a port in use or a reset.
    pub failed: usize,
    /// Median time between the first and the last SYN of a volley, in microseconds.
    pub span_us: f64,
    /// Predicted time of the faster of two handshakes, compared with one handshake.
    /// `null` with too few volleys.
    pub prediction: Option<Prediction>,
    /// Groups of ports with correlated delays. `null` if there are too few volleys.
    pub groups: Option<Groups>,
    /// Delays by path.
    pub by_path: Vec<PathDelays>,
}

impl Measurement {
    /// Computes the statistics and the recommendation.
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

    /// Groups the ports by the routers on their paths. Returns each path as text with its ports, sorted by the text.
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
