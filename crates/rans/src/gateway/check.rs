//! Background tasks of a route: they resolve names again, and check whether replicas are healthy.

use super::config::{Check, RouteConfig};
use super::pool::{At, Member, Resolved, host_of, resolve};
use super::route::Route;
use crate::reason::Reason;
use crate::upload::RequestBody;
use http::{Request, header};
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;
use tailcut_proxy::log::Log;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tower_service::Service;

/// Starts the background tasks of a route. They end when the returned set is dropped.
/// `is_incomplete` says that a replica has no address yet.
pub(super) fn tasks(config: &RouteConfig, route: &Weak<Route>, is_incomplete: bool) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    // An IP address does not change, so it needs no second resolution.
    let is_name = |host: &str| host.parse::<IpAddr>().is_err();
    let mut endpoints = config
        .replicas
        .iter()
        .filter_map(|replica| replica.to.tcp());
    if endpoints.any(|endpoint| is_name(&endpoint.host)) {
        tasks.spawn(resolve_again(
            route.clone(),
            config.times.resolve,
            is_incomplete,
        ));
    }
    tasks.spawn(report_changes(route.clone()));
    if let Some(check) = &config.check {
        tasks.spawn(check_all(route.clone(), check.clone()));
    }
    tasks
}

fn every(time: Duration) -> tokio::time::Interval {
    let mut every = interval(time);
    // After a slow round, the next round must not follow immediately, as it would with the default behaviour.
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    every
}

/// Time until a name that has no address is resolved again for the first time. The time doubles with each failure.
/// With a shorter time, the name server would get more queries.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Writes a line for each name that could not be resolved.
pub(super) fn report(config: &RouteConfig, log: &Log, resolved: &Resolved) {
    for (index, error) in &resolved.failures {
        let replica = config
            .replicas
            .get(*index)
            .map(|replica| replica.to.to_string());
        log.errors(|| {
            let (route, error) = (config.name.as_str(), error.to_string());
            tracing::warn!(
                route,
                replica,
                error,
                "the name of a replica cannot be resolved"
            );
        });
    }
}

async fn resolve_again(route: Weak<Route>, time: Duration, mut is_incomplete: bool) {
    let mut retry = FIRST_RETRY.min(time);
    loop {
        match is_incomplete {
            true => {
                tokio::time::sleep(retry).await;
                retry = (retry * 2).min(time);
            }
            false => {
                tokio::time::sleep(time).await;
                retry = FIRST_RETRY.min(time);
            }
        }
        // The task has only a weak reference to its route. A strong reference would keep a route that was replaced.
        let Some(route) = route.upgrade() else {
            return;
        };
        let (name, log) = (route.config.name.as_str(), &route.log.log);
        let resolved = resolve(&route.config.replicas).await;
        report(&route.config, log, &resolved);
        let moved = route.move_to(resolved);
        let unresolved = route
            .unresolved
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        is_incomplete = !unresolved.is_empty();
        drop(unresolved);
        match moved {
            Ok(true) => log.errors(|| {
                let addresses = route.pool().members.len();
                tracing::info!(
                    route = name,
                    addresses,
                    "the addresses of replicas have changed"
                );
            }),
            Ok(false) => {}
            // After an error, the replicas keep their former addresses.
            Err(error) => log.errors(|| {
                let error = format!("{error:#}");
                tracing::warn!(route = name, error, "replicas keep their former addresses");
            }),
        }
    }
}

/// Interval between two looks at the states of replicas.
/// A replica that fails is left alone for at least a second, so no such change is missed.
const LOOK: Duration = Duration::from_millis(250);

/// Writes a line when a replica does not get requests any more, and when it gets them again.
async fn report_changes(route: Weak<Route>) {
    let mut every = every(LOOK);
    let mut closed: BTreeSet<Arc<str>> = BTreeSet::new();
    loop {
        every.tick().await;
        let Some(route) = route.upgrade() else {
            return;
        };
        let pool = route.pool();
        let name = route.config.name.as_str();
        for (member, state) in pool.members.iter().zip(pool.states()) {
            let replica = member.primary().name;
            if state.is_open && closed.remove(&replica) {
                let replica = &*replica;
                let event =
                    || tracing::info!(route = name, replica, "a replica gets requests again");
                route.log.log.errors(event);
            } else if !state.is_open && state.in_flight == 0 && closed.insert(Arc::clone(&replica))
            {
                let reason = member.counts.latest().map(Reason::name);
                let replica = &*replica;
                let event =
                    || tracing::warn!(route = name, replica, reason, "a replica gets no requests");
                route.log.log.errors(event);
            }
        }
        closed.retain(|replica| {
            pool.members
                .iter()
                .any(|member| member.primary().name == *replica)
        });
    }
}

/// Latest checks of one replica: how many failed, or passed, in a row.
#[derive(Clone, Copy, Default)]
struct Streak {
    failed: u32,
    passed: u32,
    is_down: bool,
}

async fn check_all(route: Weak<Route>, check: Check) {
    let mut every = every(check.interval);
    let mut streaks: HashMap<At, Streak> = HashMap::new();
    loop {
        every.tick().await;
        let Some(route) = route.upgrade() else {
            return;
        };
        let pool = route.pool();
        let mut checks = JoinSet::new();
        for (index, member) in pool.members.iter().enumerate() {
            let (member, check) = (member.clone(), check.clone());
            checks.spawn(async move { (index, passes(&member, &check).await) });
        }
        // A replica that leaves the pool and returns starts with a new count.
        streaks.retain(|address, _| pool.members.iter().any(|member| member.address == *address));
        while let Some(checked) = checks.join_next().await {
            let Ok((index, passes)) = checked else {
                continue;
            };
            let streak = streaks
                .entry(pool.members[index].address.clone())
                .or_default();
            match passes {
                true => (streak.passed, streak.failed) = (streak.passed.saturating_add(1), 0),
                false => (streak.passed, streak.failed) = (0, streak.failed.saturating_add(1)),
            }
            if streak.failed >= check.fall {
                streak.is_down = true;
            } else if streak.passed >= check.rise {
                streak.is_down = false;
            }
            if let Some(client) = &pool.client {
                client.set_healthy(index, !streak.is_down);
            }
        }
    }
}

async fn passes(member: &Member, check: &Check) -> bool {
    let to = &member.replica.to;
    let request = Request::get(check.path.as_str())
        .header(header::HOST, host_of(to))
        .header(header::USER_AGENT, "tailcut-gateway-check");
    let Ok(request) = request.body(RequestBody::empty()) else {
        return false;
    };
    // The check uses the connections of requests, so it tests the same path as requests.
    let mut replica = member.primary();
    let answered = tokio::time::timeout(check.timeout, replica.call(request)).await;
    let Ok(Ok(answer)) = answered else {
        return false;
    };
    answer.status().is_success() || answer.status().is_redirection()
}
