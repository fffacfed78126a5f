//! A gateway: its listeners, and the routes behind them. It takes a new configuration while it runs: as a whole,
//! or not at all.

use super::config::{GatewayConfig, RouteConfig};
use super::metrics::{self, Shown};
use super::route::Route;
use super::translate::Caller;
use crate::socket::SocketOptions;
use anyhow::{Context as _, Result};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tailcut_proxy::admin::{Admin, Pages};
use tailcut_proxy::http::{Accept, Front, Limits};
use tailcut_proxy::tls::{self, ServerConfig, Stream};
use tailcut_proxy::{Doors, Endpoint, exchange};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// What is behind a listener now.
#[derive(Clone)]
struct Behind {
    route: Arc<Route>,
    tls: Option<Arc<ServerConfig>>,
}

impl Behind {
    async fn open(config: &RouteConfig, before: Option<&Arc<Route>>) -> Result<Self> {
        let tls = match &config.tls {
            Some(tls) => {
                let made = tls.config(&tls::HTTP);
                Some(made.with_context(|| format!("route {}", config.name))?)
            }
            None => None,
        };
        let route = match before {
            Some(before) if before.config == *config => Arc::clone(before),
            _ => Route::open(config, before.map(|before| &**before)).await?,
        };
        Ok(Self { route, tls })
    }
}

/// A listener's view of what is behind it, which may change.
type Slot = Arc<RwLock<Behind>>;

fn behind(slot: &Slot) -> Behind {
    slot.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Connections with TLS, where the route has it now.
struct Secured(Slot);

impl Accept for Secured {
    type Stream = Stream;
    /// Whether it is TLS.
    type Told = bool;

    async fn accept(&self, stream: TcpStream) -> io::Result<(Stream, bool)> {
        SocketOptions::default().set(&stream);
        tls::accept(behind(&self.0).tls, stream).await
    }
}

/// A listener.
struct Door {
    name: String,
    asked: Endpoint,
    front: Front,
    slot: Slot,
    limits: Limits,
}

/// A listener that is to be.
struct Plan {
    name: String,
    at: Endpoint,
    slot: Slot,
    limits: Limits,
}

impl Plan {
    fn of(behind: &Behind) -> Self {
        let config = &behind.route.config;
        Self {
            name: config.name.clone(),
            at: config.listen.clone(),
            slot: Arc::new(RwLock::new(behind.clone())),
            limits: config.limits.front,
        }
    }
}

/// What is known of a gateway from outside.
struct Known {
    doors: Mutex<Vec<(Slot, Arc<AtomicUsize>)>>,
    is_accepting: AtomicBool,
    /// How long open requests may go on, in milliseconds.
    drain: AtomicU64,
}

impl Known {
    fn doors(&self) -> MutexGuard<'_, Vec<(Slot, Arc<AtomicUsize>)>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drain(&self) -> Duration {
        Duration::from_millis(self.drain.load(Relaxed))
    }
}

impl Pages for Known {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Relaxed)
    }

    fn metrics(&self) -> String {
        let doors = self.doors();
        let routes: Vec<_> = doors
            .iter()
            .map(|(slot, connections)| (behind(slot).route, connections.load(Relaxed)))
            .collect();
        let shown = routes.iter().map(|(route, connections)| Shown {
            route,
            connections: *connections,
        });
        metrics::page(&shown.collect::<Vec<_>>())
    }
}

impl Doors for Known {
    type Plan = Plan;
    type Open = Door;

    fn serves(open: &Door, plan: &Plan) -> bool {
        // Port 0 is of whoever asked for it.
        open.asked == plan.at && (plan.at.port != 0 || open.name == plan.name)
    }

    fn collide(open: &Door, plan: &Plan) -> bool {
        open.front.address().port() == plan.at.port
    }

    async fn open(&self, plan: &Plan) -> Result<Door> {
        let Plan {
            name,
            at,
            slot,
            limits,
        } = plan;
        let opening = || format!("route {name}: cannot listen on {at}");
        let listener = at.listen().await.with_context(opening)?;
        let for_requests = Arc::clone(slot);
        let front = Front::start(
            listener,
            *limits,
            Secured(Arc::clone(slot)),
            move |address, is_secure| {
                let slot = Arc::clone(&for_requests);
                let caller = Caller { address, is_secure };
                move |request| {
                    let route = behind(&slot).route;
                    async move { Ok::<_, Infallible>(route.answer(caller, request).await) }
                }
            },
        );
        Ok(Door {
            name: name.clone(),
            asked: at.clone(),
            front: front.with_context(opening)?,
            slot: Arc::clone(slot),
            limits: *limits,
        })
    }

    async fn close(open: Door) -> Plan {
        let at = open.asked.at_port(open.front.address().port());
        let drain = behind(&open.slot).route.config.limits.front.stall_time;
        let drained = open.front.drain(drain).await;
        // Its requests go on, and the port is free.
        tokio::spawn(drained.end());
        Plan {
            name: open.name,
            at,
            slot: open.slot,
            limits: open.limits,
        }
    }
}

/// A gateway that accepts.
pub struct Gateway {
    doors: Vec<Door>,
    admin: Option<Admin>,
    known: Arc<Known>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.doors.iter().map(|door| &door.name);
        f.debug_struct("Gateway")
            .field("routes", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Listens on every route and on the admin address, or on none.
    ///
    /// # Errors
    /// An address that cannot be listened on, or a replica's name that cannot be resolved, with its route.
    pub async fn start(config: &GatewayConfig) -> Result<Self> {
        let known = Known {
            doors: Mutex::default(),
            is_accepting: AtomicBool::new(true),
            drain: AtomicU64::new(0),
        };
        let mut gateway = Self {
            doors: Vec::new(),
            admin: None,
            known: Arc::new(known),
        };
        gateway.reload(config).await?;
        Ok(gateway)
    }

    /// Takes a new configuration. Listeners whose address stays go on with what is behind them now: no connection
    /// is refused. Requests that are open end as they began.
    ///
    /// # Errors
    /// An address that cannot be listened on, or a replica's name that cannot be resolved. Then every route is as
    /// it was.
    pub async fn reload(&mut self, config: &GatewayConfig) -> Result<()> {
        let asked = config.admin.as_ref();
        let admin = Admin::other(self.admin.as_ref(), asked, &self.known).await?;
        let mut wanted = Vec::new();
        for config in &config.routes {
            let old = self.doors.iter().map(|door| behind(&door.slot).route);
            let old = old.into_iter().find(|old| old.config.name == config.name);
            let behind = Behind::open(config, old.as_ref()).await?;
            wanted.push((behind, old));
        }
        let plans = wanted.iter().map(|(behind, _)| Plan::of(behind)).collect();
        exchange(&*self.known, &mut self.doors, plans).await?;
        for (behind, old) in wanted {
            if let Some(old) = old.filter(|old| !Arc::ptr_eq(old, &behind.route)) {
                behind.route.counts.keep(old.pool().client.counts());
            }
            let plan = Plan::of(&behind);
            if let Some(door) = self
                .doors
                .iter_mut()
                .find(|door| Known::serves(door, &plan))
            {
                door.name = plan.name;
                door.limits = plan.limits;
                door.front.limit(plan.limits);
                *door.slot.write().unwrap_or_else(PoisonError::into_inner) = behind;
            }
        }
        let drain = config.drain.as_millis().try_into().unwrap_or(u64::MAX);
        self.known.drain.store(drain, Relaxed);
        *self.known.doors() = self
            .doors
            .iter()
            .map(|door| (Arc::clone(&door.slot), door.front.connections()))
            .collect();
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        Ok(())
    }

    /// Where a route listens; of use where its port was 0.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let door = self.doors.iter().find(|door| door.name == name)?;
        Some(door.front.address())
    }

    /// Where health and metrics are served.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// The page of metrics.
    pub fn metrics(&self) -> String {
        self.known.metrics()
    }

    /// Stops accepting, lets open requests end for the drain timeout, and resets the rest.
    pub async fn stop(self) {
        self.known.is_accepting.store(false, Relaxed);
        let time = self.known.drain();
        let mut ending = JoinSet::new();
        for door in self.doors {
            ending.spawn(async move { door.front.drain(time).await.end().await });
        }
        while ending.join_next().await.is_some() {}
    }
}
