//! Forwarding of requests to one HTTP/1.1 service.

use crate::connection_fields;
use crate::connections::{
    ConnectionBody, ConnectionConfig, ConnectionError, Connections, Connector, Protocol,
};
use crate::reason::Reason;
use crate::request_head::Refusal;
use crate::request_log::{Attempts, OwnAnswer, Server};
use crate::socket::SocketOptions;
use crate::stall_timer::StallTimer;
use crate::upload::{RequestBody, begins_within};
use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::uri::Authority;
use http::{Request, Response, StatusCode};
use http_body_util::{Either, Full};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tailcut_proxy::Address;
use tower_service::Service;

/// Longest time until the service has accepted a connection.
/// The time is longer than the first three retransmission timeouts of a SYN (1 s, 2 s and 4 s, RFC 6298).
/// So the loss of three SYNs does not end an attempt.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time after which an idle connection to the service is closed.
/// With a longer time, the service would more often close a connection at the moment when the guard uses it again.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Largest number of idle connections. A guard may have many workers, and each of them uses one connection.
const IDLE: usize = 1_024;

/// Connections to the service. Dropping the future of an answer closes the answer's connection.
#[derive(Clone, Debug)]
pub(super) struct Forwarder {
    /// Address of the service in logs.
    name: Arc<str>,
    connections: Connections<Connector, RequestBody>,
    /// Longest time until an answer begins, and until each further part of it.
    time: Duration,
}

impl Forwarder {
    pub fn to(target: &Address, time: Duration) -> Result<Self> {
        let name = || format!("to {target}");
        // The service gets this host if a request has none. A path is not a host.
        let host = target.tcp().map(ToString::to_string);
        let host = host.unwrap_or_else(|| "localhost".to_owned());
        let to: Authority = host.parse().with_context(name)?;
        let connector = match target {
            Address::Tcp(_) => Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME),
            Address::Unix(path) => Ok(Connector::unix(path, CONNECT_TIME)),
        };
        let connector = connector.map_err(|why| anyhow!("to {target}: {why}"))?;
        let config = ConnectionConfig {
            protocol: Protocol::One,
            idle: IDLE,
            idle_time: IDLE_TIME,
            // The service stops when its connection is closed, so a purge closes the connection immediately.
            linger: Duration::ZERO,
            ..ConnectionConfig::default()
        };
        Ok(Self {
            name: target.to_string().into(),
            connections: Connections::new(connector, to, config),
            time,
        })
    }

    /// Returns a forwarder with another time limit, and the same connections.
    pub fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }
}

/// Answer of the service, or the text of a refusal.
type Answered = Either<(ConnectionBody<RequestBody>, StallTimer), Full<Bytes>>;

impl Service<Request<RequestBody>> for Forwarder {
    type Response = Response<ForwardedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let progress = request.body().progress();
        let attempts = request.extensions().get::<Arc<Attempts>>().cloned();
        let answering = self.connections.call(request);
        let (time, name) = (self.time, Arc::clone(&self.name));
        Box::pin(async move {
            if let Some(attempts) = &attempts {
                attempts.begin();
            }
            let answer = begins_within(answering, progress.as_deref(), time).await;
            Ok(match answer {
                None => own(
                    Refusal(
                        StatusCode::GATEWAY_TIMEOUT,
                        "the service did not begin its answer\n",
                    ),
                    Reason::AnswerTimeout,
                ),
                Some(Ok(mut answer)) => {
                    connection_fields::remove(answer.headers_mut());
                    answer.extensions_mut().insert(Server(name));
                    answer.map(|body| ForwardedBody(Either::Left((body, StallTimer::after(time)))))
                }
                Some(Err(error)) => {
                    // A body that did not arrive is the fault of the client.
                    let fault = progress.and_then(|progress| progress.fault());
                    if let Some(fault) = fault {
                        return Ok(own(fault.into(), fault.into()));
                    }
                    let reason = Reason::from(&error);
                    if let Some(attempts) = &attempts {
                        attempts.fail(&name, reason, &error);
                    }
                    own(of_error(&error), reason)
                }
            })
        })
    }
}

/// Returns the guard's answer to a request that the service has not answered.
fn of_error(error: &ConnectionError) -> Refusal {
    match error {
        error if error.is_timeout() => Refusal(
            StatusCode::GATEWAY_TIMEOUT,
            "the service accepted no connection in time\n",
        ),
        ConnectionError::Connect(_) => {
            Refusal(StatusCode::BAD_GATEWAY, "the service cannot be reached\n")
        }
        ConnectionError::Http(_) => Refusal(
            StatusCode::BAD_GATEWAY,
            "the service ended the connection before its answer\n",
        ),
        ConnectionError::Address => {
            Refusal(StatusCode::BAD_REQUEST, "the address cannot be forwarded\n")
        }
    }
}

/// Body of an answer.
pub(super) struct ForwardedBody(Answered);

impl http_body::Body for ForwardedBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match &mut self.0 {
            Either::Left((body, stall)) => match Pin::new(body).poll_frame(cx) {
                Poll::Ready(frame) => {
                    stall.moved();
                    let mut frame = frame.map(|frame| frame.map_err(Into::into));
                    if let Some(Ok(frame)) = &mut frame {
                        connection_fields::remove_from_trailers(frame);
                    }
                    Poll::Ready(frame)
                }
                Poll::Pending => {
                    ready!(stall.poll(cx));
                    let stalled = "no further bytes of the service's answer arrived";
                    Poll::Ready(Some(Err(stalled.into())))
                }
            },
            Either::Right(body) => Pin::new(body)
                .poll_frame(cx)
                .map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Either::Left((body, _)) => body.is_end_stream(),
            Either::Right(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            Either::Left((body, _)) => body.size_hint(),
            Either::Right(body) => body.size_hint(),
        }
    }
}

fn own(Refusal(status, text): Refusal, reason: Reason) -> Response<ForwardedBody> {
    let body = Full::new(Bytes::from_static(text.as_bytes()));
    let mut response = Response::new(ForwardedBody(Either::Right(body)));
    *response.status_mut() = status;
    response.extensions_mut().insert(OwnAnswer(Some(reason)));
    response
}
