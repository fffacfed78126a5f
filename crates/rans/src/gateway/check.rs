//! What a route does by itself: it resolves names again, and asks its replicas whether they are well.

use super::body::Ask;
use super::config::{Check, RouteConfig};
use super::pool::{Member, resolve};
use super::route::Route;
use http::{Request, header};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Weak;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tower_service::Service;

/// Begins it.
pub(super) fn tasks(config: &RouteConfig, route: &Weak<Route>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let is_name = |host: &str| host.parse::<IpAddr>().is_err();
    if config
        .replicas
        .iter()
        .any(|replica| is_name(&replica.to.host))
    {
        tasks.spawn(resolve_again(route.clone(), config.times.resolve));
    }
    if let Some(check) = &config.check {
        tasks.spawn(check_all(route.clone(), check.clone()));
    }
    tasks
}

fn every(time: Duration) -> tokio::time::Interval {
    let mut every = interval(time);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    every
}

async fn resolve_again(route: Weak<Route>, time: Duration) {
    let mut every = every(time);
    // They have just been resolved.
    every.tick().await;
    loop {
        every.tick().await;
        let Some(route) = route.upgrade() else {
            return;
        };
        let name = &route.config.name;
        let moved = match resolve(&route.config.replicas).await {
            Ok(addresses) => route.move_to(&addresses),
            Err(error) => Err(error),
        };
        match moved {
            Ok(true) => eprintln!("tailcut gateway: route {name}: its replicas have moved"),
            Ok(false) => {}
            // They stay where they were.
            Err(error) => eprintln!("tailcut gateway: route {name}: {error:#}"),
        }
    }
}

/// Of the latest checks of a replica, in a row.
#[derive(Clone, Copy, Default)]
struct Row {
    failed: u32,
    passed: u32,
    is_down: bool,
}

async fn check_all(route: Weak<Route>, check: Check) {
    let mut every = every(check.interval);
    let mut rows: HashMap<SocketAddr, Row> = HashMap::new();
    loop {
        every.tick().await;
        let Some(route) = route.upgrade() else {
            return;
        };
        let pool = route.pool();
        let mut asking = JoinSet::new();
        for (index, member) in pool.members.iter().enumerate() {
            let (member, check) = (member.clone(), check.clone());
            asking.spawn(async move { (index, passes(&member, &check).await) });
        }
        // Of replicas that have gone nothing is known.
        rows.retain(|address, _| pool.members.iter().any(|member| member.address == *address));
        while let Some(checked) = asking.join_next().await {
            let Ok((index, passes)) = checked else {
                continue;
            };
            let row = rows.entry(pool.members[index].address).or_default();
            match passes {
                true => (row.passed, row.failed) = (row.passed.saturating_add(1), 0),
                false => (row.passed, row.failed) = (0, row.failed.saturating_add(1)),
            }
            if row.failed >= check.fall {
                row.is_down = true;
            } else if row.passed >= check.rise {
                row.is_down = false;
            }
            pool.client.set_well(index, !row.is_down);
        }
    }
}

async fn passes(member: &Member, check: &Check) -> bool {
    let to = &member.replica.to;
    let request = Request::get(check.path.as_str())
        .header(header::HOST, to.to_string())
        .header(header::USER_AGENT, "tailcut-gateway-check");
    let Ok(request) = request.body(Ask::empty()) else {
        return false;
    };
    let mut way = member.way();
    let answered = tokio::time::timeout(check.timeout, way.call(request)).await;
    let Ok(Ok(answer)) = answered else {
        return false;
    };
    answer.status().is_success() || answer.status().is_redirection()
}
