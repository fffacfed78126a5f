//! Hands requests on to one HTTP/1.1 service.

use crate::client::Once;
use crate::hop;
use crate::socket::SocketOptions;
use crate::ways::{Connector, Protocol, Way, WayBody, WayConfig, WayError};
use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tailcut_proxy::Endpoint;
use tower_service::Service;

/// In which the service has to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// A connection that waits longer for the next request is closed.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Connections that wait for a request, at most.
const IDLE: usize = 1_024;

/// See the module. Dropping an answer that is to come closes the connection to the service.
#[derive(Clone, Debug)]
pub(super) struct Pass(Way<Connector, Once<Incoming>>);

impl Pass {
    pub fn to(target: &Endpoint) -> Result<Self> {
        let name = || format!("to {target}");
        let to: Authority = target.to_string().parse().with_context(name)?;
        let connector = Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME);
        let connector = connector.map_err(|why| anyhow!("to {target}: {why}"))?;
        let config = WayConfig {
            protocol: Protocol::One,
            idle: IDLE,
            idle_time: IDLE_TIME,
            // The service stops at once.
            linger: Duration::ZERO,
            ..WayConfig::default()
        };
        Ok(Self(Way::new(connector, to, config)))
    }
}

/// What the service answers, or why it was not asked.
type Answered = Either<WayBody<Once<Incoming>>, Full<Bytes>>;

impl Service<Request<Incoming>> for Pass {
    type Response = Response<PassBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        if request.method() == Method::CONNECT {
            let answer = own(StatusCode::BAD_REQUEST, "CONNECT is not handed on\n");
            return Box::pin(std::future::ready(Ok(answer)));
        }
        hop::drop_fields(request.headers_mut());
        let answering = self.0.call(request.map(Once));
        Box::pin(async move {
            Ok(match answering.await {
                Ok(mut answer) => {
                    hop::drop_fields(answer.headers_mut());
                    answer.map(|body| PassBody(Either::Left(body)))
                }
                Err(WayError::Connect(_)) => {
                    own(StatusCode::BAD_GATEWAY, "the service cannot be reached\n")
                }
                Err(WayError::Http(_)) => own(
                    StatusCode::BAD_GATEWAY,
                    "the service ended the connection before its answer\n",
                ),
                Err(WayError::Address) => {
                    own(StatusCode::BAD_REQUEST, "the address cannot be handed on\n")
                }
            })
        })
    }
}

/// A body that comes from the service.
pub(super) struct PassBody(Answered);

impl http_body::Body for PassBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match &mut self.0 {
            Either::Left(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Either::Right(body) => Pin::new(body)
                .poll_frame(cx)
                .map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Either::Left(body) => body.is_end_stream(),
            Either::Right(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            Either::Left(body) => body.size_hint(),
            Either::Right(body) => body.size_hint(),
        }
    }
}

fn own(status: StatusCode, text: &'static str) -> Response<PassBody> {
    let body = Full::new(Bytes::from_static(text.as_bytes()));
    let mut response = Response::new(PassBody(Either::Right(body)));
    *response.status_mut() = status;
    response
}
