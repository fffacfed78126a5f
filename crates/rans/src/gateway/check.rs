//! Background tasks of a route: they resolve names again, and check whether replicas are healthy.

use super::config::{Check, RouteConfig};
use super::pool::{Member, resolve};
use super::route::Route;
use crate::reason::Reason;
use crate::upload::RequestBody;
use http::{Request, header};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tower_service::Service;

/// Starts the background tasks of a route. They end when the returned set is dropped.
pub(super) fn tasks(config: &RouteConfig, route: &Weak<Route>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    // An IP address does not change, so it needs no second resolution.
    let is_name = |host: &str| host.parse::<IpAddr>().is_err();
    if config
        .replicas
        .iter()
        .any(|replica| is_name(&replica.to.host))
    {
        tasks.spawn(resolve_again(route.clone(), config.times.resolve));
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

async fn resolve_again(route: Weak<Route>, time: Duration) {
    let mut every = every(time);
    // The first tick is immediate and is skipped, because the names have just been resolved.
    every.tick().await;
    loop {
        every.tick().await;
        // The task has only a weak reference to its route. A strong reference would keep a route that was replaced.
        let Some(route) = route.upgrade() else {
            return;
        };
        let (name, log) = (&route.config.name, &route.log.log);
        let moved = match resolve(&route.config.replicas).await {
            Ok(addresses) => route.move_to(&addresses),
            Err(error) => Err(error),
        };
        match moved {
            Ok(true) => log.errors(|| {
                let replicas = route.pool().members.len();
                tracing::info!(
                    route = name.as_str(),
                    replicas,
                    "the addresses of replicas have changed"
                );
            }),
            Ok(false) => {}
            // After an error, the replicas keep their former addresses.
            Err(error) => log.errors(|| {
                let error = format!("{error:#}");
                tracing::warn!(
                    route = name.as_str(),
                    error,
                    "replicas keep their former addresses"
                );
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
        for (member, state) in pool.members.iter().zip(pool.client.states()) {
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
    let mut streaks: HashMap<SocketAddr, Streak> = HashMap::new();
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
            let streak = streaks.entry(pool.members[index].address).or_default();
            match passes {
                true => (streak.passed, streak.failed) = (streak.passed.saturating_add(1), 0),
                false => (streak.passed, streak.failed) = (0, streak.failed.saturating_add(1)),
            }
            if streak.failed >= check.fall {
                streak.is_down = true;
            } else if streak.passed >= check.rise {
                streak.is_down = false;
            }
            pool.client.set_healthy(index, !streak.is_down);
        }
    }
}

async fn passes(member: &Member, check: &Check) -> bool {
    let to = &member.replica.to;
    let request = Request::get(check.path.as_str())
        .header(header::HOST, to.to_string())
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
