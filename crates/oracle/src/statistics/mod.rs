//! Confidence intervals and distances between distributions.

mod distance;
mod interval;

pub use distance::{
    dkw_band, kolmogorov_distance, kolmogorov_p_value, smirnov_distance, smirnov_p_value,
};
pub use interval::{
    Interval, batch_means, bootstrap_ratio, mean_interval, percentile_interval, student_t_quantile,
};
