//! Hands requests on to one HTTP/1.1 service.

use crate::hop;
use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// In which the service has to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// A connection that waits longer for the next request is closed.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// See the module. Dropping an answer that is to come closes the connection to the service.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    client: Client<HttpConnector, Incoming>,
    to: Authority,
}

impl Pass {
    pub fn to(target: &str) -> Result<Self> {
        let to = target.parse().with_context(|| format!("--to {target}"))?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIME));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .build(connector);
        Ok(Self { client, to })
    }
}

/// What the service answers, or why it was not asked.
type Answered = Either<Incoming, Full<Bytes>>;

impl Service<Request<Incoming>> for Pass {
    type Response = Response<PassBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let (client, to) = (self.client.clone(), self.to.clone());
        Box::pin(async move {
            if let Err(why) = prepare(&mut request, to) {
                return Ok(own(StatusCode::BAD_REQUEST, why));
            }
            // Lets an idle connection find out that it was closed, or that bytes came which nobody asked for:
            // it is not used then.
            tokio::task::yield_now().await;
            Ok(match client.request(request).await {
                Ok(mut answer) => {
                    hop::drop_fields(answer.headers_mut());
                    answer.map(|body| PassBody(Either::Left(body)))
                }
                Err(error) if error.is_connect() => {
                    own(StatusCode::BAD_GATEWAY, "the service cannot be reached\n")
                }
                Err(_) => own(
                    StatusCode::BAD_GATEWAY,
                    "the service ended the connection before its answer\n",
                ),
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

/// Makes of a client's request one to the service: `Host` stays what the client said.
fn prepare(request: &mut Request<Incoming>, to: Authority) -> Result<(), &'static str> {
    if request.method() == http::Method::CONNECT {
        return Err("CONNECT is not handed on\n");
    }
    let uri = request.uri();
    if !request.headers().contains_key(header::HOST) {
        // HTTP/2 has it in the address.
        let told = uri
            .authority()
            .map(|authority| HeaderValue::from_str(authority.as_str()));
        if let Some(Ok(host)) = told {
            request.headers_mut().insert(header::HOST, host);
        }
    }
    let path = request.uri().path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(to);
    parts.path_and_query = Some(path);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| "the address cannot be handed on\n")?;
    *request.version_mut() = Version::HTTP_11;
    hop::drop_fields(request.headers_mut());
    Ok(())
}
