//! Route: it receives the requests of one listener, and sends them to replicas that give the same answers.

use super::body::{AnswerFault, Content, ResponseBody};
use super::check;
use super::config::RouteConfig;
use super::counts::{OpenRequest, RouteCounts};
use super::grpc::{self, Throttle};
use super::pool::{Pool, Resolved, resolve};
use super::translate::{self, ClientInfo};
use super::upstream::{Failure, Hedged};
use crate::client::Methods;
use crate::connections::ConnectionError;
use crate::priority::class_of;
use crate::ranges::RangesError;
use crate::request_head::Refusal;
use crate::request_log::RouteLog;
use crate::stored_body::StoredBody;
use crate::upload::{RequestBody, UploadLimits};
use anyhow::{Context as _, Result};
use http::{Method, Request, Response, StatusCode};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tailcut_proxy::http::{ClientBody, RequestSlots};
use tailcut_proxy::log::Log;
use tailcut_requests::Class;
use tokio::task::JoinSet;
use tower_service::Service;

/// One route with its replicas and counters.
pub(super) struct Route {
    pub config: RouteConfig,
    pub counts: Arc<RouteCounts>,
    pool: RwLock<Arc<Pool>>,
    slots: RequestSlots,
    pub log: RouteLog,
    throttle: Arc<Throttle>,
    /// Indices of the replicas that have no address.
    pub unresolved: Mutex<BTreeSet<usize>>,
    /// Background tasks, which end when the route is dropped.
    _tasks: JoinSet<()>,
}

impl Route {
    /// Resolves the replicas' names and creates the route. A former route with this name passes its counters on.
    /// The former route also passes its connections to replicas on, if their settings are equal.
    pub async fn open(config: &RouteConfig, before: Option<&Self>, log: &Log) -> Result<Arc<Self>> {
        let name = &config.name;
        let mut resolved = resolve(&config.replicas).await;
        let former = before.map(Self::pool);
        let known = former.as_ref().map_or(&[][..], |pool| &pool.members);
        resolved.keep(&config.replicas, known);
        // Open connections keep their settings, so the new route can use them only if the settings are equal.
        let reusable = before.filter(|before| {
            let old = &before.config;
            let times_are =
                old.times == config.times && old.stored_bodies.whole == config.stored_bodies.whole;
            times_are && old.protocol == config.protocol && old.replica_tls == config.replica_tls
        });
        let pool = former.as_ref().filter(|_| reusable.is_some());
        let members = pool.as_ref().map_or(&[][..], |pool| &pool.members);
        let pool = Pool::new(config, log, &resolved.addresses, members)
            .with_context(|| format!("route {name}"))?;
        let counts = before.map(|before| Arc::clone(&before.counts));
        let counts = counts.unwrap_or_default();
        let log = RouteLog {
            route: config.name.as_str().into(),
            log: log.clone(),
            counts: Arc::clone(&counts.finished),
            trace: config.trace,
        };
        check::report(config, &log.log, &resolved);
        let unresolved = resolved.without_address();
        let is_incomplete = !unresolved.is_empty();
        Ok(Arc::new_cyclic(|route| Self {
            config: config.clone(),
            counts,
            log,
            throttle: Arc::default(),
            pool: RwLock::new(Arc::new(pool)),
            slots: RequestSlots::new(config.limits.pending as usize),
            unresolved: Mutex::new(unresolved),
            _tasks: check::tasks(config, route, is_incomplete),
        }))
    }

    /// Returns the present replicas and their client.
    pub fn pool(&self) -> Arc<Pool> {
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        // The lock is held only for this copy, so requests do not delay a new pool.
        Arc::clone(&pool)
    }

    /// Sets new addresses of the replicas. Returns whether they differ from the old addresses.
    /// A replica whose name could not be resolved keeps its former addresses.
    pub fn move_to(&self, mut resolved: Resolved) -> Result<bool> {
        let before = self.pool();
        resolved.keep(&self.config.replicas, &before.members);
        *self
            .unresolved
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = resolved.without_address();
        let addresses = &resolved.addresses;
        let is_same = before.members.len() == addresses.len()
            && addresses.iter().all(|(index, address)| {
                let replica = &self.config.replicas[*index];
                let mut members = before.members.iter();
                members.any(|known| known.address == *address && known.replica == *replica)
            });
        if is_same {
            return Ok(false);
        }
        let pool = Pool::new(&self.config, &self.log.log, addresses, &before.members)?;
        if let (Some(client), Some(former)) = (&pool.client, &before.client) {
            client.continue_from(former);
        }
        // The counters of a new client start at 0, but a counter on the metrics page must never fall.
        self.counts.keep(before.counts());
        *self.pool.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pool);
        Ok(true)
    }

    /// Answers a request of a client, with the answer of a replica or with an error of the gateway.
    pub async fn answer(
        &self,
        client_info: ClientInfo,
        request: Request<ClientBody>,
    ) -> Response<ResponseBody> {
        let mut open = OpenRequest::begin(&self.counts);
        let is_head = request.method() == Method::HEAD;
        let answer = match self.forward(client_info, request).await {
            Ok(answer) => answer,
            Err(refusal) => refused(refusal, is_head),
        };
        open.answered(answer.status());
        answer
    }

    async fn forward(
        &self,
        client_info: ClientInfo,
        request: Request<ClientBody>,
    ) -> Result<Response<ResponseBody>, Refusal> {
        // The request is refused immediately. A request that waits here would hide the overload from its client.
        let refused = || {
            self.counts.refused.inc();
            Refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests are open\n",
            )
        };
        let slot = self.slots.take(client_info.address.ip());
        let slot = slot.ok_or_else(refused)?;
        let answer = slot.answer(self.exchange(client_info, request)).await;
        let answer = answer.ok_or_else(refused)??;
        Ok(answer.map(|content| ResponseBody::of(content, slot)))
    }

    async fn exchange(
        &self,
        client_info: ClientInfo,
        request: Request<ClientBody>,
    ) -> Result<Response<Content>, Refusal> {
        let (mut parts, body) = request.into_parts();
        translate::request(&mut parts, client_info, &self.config)?;
        // A request that is itself a copy, or that has low urgency, is not copied again.
        let may_store = class_of(&parts.headers) == Class::Primary;
        let limits = &self.config.limits;
        let upload = UploadLimits {
            most: limits.body,
            stored: self.config.stored_bodies.replay,
            stall: limits.listener.stall_time,
        };
        let may_hedge = may_store
            && self.config.methods == Methods::All
            && grpc::is_call(&parts.headers)
            && self.throttle.allows();
        let body = match may_hedge {
            // The future of requests that are no calls stays small.
            true => Box::pin(RequestBody::prompt(body, upload, grpc::PATIENCE)).await,
            false => RequestBody::take(body, upload, may_store).await,
        };
        let body = body.map_err(Refusal::from)?;
        if may_hedge && body.is_stored() {
            let hedged = Hedged(Arc::clone(&self.throttle), self.config.grpc_non_fatal);
            parts.extensions.insert(hedged);
        }
        let progress = body.progress();
        let pool = self.pool();
        let may_split = may_store && parts.method == Method::GET;
        let request = Request::from_parts(parts, body);
        if let Some(mut ranges) = pool.ranges.clone().filter(|_| may_split) {
            return match ranges.call(request).await {
                Ok(answer) => Ok(answer.map(|body| Content::Object(Box::new(body)))),
                // A GET rarely has a body, so this branch does not look for a fault of the upload.
                Err(error) => Err(of_error(&error)),
            };
        }
        let Some(mut client) = pool.client.clone() else {
            return Err(Refusal(
                StatusCode::BAD_GATEWAY,
                "no replica has an address\n",
            ));
        };
        match client.call(request).await {
            Ok(answer) => Ok(answer.map(|body| Content::Replica(Box::new(body)))),
            // All copies of a call had a code that is not fatal. The client gets the first of these answers.
            Err(Failure::Code(head)) => Ok(Response::from_parts(
                *head,
                Content::Text(StoredBody::default()),
            )),
            Err(failure) => Err(match progress.and_then(|progress| progress.fault()) {
                Some(fault) => fault.into(),
                None => of_failure(&failure),
            }),
        }
    }
}

fn of_error(error: &RangesError) -> Refusal {
    match error {
        RangesError::Replicas(_, Some(cause)) => match cause.downcast_ref() {
            Some(failure) => of_failure(failure),
            None => Refusal(StatusCode::BAD_GATEWAY, "no replica sent the object\n"),
        },
        _ => Refusal(StatusCode::BAD_GATEWAY, "no replica sent the object\n"),
    }
}

fn of_failure(failure: &Failure) -> Refusal {
    let bad = StatusCode::BAD_GATEWAY;
    let slow = StatusCode::GATEWAY_TIMEOUT;
    match failure {
        Failure::Connection(error) if error.is_timeout() => {
            Refusal(slow, "no replica accepted a connection in time\n")
        }
        Failure::Connection(ConnectionError::Connect(_)) => {
            Refusal(bad, "no replica can be reached\n")
        }
        Failure::Connection(ConnectionError::Address) => {
            Refusal(StatusCode::BAD_REQUEST, "the address cannot be forwarded\n")
        }
        Failure::Connection(ConnectionError::Http(_)) => {
            Refusal(bad, "the replica ended the connection before its answer\n")
        }
        Failure::Answer(AnswerFault::Cut(_) | AnswerFault::Parts(_)) => {
            Refusal(bad, "the replica's answer is not complete\n")
        }
        // The caller has handed such an answer to the client.
        Failure::Code(_) => Refusal(bad, "no replica has processed the call\n"),
        Failure::Slow => Refusal(slow, "the replica did not begin its answer\n"),
        Failure::Answer(AnswerFault::Stalled) => {
            Refusal(slow, "no further bytes of the replica's answer arrived\n")
        }
    }
}

/// Returns the answer to a request that the gateway refuses.
pub(super) fn refused(refusal: Refusal, is_head: bool) -> Response<ResponseBody> {
    // An answer to HEAD has no body (RFC 9110, section 9.3.2).
    let text = if is_head { "" } else { refusal.1 };
    refusal.answer(ResponseBody::text(text))
}
