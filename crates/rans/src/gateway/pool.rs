//! Pool of the replicas that a route uses at present. Names are resolved.
//! Each address is a separate replica, with one set of connections for primaries and one for copies.

use super::config::{Duplicates, ReplicaConfig, RouteConfig};
use super::upstream::{Counts, Failure, Upstream, Warning};
use crate::client::{
    Client, ClientConfig, ClientCounts, Purges, Replica, ReplicaState, TrialSlots,
};
use crate::connections::{
    ConnectionConfig, ConnectionError, Connections, Connector, Wire, is_readable,
};
use crate::ranges::{Ranges, RangesConfig};
use crate::socket::SocketOptions;
use crate::upload::RequestBody;
use anyhow::{Result, anyhow};
use http::uri::Authority;
use hyper_util::rt::TokioIo;
use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_proxy::Address;
use tailcut_proxy::log::Log;
use tailcut_proxy::tls::{self, ServerName, Stream, server_name};
use tailcut_requests::{BudgetConfig, Percentile, Policy, TrialReport, Trigger};
use tailcut_units::stream_seed;
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service;

/// Connector to one address.
#[derive(Clone)]
pub(super) struct Dial {
    connector: Connector,
    tls: Option<(tls::Client, ServerName<'static>)>,
    time: Duration,
}

impl Service<()> for Dial {
    type Response = TokioIo<Stream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let connecting = self.connector.call(());
        let (tls, time) = (self.tls.clone(), self.time);
        let opening = async move {
            let stream = connecting.await?.into_inner();
            match tls {
                Some((client, name)) => client.connect(name, stream).await,
                None => Ok(Stream::Plain(stream)),
            }
        };
        Box::pin(async move {
            // This limit covers TCP and TLS together.
            // The connector's limit covers only one attempt to connect over TCP.
            let opened = timeout(time, opening).await;
            let stream = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            stream.map(TokioIo::new)
        })
    }
}

impl Wire for TokioIo<Stream> {
    fn has_unread(&self) -> bool {
        is_readable(self.inner().socket())
    }
}

/// Address of a replica.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum At {
    /// Address of TCP.
    Tcp(SocketAddr),
    /// Path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Returns the host of requests without a host.
pub(super) fn host_of(to: &Address) -> String {
    match to {
        Address::Tcp(endpoint) => endpoint.to_string(),
        // A path is not a host.
        Address::Unix(_) => "localhost".to_owned(),
    }
}

/// Replica at one address.
#[derive(Clone)]
pub(super) struct Member {
    pub replica: ReplicaConfig,
    pub address: At,
    pub counts: Arc<Counts>,
    connections: [Upstream; 2],
}

impl Member {
    /// Returns the connections for primaries.
    pub fn primary(&self) -> Upstream {
        self.connections[0].clone()
    }
}

/// Replicas of a route, and their client.
#[derive(Clone, Default)]
pub(super) struct Pool {
    pub members: Vec<Member>,
    /// `None`: no replica has an address yet.
    pub client: Option<Client<Upstream>>,
    /// Client for objects in ranges, if the route uses ranges.
    pub ranges: Option<Ranges<Upstream>>,
}

/// Addresses of replicas, each with the index of its replica in the configuration.
pub(super) type Addresses = BTreeSet<(usize, At)>;

/// Result of a resolution.
#[derive(Default)]
pub(super) struct Resolved {
    pub addresses: Addresses,
    /// Replicas whose names could not be resolved, each with its index and the error.
    pub failures: Vec<(usize, io::Error)>,
}

/// Longest time for which the start waits for a name server.
const RESOLVE_TIME: Duration = Duration::from_secs(5);

/// Resolves the names of all replicas at the same time.
pub(super) async fn resolve(replicas: &[ReplicaConfig]) -> Resolved {
    let mut lookups = JoinSet::new();
    let mut resolved = Resolved::default();
    for (index, replica) in replicas.iter().enumerate() {
        let to = match &replica.to {
            Address::Tcp(to) => to.clone(),
            Address::Unix(path) => {
                resolved.addresses.insert((index, At::Unix(path.clone())));
                continue;
            }
        };
        lookups.spawn(async move {
            let looking = async {
                let found = lookup_host((to.host.as_str(), to.port)).await?;
                Ok::<_, io::Error>(found.collect::<Vec<_>>())
            };
            let found = timeout(RESOLVE_TIME, looking).await;
            (
                index,
                found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
            )
        });
    }
    while let Some(looked) = lookups.join_next().await {
        match looked {
            Ok((index, Ok(found))) if !found.is_empty() => {
                resolved
                    .addresses
                    .extend(found.into_iter().map(|address| (index, At::Tcp(address))));
            }
            Ok((index, Ok(_))) => {
                let none = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                resolved.failures.push((index, none));
            }
            Ok((index, Err(error))) => resolved.failures.push((index, error)),
            // The lookup does not panic, and only the end of the program cancels it.
            Err(_) => {}
        }
    }
    resolved
}

impl Resolved {
    /// Adds the former addresses of replicas whose names could not be resolved.
    pub fn keep(&mut self, replicas: &[ReplicaConfig], members: &[Member]) {
        for (index, _) in &self.failures {
            let Some(replica) = replicas.get(*index) else {
                continue;
            };
            let former = members.iter().filter(|member| member.replica == *replica);
            self.addresses
                .extend(former.map(|member| (*index, member.address.clone())));
        }
    }

    /// Returns the replicas that have no address.
    pub fn without_address(&self) -> BTreeSet<usize> {
        let failed = self.failures.iter().map(|(index, _)| *index);
        failed
            .filter(|index| !self.addresses.iter().any(|(known, _)| known == index))
            .collect()
    }
}

impl Pool {
    /// Creates a pool of these addresses. A replica that is in `before` keeps its connections.
    pub fn new(
        config: &RouteConfig,
        log: &Log,
        addresses: &Addresses,
        before: &[Member],
    ) -> Result<Self> {
        let member = |(index, address): &(usize, At)| {
            let replica = &config.replicas[*index];
            let known = before
                .iter()
                .find(|known| known.address == *address && known.replica == *replica);
            match known {
                Some(known) => Ok(known.clone()),
                None => join(config, log, replica, address),
            }
        };
        let members = addresses.iter().map(member).collect::<Result<Vec<_>>>()?;
        let replicas = members.iter().map(|member| {
            let [primary, copy] = member.connections.clone();
            Replica {
                primary,
                copy,
                purges: config.purges,
            }
        });
        let seed = {
            use std::hash::{BuildHasher, RandomState};
            // The seed is random, so that gateways that start together do not choose the same replicas.
            RandomState::new().hash_one(0)
        };
        let replicas: Vec<_> = replicas.collect();
        if replicas.is_empty() {
            return Ok(Self::default());
        }
        let client = Client::new(replicas, client(config), seed).map_err(|why| anyhow!(why))?;
        let in_parts = |piece| {
            let ranges = RangesConfig {
                piece,
                // With this window, each side can request several pieces ahead of the reader.
                window: piece.saturating_mul(16),
                stall: config.times.answer,
                verify: config.verify,
                ..RangesConfig::default()
            };
            Ranges::new(client.clone(), ranges).map_err(|why| anyhow!(why))
        };
        Ok(Self {
            ranges: config.ranges.map(in_parts).transpose()?,
            members,
            client: Some(client),
        })
    }

    /// Returns the counters of the client.
    pub fn counts(&self) -> ClientCounts {
        self.client.as_ref().map(Client::counts).unwrap_or_default()
    }

    /// Returns what the trial of copies has found so far, if there is a trial.
    pub fn trial(&self) -> Option<TrialReport> {
        self.client.as_ref().and_then(Client::trial)
    }

    /// Returns the state of each replica, in the order of the members.
    pub fn states(&self) -> Vec<ReplicaState> {
        self.client.as_ref().map(Client::states).unwrap_or_default()
    }
}

fn join(config: &RouteConfig, log: &Log, replica: &ReplicaConfig, address: &At) -> Result<Member> {
    let authority = |text: String| Authority::try_from(text).map_err(|error| anyhow!("{error}"));
    // The connection is opened to one address of the name. Requests that contain no host get the name as their host.
    let host = authority(host_of(&replica.to))?;
    let tls = match replica.is_https {
        true => {
            let given = &config.replica_tls;
            let is_http2 = config.protocol == crate::connections::Protocol::Two;
            let client = tls::Client::new(given, is_http2)?;
            let host = replica.to.tcp().map_or("localhost", |to| &to.host);
            let name = given.server_name.as_deref().unwrap_or(host);
            Some((client, server_name(name)?))
        }
        false => None,
    };
    let connection_config = ConnectionConfig {
        protocol: config.protocol,
        is_https: replica.is_https,
        idle_time: config.times.idle,
        linger: config.times.linger,
        ..ConnectionConfig::default()
    };
    // The warning is about copies beyond the budget, so there is none without a budget.
    let may_warn = config.purges == Purges::Yes && config.budget < 1_000;
    let warning = may_warn.then(|| Arc::new(Warning::new(log, &config.name, &replica.to)));
    let counts = Arc::new(Counts::default());
    let name: Arc<str> = match replica.to.to_string() {
        to if to == address.to_string() => to.into(),
        to => format!("{to} ({address})").into(),
    };
    let upstream = || {
        let time = config.times.connect;
        let connector = match address {
            At::Tcp(at) => {
                let at = authority(at.to_string())?;
                Connector::new(at, SocketOptions::default(), time)
            }
            At::Unix(path) => Ok(Connector::unix(path, time)),
        };
        let dial = Dial {
            connector: connector.map_err(|why| anyhow!(why))?,
            tls: tls.clone(),
            time,
        };
        Ok::<_, anyhow::Error>(Upstream {
            connections: Connections::<Dial, RequestBody>::new(
                dial,
                host.clone(),
                connection_config,
            ),
            name: Arc::clone(&name),
            counts: Arc::clone(&counts),
            time: config.times.answer,
            whole: config.stored_bodies.whole,
            warning: warning.clone(),
        })
    };
    Ok(Member {
        replica: replica.clone(),
        address: address.clone(),
        counts: Arc::clone(&counts),
        connections: [upstream()?, upstream()?],
    })
}

/// Returns whether the error means that the replica has not received the request.
fn unsent(error: &dyn Any) -> bool {
    matches!(
        error.downcast_ref(),
        Some(Failure::Connection(ConnectionError::Connect(_)))
    )
}

/// Returns a number that is the same for the same name at all gateways.
fn seed_of(name: &str) -> u64 {
    name.bytes()
        .fold(0, |seed, byte| stream_seed(seed, 0, byte.into()))
}

/// Returns the configuration of a route's client.
fn client(config: &RouteConfig) -> ClientConfig {
    let percentile = Percentile {
        thousandths: config.percentile,
        ..Percentile::default()
    };
    let policy = |when| match when {
        Duplicates::Off => Policy::SINGLE,
        Duplicates::AtOnce => Policy::DAS,
        Duplicates::AfterPercentile => Policy {
            trigger: Trigger::AfterPercentile(percentile),
            ..Policy::DAS
        },
    };
    let budget = BudgetConfig {
        thousandths: config.budget,
        // The default of `ClientConfig` has the same burst.
        burst: 10,
    };
    // A budget of 1,000 for a thousand requests allows every copy, so no limit is needed.
    let budget = (config.budget < 1_000).then_some(budget);
    ClientConfig {
        purging: policy(config.duplicates),
        elsewhere: policy(config.elsewhere),
        budget,
        trial: config.do_no_harm.then(|| TrialSlots {
            length: config.trial_slot,
            // Gateways of one route have the same slots, so the route's name determines the seed.
            seed: seed_of(&config.name),
        }),
        methods: config.methods,
        unsent,
        marks_copies: config.marks_copies,
        ..ClientConfig::default()
    }
}
