//! Lateness of packets: the time from the planned arrival of a packet at its host to its real arrival.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tailcut_record::WallClock;
use tailcut_units::Duration;

/// Distribution of the lateness of packets.
#[derive(Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
    sum_ps: u128,
}

/// Summary of the lateness of a run, in microseconds.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatenessSummary {
    /// Number of packets that reached their hosts.
    pub packets: u64,
    /// Mean lateness in microseconds.
    pub mean_us: f64,
    /// Median lateness in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the lateness in microseconds.
    pub p99_us: f64,
    /// Maximum lateness in microseconds.
    pub max_us: f64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            histogram: Histogram::new(3).expect("three digits are allowed"),
            sum_ps: 0,
        }
    }
}

impl Lateness {
    /// Records the lateness of one packet.
    pub fn note(&mut self, late: Duration) {
        self.sum_ps += u128::from(late.as_ps());
        // Recording cannot fail, because the histogram resizes itself.
        let _ = self.histogram.record(late.as_ns());
    }

    /// Returns the summary of the recorded lateness.
    pub fn summary(&self) -> LatenessSummary {
        let packets = self.histogram.len();
        let at = |quantile: f64| self.histogram.value_at_quantile(quantile) as f64 / 1e3;
        LatenessSummary {
            packets,
            mean_us: self.sum_ps as f64 / 1e6 / packets.max(1) as f64,
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: at(1.0),
        }
    }
}

/// Validity of a run. A run is valid if its packets arrive in time and no frame is lost between kernels and network.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Validity {
    /// Whether the run is valid.
    pub is_valid: bool,
    /// Reasons why the run is not valid, each with a remedy. The text is empty for a valid run.
    pub why_not: String,
}

impl Validity {
    /// Returns the validity of a run whose clock is `slowdown` times slower than the wall clock.
    /// `unloaded` is the delay of a full-size packet on the longest path without other traffic.
    /// A run is valid if the 99th percentile of the lateness is at most one fifth of the unloaded delay.
    /// In addition, the mean lateness must be at most one twentieth of the unloaded delay, and `lost` must be zero.
    /// `lost` is the number of frames lost between kernels and network.
    pub fn new(lateness: &LatenessSummary, lost: u64, unloaded: Duration, slowdown: u32) -> Self {
        let unloaded_us = unloaded.as_us_f64();
        let by_tail = lateness.p99_us * 5.0 / unloaded_us;
        let by_mean = lateness.mean_us * 20.0 / unloaded_us;
        let times = by_tail.max(by_mean);
        let mut why_not = Vec::new();
        if times > 1.0 {
            // On the wall clock, the lateness does not depend on the slowdown.
            // On the network's clock, the lateness is divided by the slowdown.
            let needed = (times * f64::from(slowdown)).ceil();
            why_not.push(format!(
                "packets were late (p99 {:.0} us, mean {:.0} us; allowed {:.0} and {:.0}): use \
                 --slowdown {needed}",
                lateness.p99_us,
                lateness.mean_us,
                unloaded_us / 5.0,
                unloaded_us / 20.0
            ));
        }
        if lost > 0 {
            why_not.push(format!(
                "{lost} frames were lost between a host's kernel and the network"
            ));
        }
        Self {
            is_valid: why_not.is_empty(),
            why_not: why_not.join("; "),
        }
    }

    /// Returns the timing accuracy for the record of a run. The arguments are the same as in [`Validity::new`].
    pub fn recorded(
        self,
        lateness: &LatenessSummary,
        lost_frames: u64,
        unloaded_us: f64,
        slowdown: u32,
    ) -> WallClock {
        WallClock {
            slowdown,
            packets: lateness.packets,
            late_mean_us: lateness.mean_us,
            late_p50_us: lateness.p50_us,
            late_p99_us: lateness.p99_us,
            late_max_us: lateness.max_us,
            unloaded_us,
            lost_frames,
            is_valid: self.is_valid,
            why_not: self.why_not,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNLOADED: Duration = Duration::from_us(492);

    fn of(lates_us: &[u64]) -> Validity {
        let mut lateness = Lateness::default();
        for late in lates_us {
            lateness.note(Duration::from_us(*late));
        }
        Validity::new(&lateness.summary(), 0, UNLOADED, 1)
    }

    #[test]
    fn a_run_is_valid_with_a_short_tail_and_a_short_mean() {
        assert!(of(&[1; 100]).is_valid);
        let mut tail = vec![1; 97];
        tail.extend([200; 3]);
        assert!(
            !of(&tail).is_valid,
            "the limit is a fifth of 492 us, 98.4 us"
        );
        assert!(
            !of(&[30; 100]).is_valid,
            "the limit is a twentieth of 492 us, 24.6 us"
        );
        assert!(of(&[30; 100]).why_not.contains("use --slowdown 2"));
        assert!(of(&[]).is_valid, "no packet was late");
    }

    #[test]
    fn a_frame_that_is_lost_outside_the_network_spoils_a_run() {
        let validity = Validity::new(&LatenessSummary::default(), 3, UNLOADED, 1);
        assert!(!validity.is_valid && validity.why_not.starts_with("3 frames were lost"));
    }
}
