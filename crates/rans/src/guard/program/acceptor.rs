//! Guard process that accepts requests. At run time, a new configuration is applied completely, or not at all.

use super::answer::{ProgramBody, refused};
use super::config::ProgramConfig;
use super::forward::Forwarder;
use super::metrics::metrics;
use crate::guard::{self, ClientId, GuardLayer, OnCancel};
use crate::reason::Reason;
use crate::request_head::{self, Refusal};
use crate::request_log::{AnswerCounts, OwnAnswer, Record, RecordedBody, RouteLog};
use crate::socket::{ClassMarks, ConnectionMark, MarkedStream, SocketOptions};
use crate::upload::{RequestBody, UploadLimits};
use anyhow::Result;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tailcut_proxy::admin::{Admin, Pages};
use tailcut_proxy::http::{
    Accept, ClientBody, HttpService, ListenerSpec, Listeners, RequestSlots, client_prefix,
};
use tailcut_proxy::log::{Log, OpenLogs};
use tailcut_proxy::tls::{self, ServerConfig, ServerTls, Stream};
use tailcut_proxy::{Address, Running};
use tokio::net::TcpStream;
use tower_layer::Layer;
use tower_service::Service;

/// Name of the only route of a guard.
const ROUTE: &str = "guard";
/// Largest number of requests whose bodies are arriving.
/// Each needs 64 KiB by default (`buffer`), so all together need 64 MiB at most.
/// With a smaller number, slow clients would use up all places earlier.
const MOST_BODIES: usize = 1_024;

/// Guarded service behind a listener, and the TLS configuration of the listener.
#[derive(Clone)]
struct ServiceTarget {
    guard: GuardLayer,
    to: Address,
    forwarder: Forwarder,
    marks: ClassMarks,
    upload: UploadLimits,
    /// Places for requests whose body arrives.
    bodies: RequestSlots,
    /// Whether each connection begins with a header of the PROXY protocol.
    proxy_protocol: bool,
    log: RouteLog,
    tls: Option<Arc<ServerConfig>>,
}

impl ServiceTarget {
    fn open(config: &ProgramConfig, status: &GuardStatus, before: Option<Self>) -> Result<Self> {
        let tls = config.tls.as_ref().map(|tls| tls.config(&tls::HTTP));
        let time = match config.guard.on_cancel {
            OnCancel::Kill => config.answer_timeout,
            // The service does not stop when its connection is closed, so its worker stays taken.
            OnCancel::HoldSlot => config.answer_timeout.max(config.guard.hold),
        };
        // If the address of the service is unchanged, its open connections are kept.
        let forwarder = match before {
            Some(before) if before.to == config.to => before.forwarder.within(time),
            _ => Forwarder::to(&config.to, time)?,
        };
        Ok(Self {
            guard: status.guard.clone(),
            to: config.to.clone(),
            forwarder,
            marks: config.dscp,
            upload: UploadLimits {
                most: u64::MAX,
                stored: config.buffer,
                stall: config.limits.stall_time,
            },
            bodies: RequestSlots::new(MOST_BODIES),
            proxy_protocol: config.proxy_protocol,
            log: RouteLog {
                route: ROUTE.into(),
                log: status.log.clone(),
                counts: Arc::clone(&status.finished),
                trace: config.trace,
            },
            tls: tls.transpose()?,
        })
    }
}

impl ServiceTarget {
    async fn forward(
        self,
        client: SocketAddr,
        request: Request<ClientBody>,
    ) -> Result<Response<ProgramBody>, Refusal> {
        let (mut parts, body) = request.into_parts();
        request_head::prepare(&mut parts)?;
        // A slow client must not occupy a worker, so the request takes one only after its body has arrived.
        let body = match body.is_end_stream() {
            true => RequestBody::empty(),
            false => {
                let refusal = Refusal(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "too many bodies of requests arrive\n",
                );
                let slot = self.bodies.take(client.ip()).ok_or(refusal)?;
                let buffering = slot.answer(RequestBody::buffered(body, self.upload, true));
                buffering.await.ok_or(refusal)??
            }
        };
        parts
            .extensions
            .insert(ClientId(client_prefix(client.ip())));
        if let Some(progress) = body.progress() {
            parts.extensions.insert(progress.wait());
        }
        let request = Request::from_parts(parts, body);
        let answering = self.guard.layer(self.forwarder).call(request);
        match answering.await {
            Ok(answer) => Ok(answer.map(ProgramBody::Guarded)),
            Err(never) => match never {},
        }
    }
}

impl Accept for ServiceTarget {
    type Stream = Stream<MarkedStream>;
    type ConnectionInfo = ConnectionMark;

    fn expects_proxy_header(&self) -> bool {
        self.proxy_protocol
    }

    async fn accept(&self, stream: TcpStream) -> io::Result<(Self::Stream, ConnectionMark)> {
        SocketOptions::default().set(&stream);
        let (stream, mark) = MarkedStream::new(stream, self.marks);
        let (stream, _) = tls::accept(self.tls.clone(), stream).await?;
        Ok((stream, mark))
    }
}

impl HttpService for ServiceTarget {
    type Body = RecordedBody<ProgramBody>;
    type Error = Infallible;

    fn answer(
        self,
        client: SocketAddr,
        mark: ConnectionMark,
        mut request: Request<ClientBody>,
    ) -> impl Future<Output = Result<Response<Self::Body>, Infallible>> + Send + 'static {
        mark.on_request(&request);
        // The record begins before the future is polled. A client may leave earlier.
        let record = Record::begin(self.log.clone(), client, &mut request);
        async move {
            let answer = self.forward(client, request).await;
            let mut answer = answer.unwrap_or_else(refused);
            if let Some(refusal) = answer.extensions().get::<guard::Refusal>() {
                let reason = Reason::from(*refusal);
                answer.extensions_mut().insert(OwnAnswer(Some(reason)));
            }
            Ok(record.answered(answer))
        }
    }
}

/// Pages of health and metrics.
struct GuardStatus {
    guard: GuardLayer,
    /// Finished requests by status and reason.
    finished: Arc<AnswerCounts>,
    log: Log,
    is_accepting: AtomicBool,
}

impl Pages for GuardStatus {
    fn is_healthy(&self) -> bool {
        self.is_accepting.load(Relaxed)
    }

    fn metrics(&self) -> String {
        metrics(&self.guard.counts(), &self.finished, self.log.dropped())
    }
}

/// Guard process that accepts requests.
pub struct Program {
    listeners: Listeners<ServiceTarget>,
    admin: Option<Admin>,
    status: Arc<GuardStatus>,
    drain: Duration,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at: Vec<_> = self.listeners.all().map(|(_, at, _)| at).collect();
        f.debug_struct("Program")
            .field("listen", &at)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// Returns the text of the metrics page.
    pub fn metrics(&self) -> String {
        self.status.metrics()
    }
}

impl Running for Program {
    const NAME: &'static str = "tailcut guard";
    const WORK: &'static str = "requests";
    type Config = ProgramConfig;

    fn routes(_: &ProgramConfig) -> usize {
        1
    }

    fn files(config: &ProgramConfig) -> Vec<PathBuf> {
        config.tls.iter().flat_map(ServerTls::files).collect()
    }

    async fn start(config: &ProgramConfig) -> Result<Self> {
        let status = GuardStatus {
            guard: GuardLayer::new(config.guard),
            finished: Arc::default(),
            log: Log::default(),
            is_accepting: AtomicBool::new(true),
        };
        let mut program = Self {
            listeners: Listeners::default(),
            admin: None,
            status: Arc::new(status),
            drain: config.drain,
        };
        program.reload(config).await?;
        Ok(program)
    }

    fn log(&self) -> Option<&Log> {
        Some(&self.status.log)
    }

    fn addresses(&self, config: &ProgramConfig) -> Vec<String> {
        let (to, workers) = (&config.to, config.guard.workers);
        let plural = if workers == 1 { "" } else { "s" };
        let tls = if config.tls.is_some() { " (TLS)" } else { "" };
        let listeners = self.listeners.all();
        let listeners = listeners.map(|(_, at, _)| {
            let at = at.map_or_else(|| config.listen.to_string(), |at| at.to_string());
            format!("{at}{tls} -> {to} ({workers} worker{plural})")
        });
        let admin = self.admin.as_ref().map(Admin::address);
        let admin = admin.map(|at| format!("admin: http://{at}/metrics"));
        listeners.chain(admin).collect()
    }

    async fn reload(&mut self, config: &ProgramConfig) -> Result<()> {
        // All steps that can fail come before the first change, so that a failed reload changes nothing.
        let logs = OpenLogs::open(&config.log)?;
        let admin_endpoint = config.admin.as_ref();
        let admin =
            Admin::start_if_changed(self.admin.as_ref(), admin_endpoint, &self.status).await?;
        let before = self.listeners.all().next().map(|(.., slot)| slot.service());
        let spec = ListenerSpec {
            name: ROUTE.to_owned(),
            listen: config.listen.clone(),
            mode: config.listen_mode,
            limits: config.limits,
            service: ServiceTarget::open(config, &self.status, before)?,
        };
        self.listeners.exchange(vec![spec]).await?;
        self.status.guard.set(config.guard);
        self.status.log.set(logs);
        self.drain = config.drain;
        // If an address is configured, `None` means that the present admin server already uses this address.
        if admin.is_some() || config.admin.is_none() {
            self.admin = admin;
        }
        Ok(())
    }

    async fn stop(self) {
        self.status.is_accepting.store(false, Relaxed);
        self.listeners.stop(self.drain).await;
        self.status.log.close();
    }
}
