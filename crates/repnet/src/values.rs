//! Types of values in a configuration. [`Settings::validate`](crate::Settings::validate) checks their ranges.

use serde::Deserializer;
use std::time::Duration;
use tailcut_proxy::config::{Scalar, scalar};
pub(crate) use tailcut_proxy::config::{count, size, size_or_endless, time, time_or_endless};
use tailcut_transport::repnet::Mode;
use tailcut_units::quantity::allowed;

/// Upper end of a range. [`Settings::validate`](crate::Settings::validate) checks the real limit.
pub(crate) const ANY: u64 = u64::MAX;

pub(crate) fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Mode>, D::Error> {
    let allowed = "\"repflow\", \"repsyn\", \"off\"";
    scalar(from, allowed, |found| match found {
        Scalar::Text("repflow") => Some(Some(Mode::RepFlow)),
        Scalar::Text("repsyn") => Some(Some(Mode::RepSyn)),
        Scalar::Text("off") => Some(None),
        _ => None,
    })
}

pub(crate) fn port<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    count::<1, 65_535, _, _>(from).map(Some)
}

/// Reads a time that has no fixed default.
pub(crate) fn some_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    time::<0, ANY, _>(from).map(Some)
}

pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    scalar(from, allowed(&(0.0..=1.0)), |found| found.number())
}
