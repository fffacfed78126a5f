//! Distributions of service times, with their moments and residual times.

/// Distribution of service times.
#[derive(Clone, PartialEq, Debug)]
pub enum Service {
    /// Exponential distribution with this mean.
    Exponential(f64),
    /// Cumulative distribution that is linear between points `(time, cumulative)`.
    /// Times and cumulative values rise, and the last cumulative value is 1.
    /// If the first cumulative value is above zero, it is the probability of exactly the first time (an atom).
    /// Flow sizes, divided by the rate of a link, have this kind of distribution.
    Piecewise(Vec<(f64, f64)>),
}

impl Service {
    /// Returns the distribution of a service time that is always `time`.
    pub fn deterministic(time: f64) -> Self {
        Self::Piecewise(vec![(time, 1.0)])
    }

    /// Returns the `k`-th moment of the service time, `E[S^k]`.
    pub fn moment(&self, k: u32) -> f64 {
        match self {
            Self::Exponential(mean) => (1..=k).map(|i| f64::from(i) * mean).product(),
            Self::Piecewise(points) => {
                let degree = k as i32;
                let atom = points[0].1 * points[0].0.powi(degree);
                let segments = points.windows(2).map(|pair| {
                    let ((a, below), (b, up_to)) = (pair[0], pair[1]);
                    let powers: f64 = (0..=degree).map(|i| a.powi(i) * b.powi(degree - i)).sum();
                    (up_to - below) * powers / f64::from(k + 1)
                });
                atom + segments.sum::<f64>()
            }
        }
    }

    /// Returns the mean, `E[S]`.
    pub fn mean(&self) -> f64 {
        self.moment(1)
    }

    /// Returns the probability that, at a random time, at most `time` of the service in progress remains.
    /// The probability is the integral of (1 - F) from 0 to `time`, divided by `E[S]`.
    pub fn residual_cdf(&self, time: f64) -> f64 {
        match self {
            Self::Exponential(mean) => -(-time.max(0.0) / mean).exp_m1(),
            Self::Piecewise(points) => {
                let mut area = time.clamp(0.0, points[0].0);
                for pair in points.windows(2) {
                    let ((a, below), (b, up_to)) = (pair[0], pair[1]);
                    let within = time.min(b) - a;
                    if within > 0.0 {
                        let slope = (up_to - below) / (b - a);
                        area += within * (1.0 - below - slope * within / 2.0);
                    }
                }
                (area / self.mean()).min(1.0)
            }
        }
    }
}
