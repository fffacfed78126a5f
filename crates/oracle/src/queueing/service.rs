//! Service times: their moments and their residual.

/// A distribution of service times.
#[derive(Clone, PartialEq, Debug)]
pub enum Service {
    /// Exponential with this mean.
    Exponential(f64),
    /// A cumulative distribution that is linear between points `(time, cumulative)`; both columns
    /// rise, the last cumulative is 1, and a first one above zero is an atom. What
    /// flow sizes over a link of one rate are.
    Piecewise(Vec<(f64, f64)>),
}

impl Service {
    /// Always `time`.
    pub fn deterministic(time: f64) -> Self {
        Self::Piecewise(vec![(time, 1.0)])
    }

    /// `E[S^k]`.
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

    /// `E[S]`.
    pub fn mean(&self) -> f64 {
        self.moment(1)
    }

    /// The probability that what is left of the service in progress, seen at a random instant, is
    /// at most `time`: the integral of (1 - F) from 0 to `time`, over `E[S]`.
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
