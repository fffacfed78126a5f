//! Log lines and counters of a request, from its head until the end of its answer.

use crate::rate_limit::RateLimit;
use crate::reason::Reason;
use crate::trace::{Ids, TraceConfig};
use bytes::Buf as _;
use http::{Method, Request, Response, StatusCode, Version, header};
use http_body::{Body, Frame, SizeHint};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tailcut_proxy::UNIX_CLIENT;
use tailcut_proxy::log::Log;
use tokio::time::Instant;

/// Longest text of a client or a server in a log line, in bytes. With longer texts a log would need more memory.
const LONGEST_TEXT: usize = 1_024;
/// Largest number of failed attempts that a request remembers.
const MOST_FAILURES: usize = 8;

/// Status of an answer, and the reason of a failure. A client that left before its answer has no status.
type Outcome = (Option<StatusCode>, Option<Reason>);

/// Lines of the error log for each reason: a burst, and then a number in each second.
/// Under overload there are many failures. A line for each would fill the disk, and take the time of other requests.
const BURST: f64 = 20.0;
const LINES_PER_SECOND: f64 = 10.0;

/// Limit of the lines for one reason.
#[derive(Debug)]
struct LineLimit {
    lines: RateLimit,
    left_out: u64,
}

/// Numbers of finished requests.
#[derive(Default, Debug)]
pub(crate) struct AnswerCounts {
    counts: Mutex<BTreeMap<Outcome, u64>>,
    lines: Mutex<BTreeMap<Reason, LineLimit>>,
}

impl AnswerCounts {
    fn note(&self, status: Option<StatusCode>, reason: Option<Reason>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((status, reason)).or_default() += 1;
    }

    /// Returns whether a failure gets a line in the error log, with the number of failures before it that got none.
    fn may_write(&self, reason: Reason) -> Option<u64> {
        let now = Instant::now();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = lines.entry(reason).or_insert_with(|| LineLimit {
            lines: RateLimit::new(now, BURST),
            left_out: 0,
        });
        match limit.lines.take(now, LINES_PER_SECOND, BURST) {
            true => Some(std::mem::take(&mut limit.left_out)),
            false => {
                limit.left_out += 1;
                None
            }
        }
    }

    /// Returns each status and reason as labels of metrics, with the number of requests.
    pub fn labels(&self) -> Vec<([(&'static str, String); 2], u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = counts.iter().map(|((status, reason), count)| {
            let status = status.as_ref().map_or("none", StatusCode::as_str);
            let reason = reason.map_or("none", Reason::name);
            let labels = [("status", status.to_owned()), ("reason", reason.to_owned())];
            (labels, *count)
        });
        samples.collect()
    }
}

/// Attempt that failed.
struct Failure {
    server: Arc<str>,
    reason: Reason,
    error: String,
}

#[derive(Default)]
struct State {
    began: Option<Instant>,
    sent: u32,
    failures: Vec<Failure>,
}

/// Attempts to get an answer to one request. Each copy of the request has this value as an extension.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<State>);

impl Attempts {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the request is sent to a server. Returns the number of earlier attempts.
    pub fn begin(&self) -> u32 {
        let mut state = self.lock();
        let earlier = state.sent;
        state.sent = state.sent.saturating_add(1);
        state.began.get_or_insert_with(Instant::now);
        earlier
    }

    /// Records that a server has not answered.
    pub fn fail(&self, server: &Arc<str>, reason: Reason, error: &dyn std::error::Error) {
        let mut state = self.lock();
        if state.failures.len() < MOST_FAILURES {
            state.failures.push(Failure {
                server: Arc::clone(server),
                reason,
                error: shown(&error.to_string()).to_owned(),
            });
        }
    }
}

/// Server that has sent an answer: an extension of the answer.
#[derive(Clone)]
pub(crate) struct Server(pub Arc<str>);

/// Mark of an answer that this program itself has given: an extension of the answer. It contains the reason, if the
/// status and the attempts do not show it.
#[derive(Clone, Copy)]
pub(crate) struct OwnAnswer(pub Option<Reason>);

/// Parts that all records of a route share.
#[derive(Clone, Default, Debug)]
pub(crate) struct RouteLog {
    pub route: Arc<str>,
    pub log: Log,
    pub counts: Arc<AnswerCounts>,
    pub trace: TraceConfig,
}

/// Record of a request. It is written when it is dropped.
pub(crate) struct Record {
    at: RouteLog,
    client: SocketAddr,
    method: Method,
    /// Copies of the texts. The texts of the request are slices of a buffer that also contains bodies.
    /// A record can live for as long as its client takes, so it must not keep such a buffer.
    host: Option<Box<str>>,
    path: Box<str>,
    version: Version,
    ids: Ids,
    began: Instant,
    attempts: Arc<Attempts>,
    /// Status of the answer, and the time until it began.
    answer: Option<(StatusCode, Duration)>,
    server: Option<Arc<str>>,
    reason: Option<Reason>,
    bytes: u64,
}

/// Returns the beginning of a text that may be long.
fn shown(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// Returns milliseconds. A finer unit than microseconds would only make lines longer.
fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

fn client(address: SocketAddr) -> String {
    match address == UNIX_CLIENT {
        true => "unix".to_owned(),
        false => address.to_string(),
    }
}

/// Returns the host of a request: the host of the target, or the field.
fn host<B>(request: &Request<B>) -> Option<Box<str>> {
    if let Some(authority) = request.uri().authority() {
        return Some(shown(authority.as_str()).into());
    }
    let field = request.headers().get(header::HOST)?;
    Some(shown(&String::from_utf8_lossy(field.as_bytes())).into())
}

macro_rules! write_line {
    ($level:ident, $record:expr, $state:expr $(, $left_out:ident, $message:literal)?) => {{
        let record: &Record = $record;
        let failures: Vec<String> = $state.failures.iter()
            .map(|failure| format!("{} {}", failure.server, failure.reason.name()))
            .collect();
        let failures = (!failures.is_empty()).then(|| failures.join(", "));
        let waited = $state.began.map(|began| milliseconds(began.saturating_duration_since(record.began)));
        tracing::$level!(
            route = &*record.at.route,
            client = client(record.client),
            method = shown(record.method.as_str()),
            host = record.host.as_deref(),
            path = &*record.path,
            version = ?record.version,
            status = record.answer.map(|(status, _)| status.as_u16()),
            reason = record.reason.map(Reason::name),
            error = $state.failures.last().map(|failure| failure.error.as_str()),
            replica = record.server.as_deref(),
            copies = $state.sent.saturating_sub(1),
            failures,
            waited_ms = waited,
            began_ms = record.answer.map(|(_, began)| milliseconds(began)),
            total_ms = milliseconds(record.began.elapsed()),
            bytes = record.bytes,
            request_id = record.ids.request.as_ref().and_then(|id| id.to_str().ok()),
            traceparent = record.ids.trace.as_ref().and_then(|id| id.to_str().ok()),
            $(left_out = $left_out, $message)?
        );
    }};
}

impl Record {
    /// Begins the record of a request, and gives the request its identifiers.
    ///
    /// The record has its own allocation, because the futures of requests are moved and contain it several times.
    pub fn begin<B>(at: RouteLog, client: SocketAddr, request: &mut Request<B>) -> Box<Self> {
        let ids = Ids::of(request.headers_mut(), at.trace);
        let attempts = Arc::<Attempts>::default();
        request.extensions_mut().insert(Arc::clone(&attempts));
        Box::new(Self {
            at,
            client,
            method: request.method().clone(),
            host: host(request),
            path: shown(
                request
                    .uri()
                    .path_and_query()
                    .map_or("", |path| path.as_str()),
            )
            .into(),
            version: request.version(),
            ids,
            began: Instant::now(),
            attempts,
            answer: None,
            server: None,
            reason: None,
            bytes: 0,
        })
    }

    /// Records the beginning of the answer.
    pub fn answered<B: Body>(
        mut self: Box<Self>,
        mut answer: Response<B>,
    ) -> Response<RecordedBody<B>>
    where
        for<'e> Reason: From<&'e B::Error>,
    {
        let status = answer.status();
        self.answer = Some((status, self.began.elapsed()));
        self.server = answer.extensions_mut().remove().map(|Server(name)| name);
        self.reason = answer
            .extensions_mut()
            .remove()
            .map(|OwnAnswer(reason)| reason.unwrap_or_else(|| self.why(status)));
        let has_body = self.method != Method::HEAD;
        answer.map(|body| RecordedBody {
            is_over: !has_body,
            left: body.size_hint().exact(),
            body,
            record: self,
        })
    }

    /// Returns the reason of an own answer with this status.
    fn why(&self, status: StatusCode) -> Reason {
        let is_of_server =
            status == StatusCode::BAD_GATEWAY || status == StatusCode::GATEWAY_TIMEOUT;
        let state = self.attempts.lock();
        let last = state.failures.last().filter(|_| is_of_server);
        last.map_or_else(|| Reason::of_status(status), |failure| failure.reason)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.answer.is_none() {
            self.reason = Some(Reason::ClientGone);
        }
        let status = self.answer.map(|(status, _)| status);
        self.at.counts.note(status, self.reason);
        let record = &*self;
        record.at.log.access(|| {
            let state = record.attempts.lock();
            write_line!(info, record, state);
        });
        let Some(reason) = record.reason else {
            return;
        };
        let Some(left_out) = record.at.counts.may_write(reason) else {
            return;
        };
        let left_out = Some(left_out).filter(|count| *count > 0);
        record.at.log.errors(|| {
            let state = record.attempts.lock();
            match reason.is_of_client() {
                // A guard loses many clients, because clients that send copies leave when another server has answered.
                true => write_line!(
                    debug,
                    record,
                    state,
                    left_out,
                    "the client did not get an answer"
                ),
                false => write_line!(warn, record, state, left_out, "a request has failed"),
            }
        });
    }
}

/// Body of an answer with its record.
pub(crate) struct RecordedBody<B: Body> {
    body: B,
    is_over: bool,
    /// Number of bytes that have not been read yet, if the length of the body is known.
    left: Option<u64>,
    record: Box<Record>,
}

impl<B: Body> Drop for RecordedBody<B> {
    fn drop(&mut self) {
        // A server does not poll a body again that has reported its end, or that has its announced length.
        let is_over = self.is_over || self.body.is_end_stream() || self.left == Some(0);
        if !is_over {
            self.record.reason.get_or_insert(Reason::ClientGone);
        }
    }
}

impl<B: Body + Unpin> Body for RecordedBody<B>
where
    for<'e> Reason: From<&'e B::Error>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.is_over = true,
            Some(Err(error)) => {
                self.is_over = true;
                self.record.reason = Some(error.into());
            }
            Some(Ok(frame)) => {
                let size = frame.data_ref().map_or(0, |data| data.remaining() as u64);
                self.record.bytes = self.record.bytes.saturating_add(size);
                self.left = self.left.map(|left| left.saturating_sub(size));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
