//! Requests in a run: clients, servers and the results of each request.
//! The module [`stations`] has servers and delays, but no packets. The module [`network`] uses the fabric.

mod copy;
pub(crate) mod network;
mod request_log;
pub(crate) mod stations;

use crate::config::{FlowsSpec, RequestRate, RequestsPart, RunConfig};
pub(crate) use request_log::RequestLog;
use tailcut_units::{Rate, Time};
use tailcut_workload::{Error, Requests, RequestsSpec};

/// Returns the load on the busiest stations of all servers, if the clients send one request per second.
/// Copies beyond the quorum are not included.
fn load_of_one(config: &RunConfig, part: &RequestsPart, link: Rate) -> f64 {
    let parameters = &config.settings.designs.requests;
    let seconds = parameters.bottleneck_seconds(part.sizes.mean(), link);
    seconds * f64::from(parameters.quorum) / f64::from(part.servers)
}

/// Returns the requests per second of a part of the workload, and the load on the busiest stations of all servers.
/// `link` is the rate of the servers' links.
pub(crate) fn rate_and_load(config: &RunConfig, part: &RequestsPart, link: Rate) -> (f64, f64) {
    let of_one = load_of_one(config, part, link);
    match part.rate {
        RequestRate::PerSecond(rate) => (rate, rate * of_one),
        RequestRate::Load(fraction) => (fraction / of_one, fraction),
    }
}

/// Returns the requests of a part of the workload. `link` is the rate of the servers' links.
///
/// # Errors
/// The errors of [`Requests::new`].
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

/// Returns the workload's part with requests, and the number of the part.
pub(crate) fn part_of(config: &RunConfig) -> Option<(u64, &RequestsPart)> {
    let parts = (0..).zip(&config.workload.parts);
    let mut requests = parts.filter_map(|(label, part)| match &part.flows {
        FlowsSpec::Requests(requests) => Some((label, requests)),
        _ => None,
    });
    requests.next()
}
