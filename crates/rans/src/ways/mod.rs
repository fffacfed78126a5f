//! Ways to servers: connections that are opened when a request needs one, kept for the next, and opened
//! again when they end. What a [`crate::client::Client`] asks its replicas through.
//!
//! - HTTP/1.1: a connection for each request on its way. A purge closes it, unless the answer is small and comes
//!   within [`WayConfig::linger`]. A connection on which unrequested bytes came is not used again.
//! - HTTP/2 with prior knowledge: one connection. A purge resets the stream. Servers defend themselves
//!   against clients that reset often (CVE-2023-44487), each connection by itself. So a connection that has
//!   been reset [`WayConfig::resets`] times is replaced: requests that are on it end there, new ones take the
//!   next. After a GOAWAY, too; requests that the server says it did not begin are sent again.

mod body;
mod config;
mod connector;
mod error;
mod exchange;
mod one;
mod two;
mod wire;

pub use body::WayBody;
pub use config::{Protocol, WayConfig};
pub use connector::Connector;
pub use error::WayError;
pub use two::ConnectionCounts;
pub use wire::Wire;
#[cfg(feature = "gateway")]
pub(crate) use wire::is_readable;

use crate::client::{Purges, Replay, Replica};
use crate::socket::{Dscp, SocketOptions};
use error::is_unprocessed;
use exchange::Exchange;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri, Version, header};
use http_body::Body;
use hyper::client::conn::http1;
use one::{Borrowed, Idle};
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;
use two::{Connection, Current};
use wire::shared;

/// How often a request is sent again that the server did not begin.
const MOST_TRIES: usize = 4;

/// In which an address has to accept a connection, by default.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A server over TCP with a way for primaries and a way for copies. Each way marks its packets with its own DSCP.
///
/// # Errors
/// A server without a port.
pub fn replica<B: Body + Send + Sync + 'static>(
    to: &Authority,
    config: WayConfig,
    copies: Option<Dscp>,
    purges: Purges,
) -> Result<Replica<Way<Connector, B>>, &'static str> {
    let way = |dscp| {
        let options = SocketOptions {
            dscp,
            ..SocketOptions::default()
        };
        let connector = Connector::new(to.clone(), options, CONNECT_TIME)?;
        Ok::<_, &'static str>(Way::new(connector, to.clone(), config))
    };
    Ok(Replica {
        primary: way(None)?,
        copy: way(copies)?,
        purges,
    })
}

enum Connections<B> {
    One(Arc<Idle<B>>),
    Two(Arc<Current>),
}

impl<B> Clone for Connections<B> {
    fn clone(&self) -> Self {
        match self {
            Self::One(idle) => Self::One(Arc::clone(idle)),
            Self::Two(current) => Self::Two(Arc::clone(current)),
        }
    }
}

/// A way to a server. Cheap to clone; clones share its connections. `C` opens them: a service of `()` that gives a
/// [`Wire`], such as [`Connector`].
pub struct Way<C, B>(Arc<Inner<C, B>>);

struct Inner<C, B> {
    connector: C,
    /// Authority of requests that have no host.
    to: Authority,
    config: WayConfig,
    connections: Connections<B>,
}

impl<C, B> Clone for Way<C, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C, B> fmt::Debug for Way<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way")
            .field("to", &self.0.to)
            .finish_non_exhaustive()
    }
}

impl<C, B: Send + Sync + 'static> Way<C, B> {
    /// A way without connections. `to` is the host of requests that have none.
    pub fn new(connector: C, to: Authority, config: WayConfig) -> Self {
        let connections = match config.protocol {
            Protocol::One => Connections::One(Idle::new(config)),
            Protocol::Two => Connections::Two(Current::new(config.resets.max(1))),
        };
        Self(Arc::new(Inner {
            connector,
            to,
            config,
            connections,
        }))
    }

    /// What became of its connections.
    pub fn counts(&self) -> ConnectionCounts {
        match &self.0.connections {
            Connections::One(idle) => idle.counts(),
            Connections::Two(current) => current.counts(),
        }
    }
}

impl<C, B, I> Service<Request<B>> for Way<C, B>
where
    C: Service<(), Response = I> + Clone + Send + Sync + 'static,
    C::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    C::Future: Send,
    I: Wire,
    B: Replay + Unpin + Send + Sync + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<WayBody<B>>;
    type Error = WayError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, WayError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), WayError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let way = Arc::clone(&self.0);
        if let Err(error) = way.address(&mut request) {
            return Box::pin(ready(Err(error)));
        }
        match &way.connections {
            Connections::One(idle) => {
                let idle = Arc::clone(idle);
                Box::pin(async move { way.over_one(&idle, request).await })
            }
            Connections::Two(current) => {
                let current = Arc::clone(current);
                Box::pin(async move { way.over_two(&current, request).await })
            }
        }
    }
}

impl<C, B, I> Inner<C, B>
where
    C: Service<(), Response = I> + Clone + Send + Sync + 'static,
    C::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    C::Future: Send,
    I: Wire,
    B: Replay + Unpin + Send + Sync + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Writes the address as the protocol requires: the host of the request, whichever replica gets it.
    fn address(&self, request: &mut Request<B>) -> Result<(), WayError> {
        let uri = std::mem::take(request.uri_mut()).into_parts();
        let headers = request.headers_mut();
        let path = uri.path_and_query;
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let mut said = http::uri::Parts::default();
        said.path_and_query = Some(path);
        let version = match self.config.protocol {
            Protocol::One => {
                if !headers.contains_key(header::HOST) {
                    let host = uri.authority.as_ref().unwrap_or(&self.to);
                    let host = HeaderValue::from_str(host.as_str());
                    headers.insert(header::HOST, host.map_err(|_| WayError::Address)?);
                }
                Version::HTTP_11
            }
            Protocol::Two => {
                let told = headers.remove(header::HOST);
                let told = || Authority::try_from(told?.as_bytes()).ok();
                let host = uri.authority.or_else(told);
                said.authority = Some(host.unwrap_or_else(|| self.to.clone()));
                let https = self.config.is_https;
                said.scheme = Some(if https { Scheme::HTTPS } else { Scheme::HTTP });
                Version::HTTP_2
            }
        };
        *request.version_mut() = version;
        *request.uri_mut() = Uri::from_parts(said).map_err(|_| WayError::Address)?;
        Ok(())
    }

    async fn over_one(
        &self,
        idle: &Arc<Idle<B>>,
        mut request: Request<B>,
    ) -> Result<Response<WayBody<B>>, WayError> {
        // A server may close a connection that waits in the moment in which it is used again.
        while let Some(borrowed) = idle.take().await {
            let again = match request.method().is_idempotent() {
                true => copy_of(&request),
                false => None,
            };
            match (send(borrowed, request).await, again) {
                (Ok(answer), _) => return Ok(answer),
                (Err(Failed::Unsent(unsent)), _) => request = *unsent,
                (Err(Failed::Sent(error)), Some(again)) if has_gone(&error) => {
                    request = again;
                    break;
                }
                (Err(Failed::Sent(error)), _) => return Err(WayError::http(error)),
            }
        }
        idle.opened.fetch_add(1, Ordering::Relaxed);
        let stream = open(self.connector.clone()).await?;
        let (stream, watch) = shared(stream);
        let (sender, connection) = http1::handshake(stream).await.map_err(refused)?;
        // The request gets the result of the connection.
        tokio::spawn(connection);
        match send(idle.lend(sender, watch), request).await {
            Ok(answer) => Ok(answer),
            Err(Failed::Sent(error)) => Err(WayError::http(error)),
            Err(Failed::Unsent(_)) => Err(ended()),
        }
    }

    async fn over_two(
        &self,
        current: &Arc<Current>,
        mut request: Request<B>,
    ) -> Result<Response<WayBody<B>>, WayError> {
        // As over HTTP/1.1: once more, where the connection ended with the request and it may be repeated (RFC 9110,
        // section 9.2.2). A server that counts resets ends it for all its requests.
        let mut may_repeat = request.method().is_idempotent();
        for _ in 0..MOST_TRIES {
            let connection = current.get(|| self.open_two(current)).await?;
            let (head, body) = request.into_parts();
            let again = body.replay();
            let (error, body) = match Exchange::begin(connection, head.clone(), body) {
                Ok(exchange) => match exchange.await {
                    Ok((answer, stream)) => {
                        return Ok(answer.map(|body| WayBody::two(body, stream)));
                    }
                    Err(error) => {
                        let repeats = error.is_io() && std::mem::take(&mut may_repeat);
                        let again = again.filter(|_| repeats || is_unprocessed(&error));
                        (error, again)
                    }
                },
                // The connection has ended in this moment.
                Err((error, body)) => {
                    let again = error.is_io() || error.is_go_away();
                    (error, again.then_some(body))
                }
            };
            current.on_error(&error);
            let Some(body) = body else {
                return Err(WayError::http(error));
            };
            request = Request::from_parts(head, body);
        }
        Err(ended())
    }

    fn open_two(
        &self,
        current: &Arc<Current>,
    ) -> impl Future<Output = Result<Connection, WayError>> + Send + 'static + use<C, B, I> {
        let (connector, config) = (self.connector.clone(), self.config);
        let noted = Arc::clone(current);
        async move {
            let stream = open(connector).await?;
            let on_error = move |error: &h2::Error| noted.on_error(error);
            let opened = Connection::open(stream, config, on_error).await;
            opened.map_err(refused)
        }
    }
}

/// Why a request was not answered.
enum Failed<B> {
    /// It was not sent; here it is again.
    Unsent(Box<Request<B>>),
    Sent(hyper::Error),
}

async fn send<B>(
    borrowed: Borrowed<B>,
    request: Request<B>,
) -> Result<Response<WayBody<B>>, Failed<B>>
where
    B: Body + Send + 'static,
{
    match borrowed.send(request).await {
        (Ok(answer), borrowed) => Ok(answer.map(|body| WayBody::one(body, borrowed))),
        (Err(failure), _) => Err(match taken(failure) {
            (Some(unsent), _) => Failed::Unsent(Box::new(unsent)),
            (None, error) => Failed::Sent(error),
        }),
    }
}

fn taken<B>(
    mut failure: hyper::client::conn::TrySendError<Request<B>>,
) -> (Option<Request<B>>, hyper::Error) {
    (failure.take_message(), failure.into_error())
}

/// Whether the server closed the connection before its answer began.
fn has_gone(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    error.is_incomplete_message()
        || cause.is_some_and(|cause: &io::Error| {
            matches!(
                cause.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
            )
        })
}

/// The same request again, where its body can be sent twice.
fn copy_of<B: Replay>(request: &Request<B>) -> Option<Request<B>> {
    let body = request.body().replay()?;
    let mut copy = Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

async fn open<C, I>(mut connector: C) -> Result<I, WayError>
where
    C: Service<(), Response = I>,
    C::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let opening = async {
        poll_fn(|cx| connector.poll_ready(cx)).await?;
        connector.call(()).await
    };
    opening
        .await
        .map_err(|error| WayError::Connect(Arc::from(error.into())))
}

fn refused(error: impl Error + Send + Sync + 'static) -> WayError {
    WayError::Connect(Arc::new(error))
}

/// Connections ended before the request could be sent on one of them.
fn ended() -> WayError {
    WayError::Connect(Arc::new(io::Error::from(io::ErrorKind::ConnectionAborted)))
}
