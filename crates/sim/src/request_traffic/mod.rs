//! Requests in a run: what they ask of servers and switches, and the books of what became of each.
//! [`stations`] has no packets, only stations and delays; [`network`] is the fabric.

mod books;
mod copy;
pub(crate) mod network;
pub(crate) mod stations;

use crate::config::{FlowsSpec, RequestRate, RequestsPart, RunConfig};
pub(crate) use books::Books;
use tailcut_units::{Rate, Time};
use tailcut_workload::{Error, Requests, RequestsSpec};

/// The load that a request a second puts on the busiest stations of all servers, copies beyond the quorum
/// not counted.
fn load_of_one(config: &RunConfig, part: &RequestsPart, link: Rate) -> f64 {
    let parameters = &config.settings.designs.requests;
    let seconds = parameters.bottleneck_seconds(part.sizes.mean(), link);
    seconds * f64::from(parameters.quorum) / f64::from(part.servers)
}

/// Requests a second of a workload's part, and the load that they put on the busiest stations of all
/// servers, whose links have `link`.
pub(crate) fn rate_and_load(config: &RunConfig, part: &RequestsPart, link: Rate) -> (f64, f64) {
    let of_one = load_of_one(config, part, link);
    match part.rate {
        RequestRate::PerSecond(rate) => (rate, rate * of_one),
        RequestRate::Load(fraction) => (fraction / of_one, fraction),
    }
}

/// The requests of a workload's part, where servers have links of `link`.
///
/// # Errors
/// As [`Requests::new`].
pub(crate) fn source(
    config: &RunConfig,
    part: &RequestsPart,
    label: u64,
    link: Rate,
) -> Result<Requests, Error> {
    let parameters = &config.settings.designs.requests;
    let (per_second, _) = rate_and_load(config, part, link);
    Requests::new(RequestsSpec {
        seed: config.seed,
        label,
        clients: part.clients,
        servers: part.servers,
        sizes: (*part.sizes).clone(),
        arrivals: part.arrivals,
        per_second,
        start: Time::ZERO + part.from,
        until: Time::ZERO + part.until,
        at_most: part.max_requests,
        work: parameters.work,
    })
}

/// The part of a workload that is of requests, and its number.
pub(crate) fn part_of(config: &RunConfig) -> Option<(u64, &RequestsPart)> {
    let parts = (0..).zip(&config.workload.parts);
    let mut requests = parts.filter_map(|(label, part)| match &part.flows {
        FlowsSpec::Requests(requests) => Some((label, requests)),
        _ => None,
    });
    requests.next()
}
