//! Listeners of HTTP. What answers behind a listener may be replaced while the listener goes on.

use super::{Accept, Front, Limits};
use crate::endpoint::Endpoint;
use crate::exchange::{Doors, exchange};
use anyhow::{Context, Result};
use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
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

/// Answers behind a listener. Clones are the same.
pub trait Site: Accept<Told: Clone + Sync + 'static> + Clone {
    /// Body of an answer.
    type Body: Body<Data: Buf + Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
    /// Cause of a missing answer.
    type Error: Into<Box<dyn Error + Send + Sync>> + 'static;

    /// Answers a request of a client.
    fn answer(
        self,
        client: SocketAddr,
        told: Self::Told,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Self::Error>> + Send + 'static;
}

/// A listener's view of its site.
#[derive(Debug)]
pub struct Slot<S> {
    site: Arc<RwLock<S>>,
    open: Arc<AtomicUsize>,
}

impl<S> Clone for Slot<S> {
    fn clone(&self) -> Self {
        let (site, open) = (Arc::clone(&self.site), Arc::clone(&self.open));
        Self { site, open }
    }
}

impl<S: Clone> Slot<S> {
    /// Returns the site as it is now.
    pub fn site(&self) -> S {
        self.site
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl<S: Site> Accept for Slot<S> {
    type Stream = S::Stream;
    type Told = S::Told;

    async fn accept(&self, stream: TcpStream) -> io::Result<(S::Stream, S::Told)> {
        self.site().accept(stream).await
    }
}

/// A listener that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted<S> {
    /// Unique.
    pub name: String,
    /// Where to listen. Port 0 lets the system choose, once for each name.
    pub listen: Endpoint,
    /// Limits.
    pub limits: Limits,
    /// What answers.
    pub site: S,
}

struct Door<S> {
    wanted: Wanted<S>,
    front: Front,
    slot: Slot<S>,
}

/// Listeners that are open.
pub struct Listeners<S>(Vec<Door<S>>);

impl<S> Default for Listeners<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct Opener<S>(PhantomData<fn() -> S>);

impl<S: Site> Doors for Opener<S> {
    type Plan = Wanted<S>;
    type Open = Door<S>;

    fn serves(open: &Door<S>, plan: &Wanted<S>) -> bool {
        let old = &open.wanted;
        old.listen == plan.listen && (plan.listen.port != 0 || old.name == plan.name)
    }

    fn collide(open: &Door<S>, plan: &Wanted<S>) -> bool {
        open.front.address().port() == plan.listen.port
    }

    async fn open(&self, plan: &Wanted<S>) -> Result<Door<S>> {
        let Wanted { name, listen, .. } = plan;
        let opening = || format!("route {name}: cannot listen on {listen}");
        let listener = listen.listen().await.with_context(opening)?;
        let mut slot = Slot {
            site: Arc::new(RwLock::new(plan.site.clone())),
            open: Arc::default(),
        };
        let behind = slot.clone();
        let front = Front::start(listener, plan.limits, slot.clone(), move |client, told| {
            let behind = behind.clone();
            move |request| behind.site().answer(client, told.clone(), request)
        });
        let front = front.with_context(opening)?;
        slot.open = front.connections();
        Ok(Door {
            wanted: plan.clone(),
            front,
            slot,
        })
    }

    async fn close(open: Door<S>) -> Wanted<S> {
        let port = open.front.address().port();
        let drained = open.front.drain(open.wanted.limits.stall_time).await;
        // Its requests go on, and the port is free.
        tokio::spawn(drained.end());
        let listen = open.wanted.listen.at_port(port);
        Wanted {
            listen,
            ..open.wanted
        }
    }
}

impl<S: Site> Listeners<S> {
    /// Opens and closes listeners. Those whose address stays go on with their new site.
    ///
    /// # Errors
    /// An address that cannot be listened on. Then every listener is as it was.
    pub async fn exchange(&mut self, wanted: Vec<Wanted<S>>) -> Result<()> {
        exchange(&Opener(PhantomData), &mut self.0, wanted.clone()).await?;
        for wanted in wanted {
            let mut doors = self.0.iter_mut();
            if let Some(door) = doors.find(|door| Opener::serves(door, &wanted)) {
                door.front.limit(wanted.limits);
                let site = door.slot.site.write();
                *site.unwrap_or_else(PoisonError::into_inner) = wanted.site.clone();
                door.wanted = wanted;
            }
        }
        Ok(())
    }

    /// Returns the name of each listener, its address and its slot.
    pub fn all(&self) -> impl Iterator<Item = (&str, SocketAddr, &Slot<S>)> {
        let doors = self.0.iter();
        doors.map(|door| (door.wanted.name.as_str(), door.front.address(), &door.slot))
    }

    /// Accepts nothing more, lets open requests end for a time, and resets the rest.
    pub async fn stop(self, time: Duration) {
        let mut ending = JoinSet::new();
        for door in self.0 {
            ending.spawn(async move { door.front.drain(time).await.end().await });
        }
        while ending.join_next().await.is_some() {}
    }
}
