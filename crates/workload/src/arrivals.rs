//! When flows arrive in an open loop, one process a host.

use crate::random::Stream;
use tailcut_units::Duration;

/// A stationary renewal process: independent gaps between arrivals, started in equilibrium, so that
/// the expected number of arrivals in any span `t` is exactly `rate t`, from time zero on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub enum Arrivals {
    /// Exponential gaps. What the papers of RepFlow, RepNet and DCTCP assume.
    #[default]
    Poisson,
    /// Gaps uniform over 0.5 to 1.5 of the mean, as in the traffic scripts released with RepNet:
    /// less bursty than Poisson (squared coefficient of variation 1/12).
    Uniform,
    /// Every gap is the mean; each host has a random phase of its own.
    Fixed,
}

impl Arrivals {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Uniform => "uniform",
            Self::Fixed => "fixed",
        }
    }

    /// The arrivals called `name`: `poisson`, `uniform` or `fixed`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Poisson, Self::Uniform, Self::Fixed]
            .into_iter()
            .find(|arrivals| arrivals.name() == name)
    }

    /// The gap between two arrivals of a process with `per_second` arrivals in the mean.
    pub fn gap(self, per_second: f64, stream: &mut Stream) -> Duration {
        let in_means = match self {
            Self::Poisson => stream.exponential(),
            Self::Uniform => 0.5 + stream.uniform(),
            Self::Fixed => 1.0,
        };
        Duration::from_secs_f64(in_means / per_second)
    }

    /// The span from time zero to the first arrival: the residual gap, of density (1 - F(x)) /
    /// mean, which makes the process stationary.
    pub fn first_gap(self, per_second: f64, stream: &mut Stream) -> Duration {
        let in_means = match self {
            Self::Poisson => stream.exponential(),
            // Flat up to 0.5, then a triangle down to 1.5; half of the mass lies in each.
            Self::Uniform => match 2.0 * stream.uniform() {
                flat if flat < 1.0 => 0.5 * flat,
                sloped => 1.5 - libm::sqrt(sloped - 1.0),
            },
            Self::Fixed => stream.uniform(),
        };
        Duration::from_secs_f64(in_means / per_second)
    }
}
