//! Connections to one server.
//! A connection is opened when a request needs it, kept for later requests, and opened again when it ends.
//! A [`crate::client::Client`] reaches its replicas through these connections.
//!
//! - HTTP/1.1: one connection for each request in flight.
//!   A purge closes the connection, unless the answer is small and arrives within [`ConnectionConfig::linger`].
//!   If unrequested bytes arrived on a connection, it is not used again.
//! - HTTP/2 with prior knowledge: one connection. A purge resets the stream.
//!   Servers limit the resets on each connection (CVE-2023-44487).
//!   So a connection is replaced after [`ConnectionConfig::resets`] resets.
//!   Its requests finish on it, and new requests use the next connection. A connection is also replaced after a GOAWAY.
//!   Requests that the server reports as not processed are sent again.

mod body;
mod config;
mod connector;
mod error;
mod http1;
mod http2;
mod http2_request;
mod wire;

pub use body::ConnectionBody;
pub use config::{ConnectionConfig, Protocol};
pub use connector::Connector;
pub use error::ConnectionError;
pub use http2::ConnectionCounts;
pub use wire::Wire;
#[cfg(feature = "gateway")]
pub(crate) use wire::is_readable;

use crate::client::{Purges, Replay, Replica};
use crate::socket::{Dscp, SocketOptions};
use error::is_unprocessed;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, Response, Uri, Version, header};
use http_body::Body;
use http1::{IdleConnections, LeasedConnection};
use http2::{Connection, CurrentConnection};
use http2_request::Http2Request;
use hyper::client::conn;
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
use wire::shared;

/// Largest number of attempts for one request.
/// Without a limit, a server that refuses each stream would keep the request forever.
const MOST_TRIES: usize = 4;

/// Default time until an address has accepted a connection.
/// The time is longer than the first two retransmission timeouts of a SYN (1 s and 2 s, RFC 6298).
/// So the loss of two SYNs does not end an attempt.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Returns a replica over TCP with separate connections for primaries and for copies, each with its own DSCP.
///
/// # Errors
/// `to` has no port.
pub fn replica<B: Body + Send + Sync + 'static>(
    to: &Authority,
    config: ConnectionConfig,
    copies: Option<Dscp>,
    purges: Purges,
) -> Result<Replica<Connections<Connector, B>>, &'static str> {
    let connections = |dscp| {
        let options = SocketOptions {
            dscp,
            ..SocketOptions::default()
        };
        let connector = Connector::new(to.clone(), options, CONNECT_TIME)?;
        Ok::<_, &'static str>(Connections::new(connector, to.clone(), config))
    };
    Ok(Replica {
        primary: connections(None)?,
        copy: connections(copies)?,
        purges,
    })
}

/// Connections of one HTTP version.
enum ProtocolPool<B> {
    Http1(Arc<IdleConnections<B>>),
    Http2(Arc<CurrentConnection>),
}

impl<B> Clone for ProtocolPool<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Http1(idle) => Self::Http1(Arc::clone(idle)),
            Self::Http2(current) => Self::Http2(Arc::clone(current)),
        }
    }
}

/// Connections to a server. Clones are cheap and share the connections.
/// The connector `C` opens a connection: it is a service of `()` that returns a [`Wire`], such as [`Connector`].
pub struct Connections<C, B>(Arc<Inner<C, B>>);

struct Inner<C, B> {
    connector: C,
    /// Host and port for requests that contain no host.
    to: Authority,
    config: ConnectionConfig,
    pool: ProtocolPool<B>,
}

impl<C, B> Clone for Connections<C, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C, B> fmt::Debug for Connections<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("to", &self.0.to)
            .finish_non_exhaustive()
    }
}

impl<C, B: Send + Sync + 'static> Connections<C, B> {
    /// Creates a handle without connections. `to` is the host of requests that contain no host.
    pub fn new(connector: C, to: Authority, config: ConnectionConfig) -> Self {
        let pool = match config.protocol {
            Protocol::One => ProtocolPool::Http1(IdleConnections::new(config)),
            // With a limit of 0 resets, no connection could be used.
            Protocol::Two => ProtocolPool::Http2(CurrentConnection::new(config.resets.max(1))),
        };
        Self(Arc::new(Inner {
            connector,
            to,
            config,
            pool,
        }))
    }

    /// Returns the counters of the connections.
    pub fn counts(&self) -> ConnectionCounts {
        match &self.0.pool {
            ProtocolPool::Http1(idle) => idle.counts(),
            ProtocolPool::Http2(current) => current.counts(),
        }
    }
}

impl<C, B, I> Service<Request<B>> for Connections<C, B>
where
    C: Service<(), Response = I> + Clone + Send + Sync + 'static,
    C::Error: Into<Box<dyn Error + Send + Sync>> + Send,
    C::Future: Send,
    I: Wire,
    B: Replay + Unpin + Send + Sync + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ConnectionBody<B>>;
    type Error = ConnectionError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectionError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        if let Err(error) = inner.address(&mut request) {
            return Box::pin(ready(Err(error)));
        }
        match &inner.pool {
            ProtocolPool::Http1(idle) => {
                let idle = Arc::clone(idle);
                Box::pin(async move { inner.over_http1(&idle, request).await })
            }
            ProtocolPool::Http2(current) => {
                let current = Arc::clone(current);
                Box::pin(async move { inner.over_http2(&current, request).await })
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
    /// Writes the address in the form that the protocol requires.
    /// The host of the request stays the same for all replicas.
    fn address(&self, request: &mut Request<B>) -> Result<(), ConnectionError> {
        let uri = std::mem::take(request.uri_mut()).into_parts();
        let headers = request.headers_mut();
        let path = uri.path_and_query;
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        let mut parts = http::uri::Parts::default();
        parts.path_and_query = Some(path);
        let version = match self.config.protocol {
            Protocol::One => {
                // A `Host` field that the caller has set is kept, so that signatures over the field stay valid.
                if !headers.contains_key(header::HOST) {
                    let host = uri.authority.as_ref().unwrap_or(&self.to);
                    let host = HeaderValue::from_str(host.as_str());
                    headers.insert(header::HOST, host.map_err(|_| ConnectionError::Address)?);
                }
                join_cookies(headers)?;
                Version::HTTP_11
            }
            Protocol::Two => {
                // HTTP/2 has the pseudo-header field `:authority` in place of `Host` (RFC 9113, section 8.3.1).
                let host_field = headers.remove(header::HOST);
                let host_field = || Authority::try_from(host_field?.as_bytes()).ok();
                let host = uri.authority.or_else(host_field);
                parts.authority = Some(host.unwrap_or_else(|| self.to.clone()));
                let https = self.config.is_https;
                parts.scheme = Some(if https { Scheme::HTTPS } else { Scheme::HTTP });
                Version::HTTP_2
            }
        };
        *request.version_mut() = version;
        *request.uri_mut() = Uri::from_parts(parts).map_err(|_| ConnectionError::Address)?;
        Ok(())
    }

    async fn over_http1(
        &self,
        idle: &Arc<IdleConnections<B>>,
        mut request: Request<B>,
    ) -> Result<Response<ConnectionBody<B>>, ConnectionError> {
        // The server may close an idle connection at the moment when it is used again.
        while let Some(leased) = idle.take().await {
            let again = match request.method().is_idempotent() {
                true => copy_of(&request),
                false => None,
            };
            match (send(leased, request).await, again) {
                (Ok(answer), _) => return Ok(answer),
                (Err(Failed::Unsent(unsent)), _) => request = *unsent,
                (Err(Failed::Sent(error)), Some(again)) if has_gone(&error) => {
                    // The request is repeated only once, and on a new connection.
                    // The server may have closed all idle connections.
                    request = again;
                    break;
                }
                (Err(Failed::Sent(error)), _) => return Err(ConnectionError::http(error)),
            }
        }
        idle.opened.fetch_add(1, Ordering::Relaxed);
        let stream = open(self.connector.clone()).await?;
        let (stream, watch) = shared(stream);
        let (sender, connection) = conn::http1::handshake(stream).await.map_err(refused)?;
        // This task drives the connection. The request receives the connection's result.
        tokio::spawn(connection);
        match send(idle.lease(sender, watch), request).await {
            Ok(answer) => Ok(answer),
            Err(Failed::Sent(error)) => Err(ConnectionError::http(error)),
            Err(Failed::Unsent(_)) => Err(ended()),
        }
    }

    async fn over_http2(
        &self,
        current: &Arc<CurrentConnection>,
        mut request: Request<B>,
    ) -> Result<Response<ConnectionBody<B>>, ConnectionError> {
        // As with HTTP/1.1, an idempotent request is repeated once if its connection ended (RFC 9110, section 9.2.2).
        // The cause may be another request: a server that counts resets ends the connection for all its requests.
        let mut may_repeat = request.method().is_idempotent();
        for _ in 0..MOST_TRIES {
            let connection = current.get(|| self.open_http2(current)).await?;
            let (head, body) = request.into_parts();
            // The attempt consumes the body, so a copy is made before the attempt.
            let again = body.replay();
            let (error, body) = match Http2Request::begin(connection, head.clone(), body) {
                Ok(pending) => match pending.await {
                    Ok((answer, stream)) => {
                        return Ok(answer.map(|body| ConnectionBody::http2(body, stream)));
                    }
                    Err(error) => {
                        let repeats = error.is_io() && std::mem::take(&mut may_repeat);
                        let again = again.filter(|_| repeats || is_unprocessed(&error));
                        (error, again)
                    }
                },
                // The connection has just ended.
                Err((error, body)) => {
                    // The request was not sent, so any method may be repeated.
                    let again = error.is_io() || error.is_go_away();
                    (error, again.then_some(body))
                }
            };
            current.on_error(&error);
            let Some(body) = body else {
                return Err(ConnectionError::http(error));
            };
            request = Request::from_parts(head, body);
        }
        Err(ended())
    }

    fn open_http2(
        &self,
        current: &Arc<CurrentConnection>,
    ) -> impl Future<Output = Result<Connection, ConnectionError>> + Send + 'static + use<C, B, I>
    {
        let (connector, config) = (self.connector.clone(), self.config);
        let counted = Arc::clone(current);
        async move {
            let stream = open(connector).await?;
            let on_error = move |error: &h2::Error| counted.on_error(error);
            let opened = Connection::open(stream, config, on_error).await;
            opened.map_err(refused)
        }
    }
}

/// Joins the fields `Cookie`.
/// HTTP/2 clients may split the field, but HTTP/1.1 allows only one (RFC 9113, section 8.2.3).
fn join_cookies(headers: &mut HeaderMap) -> Result<(), ConnectionError> {
    let mut cookies = headers.get_all(header::COOKIE).iter();
    if cookies.nth(1).is_some() {
        let cookies = headers.get_all(header::COOKIE).iter();
        let joined = cookies.map(HeaderValue::as_bytes).collect::<Vec<_>>();
        let joined = HeaderValue::from_bytes(&joined.join(&b"; "[..]));
        headers.insert(
            header::COOKIE,
            joined.map_err(|_| ConnectionError::Address)?,
        );
    }
    Ok(())
}

/// Reason why a request has no answer.
enum Failed<B> {
    /// The request was not sent, and is returned.
    Unsent(Box<Request<B>>),
    Sent(hyper::Error),
}

async fn send<B>(
    leased: LeasedConnection<B>,
    request: Request<B>,
) -> Result<Response<ConnectionBody<B>>, Failed<B>>
where
    B: Body + Send + 'static,
{
    match leased.send(request).await {
        (Ok(mut answer), leased) => {
            // The coding overrides the length (RFC 9112, section 6.3). The next hop would cut the body at this length.
            if answer.headers().contains_key(header::TRANSFER_ENCODING) {
                answer.headers_mut().remove(header::CONTENT_LENGTH);
            }
            Ok(answer.map(|body| ConnectionBody::http1(body, leased)))
        }
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

/// Returns whether the server closed the connection before its answer began.
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

/// Returns a copy of the request, if its body can be sent twice.
fn copy_of<B: Replay>(request: &Request<B>) -> Option<Request<B>> {
    let body = request.body().replay()?;
    let mut copy = Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

async fn open<C, I>(mut connector: C) -> Result<I, ConnectionError>
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
        .map_err(|error| ConnectionError::Connect(Arc::from(error.into())))
}

fn refused(error: impl Error + Send + Sync + 'static) -> ConnectionError {
    ConnectionError::Connect(Arc::new(error))
}

/// Returns the error for a request whose connections all ended before it could be sent.
fn ended() -> ConnectionError {
    ConnectionError::Connect(Arc::new(io::Error::from(io::ErrorKind::ConnectionAborted)))
}
