//! The paper's protocol: a fixed window of symbols, over switches that trim.

pub(super) mod group_demand;
pub(super) mod source;
