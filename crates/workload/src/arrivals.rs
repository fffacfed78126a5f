//! Arrival processes of open loops. Each sending host has its own process.

use crate::random::Stream;
use tailcut_units::Duration;

/// Arrival process: a stationary renewal process with independent gaps between arrivals.
/// The expected number of arrivals in any span `t` is `rate * t`, even at the start: the first gap is a residual gap.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Arrivals {
    /// Exponential gaps, as in the papers of RepFlow, RepNet and DCTCP.
    #[default]
    Poisson,
    /// Gaps that are uniform between 0.5 and 1.5 times the mean, as in the traffic scripts released with RepNet.
    /// Uniform gaps are less bursty than Poisson arrivals (squared coefficient of variation 1/12).
    Uniform,
    /// Equal gaps. The first arrival of each host is at a random time within the first gap.
    Fixed,
}

impl Arrivals {
    /// Returns the process's name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Uniform => "uniform",
            Self::Fixed => "fixed",
        }
    }

    /// Returns the process with this name: `poisson`, `uniform` or `fixed`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Poisson, Self::Uniform, Self::Fixed]
            .into_iter()
            .find(|arrivals| arrivals.name() == name)
    }

    /// Returns the gap between two arrivals of a process that has `per_second` arrivals per second on average.
    pub fn gap(self, per_second: f64, stream: &mut Stream) -> Duration {
        let in_means = match self {
            Self::Poisson => stream.exponential(),
            Self::Uniform => 0.5 + stream.uniform(),
            Self::Fixed => 1.0,
        };
        Duration::from_secs_f64(in_means / per_second)
    }

    /// Returns the span from time zero to the first arrival.
    /// The span has the distribution of a residual gap, with density (1 - F(x)) / mean.
    /// The arrival process is therefore stationary.
    pub fn first_gap(self, per_second: f64, stream: &mut Stream) -> Duration {
        let in_means = match self {
            Self::Poisson => stream.exponential(),
            // The density is constant up to 0.5, and falls linearly from there to zero at 1.5.
            // The constant part and the falling part each have half of the probability.
            Self::Uniform => match 2.0 * stream.uniform() {
                flat if flat < 1.0 => 0.5 * flat,
                sloped => 1.5 - libm::sqrt(sloped - 1.0),
            },
            Self::Fixed => stream.uniform(),
        };
        Duration::from_secs_f64(in_means / per_second)
    }
}
