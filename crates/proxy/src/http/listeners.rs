//! HTTP listeners. The service behind a listener can be replaced while the listener stays open.

use super::open_files;
use super::{Accept, ClientBody, HttpListener, Limits};
use crate::address::{Address, ListeningSocket};
use crate::exchange::{ListenerFactory, exchange};
use anyhow::{Context, Result};
use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use std::error::Error;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Service behind a listener. All clones share one state.
pub trait HttpService: Accept<ConnectionInfo: Clone + Sync + 'static> + Clone {
    /// Body of a response.
    type Body: Body<Data: Buf + Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
    /// Error that prevents a response.
    type Error: Into<Box<dyn Error + Send + Sync>> + 'static;

    /// Responds to a request of a client.
    fn answer(
        self,
        client: SocketAddr,
        info: Self::ConnectionInfo,
        request: Request<ClientBody>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Self::Error>> + Send + 'static;
}

/// Shared reference to the current service of a listener.
#[derive(Debug)]
pub struct Slot<S> {
    service: Arc<RwLock<S>>,
    open: Arc<AtomicUsize>,
}

impl<S> Clone for Slot<S> {
    fn clone(&self) -> Self {
        let (service, open) = (Arc::clone(&self.service), Arc::clone(&self.open));
        Self { service, open }
    }
}

impl<S: Clone> Slot<S> {
    /// Returns the current service.
    pub fn service(&self) -> S {
        self.service
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl<S: HttpService> Accept for Slot<S> {
    type Stream = S::Stream;
    type ConnectionInfo = S::ConnectionInfo;

    fn expects_proxy_header(&self) -> bool {
        self.service().expects_proxy_header()
    }

    async fn accept(&self, stream: TcpStream) -> io::Result<(S::Stream, S::ConnectionInfo)> {
        self.service().accept(stream).await
    }
}

/// Description of a listener.
#[derive(Clone, Debug)]
pub struct ListenerSpec<S> {
    /// Unique name.
    pub name: String,
    /// Address to listen on. With port 0 the operating system chooses a port.
    /// A listener with the same name keeps this port after a reload.
    pub listen: Address,
    /// Mode of a Unix socket.
    pub mode: u32,
    /// Limits of the listener's connections.
    pub limits: Limits,
    /// Service behind the listener.
    pub service: S,
}

struct OpenListener<S> {
    spec: ListenerSpec<S>,
    http: HttpListener,
    slot: Slot<S>,
}

/// Open listeners.
pub struct Listeners<S>(Vec<OpenListener<S>>);

impl<S> Default for Listeners<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct Opener<S>(PhantomData<fn() -> S>);

impl<S: HttpService> ListenerFactory for Opener<S> {
    type Plan = ListenerSpec<S>;
    type Open = OpenListener<S>;

    fn serves(open: &OpenListener<S>, plan: &ListenerSpec<S>) -> bool {
        let old = &open.spec;
        // With port 0, the kernel has chosen the port. Only a listener with the same name keeps this port.
        old.listen == plan.listen && (!plan.listen.has_any_port() || old.name == plan.name)
    }

    fn collide(open: &OpenListener<S>, plan: &ListenerSpec<S>) -> bool {
        match (&open.spec.listen, &plan.listen) {
            (Address::Tcp(_), Address::Tcp(plan)) => {
                open.http.address().is_some_and(|at| at.port() == plan.port)
            }
            (one, other) => one == other,
        }
    }

    async fn open(&self, plan: &ListenerSpec<S>) -> Result<OpenListener<S>> {
        let ListenerSpec { name, listen, .. } = plan;
        let opened = ListeningSocket::open(listen, plan.mode).await;
        let opening = || format!("route {name}: cannot listen on {listen}");
        let socket = opened.with_context(opening)?;
        let mut slot = Slot {
            service: Arc::new(RwLock::new(plan.service.clone())),
            open: Arc::default(),
        };
        let current = slot.clone();
        let http = HttpListener::start(socket, plan.limits, slot.clone(), move |client, info| {
            // The service is looked up for each request, so that a reload also applies to open connections.
            let current = current.clone();
            move |request| current.service().answer(client, info.clone(), request)
        });
        let http = http.with_context(opening)?;
        slot.open = http.connections();
        Ok(OpenListener {
            spec: plan.clone(),
            http,
            slot,
        })
    }

    async fn close(open: OpenListener<S>) -> ListenerSpec<S> {
        let bound = open.http.address();
        let drained = open.http.drain(open.spec.limits.stall_time).await;
        // The port is free now. Open requests continue in the background.
        tokio::spawn(drained.end());
        // The new plan contains the present port. With port 0, the kernel would choose another one.
        let listen = match (open.spec.listen, bound) {
            (Address::Tcp(endpoint), Some(at)) => Address::Tcp(endpoint.at_port(at.port())),
            (listen, _) => listen,
        };
        ListenerSpec {
            listen,
            ..open.spec
        }
    }
}

impl<S: HttpService> Listeners<S> {
    /// Replaces the set of listeners.
    /// A listener whose address does not change stays open and gets its new service and limits.
    ///
    /// # Errors
    /// An address cannot be opened for listening. All listeners then stay unchanged.
    pub async fn exchange(&mut self, mut specs: Vec<ListenerSpec<S>>) -> Result<()> {
        let most = open_files::connections_for_each(specs.len());
        for ListenerSpec { name, limits, .. } in &mut specs {
            if limits.connections > most {
                eprintln!(
                    "route {name}: limits.connections is {}, but the limit of open files (ulimit -Hn) allows only {most}",
                    limits.connections
                );
                limits.connections = most;
            }
        }
        // The only step that can fail comes first, so that a failure changes nothing.
        exchange(&Opener(PhantomData), &mut self.0, specs.clone()).await?;
        for spec in specs {
            let mut open = self.0.iter_mut();
            if let Some(listener) = open.find(|listener| Opener::serves(listener, &spec)) {
                listener.http.limit(spec.limits);
                let service = listener.slot.service.write();
                *service.unwrap_or_else(PoisonError::into_inner) = spec.service.clone();
                listener.spec = spec;
            }
        }
        Ok(())
    }

    /// Returns the name, the address and the slot of each listener. A Unix socket has no such address.
    pub fn all(&self) -> impl Iterator<Item = (&str, Option<SocketAddr>, &Slot<S>)> {
        let open = self.0.iter();
        open.map(|listener| {
            (
                listener.spec.name.as_str(),
                listener.http.address(),
                &listener.slot,
            )
        })
    }

    /// Stops accepting connections. Open requests may end within `time`.
    /// Connections that are still open then are reset.
    pub async fn stop(self, time: Duration) {
        let mut ending = JoinSet::new();
        for listener in self.0 {
            ending.spawn(async move { listener.http.drain(time).await.end().await });
        }
        while ending.join_next().await.is_some() {}
    }
}
