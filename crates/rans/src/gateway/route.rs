//! A route: requests of one listener, to replicas that give the same answers.

use super::body::{AnswerFault, Ask, Fault, Reply, UploadLimits, Whole};
use super::check;
use super::config::RouteConfig;
use super::counts::{Asked, RouteCounts};
use super::pool::{Addresses, Pool, resolve};
use super::translate::{self, Caller, Refusal};
use super::upstream::Failure;
use crate::priority::class_of;
use crate::ranges::RangesError;
use crate::ways::WayError;
use anyhow::{Context as _, Result};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use std::sync::{Arc, PoisonError, RwLock};
use tailcut_requests::Class;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower_service::Service;

/// See the module.
pub(super) struct Route {
    pub config: RouteConfig,
    pub counts: Arc<RouteCounts>,
    pool: RwLock<Arc<Pool>>,
    places: Arc<Semaphore>,
    /// Ends when the route does.
    _tasks: JoinSet<()>,
}

impl Route {
    /// Resolves the replicas' names. What was there before under this name goes on where it is alike: counts, and
    /// connections to replicas.
    pub async fn open(config: &RouteConfig, before: Option<&Self>) -> Result<Arc<Self>> {
        let name = &config.name;
        let resolved = resolve(&config.replicas).await;
        let addresses = resolved.with_context(|| format!("route {name}"))?;
        let alike = before.filter(|before| {
            let old = &before.config;
            let times_are = old.times == config.times && old.kept.whole == config.kept.whole;
            times_are && old.protocol == config.protocol && old.replica_tls == config.replica_tls
        });
        let pool = alike.map(Self::pool);
        let members = pool.as_ref().map_or(&[][..], |pool| &pool.members);
        let pool =
            Pool::new(config, &addresses, members).with_context(|| format!("route {name}"))?;
        let counts = before.map(|before| Arc::clone(&before.counts));
        Ok(Arc::new_cyclic(|route| Self {
            config: config.clone(),
            counts: counts.unwrap_or_default(),
            pool: RwLock::new(Arc::new(pool)),
            places: Arc::new(Semaphore::new(config.limits.pending as usize)),
            _tasks: check::tasks(config, route),
        }))
    }

    /// Its replicas now.
    pub fn pool(&self) -> Arc<Pool> {
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&pool)
    }

    /// Its replicas are elsewhere now. Gives whether they are.
    pub fn move_to(&self, addresses: &Addresses) -> Result<bool> {
        let before = self.pool();
        let is_same = before.members.len() == addresses.len()
            && addresses.iter().all(|(index, address)| {
                let replica = &self.config.replicas[*index];
                let mut members = before.members.iter();
                members.any(|known| known.address == *address && known.replica == *replica)
            });
        if is_same {
            return Ok(false);
        }
        let pool = Pool::new(&self.config, addresses, &before.members)?;
        self.counts.keep(before.client.counts());
        *self.pool.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pool);
        Ok(true)
    }

    /// Answers a request.
    pub async fn answer(&self, caller: Caller, request: Request<Incoming>) -> Response<Reply> {
        let mut asked = Asked::begin(&self.counts);
        let is_head = request.method() == Method::HEAD;
        let answer = match self.ask(caller, request).await {
            Ok(answer) => answer,
            Err(refusal) => refused(refusal, is_head),
        };
        asked.answered(answer.status());
        answer
    }

    async fn ask(
        &self,
        caller: Caller,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Refusal> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.counts.refused.inc();
            return Err(Refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests are open\n",
            ));
        };
        let (mut parts, body) = request.into_parts();
        translate::request(&mut parts, caller, &self.config)?;
        // What is a copy already, or of low urgency, is not copied again.
        let may_keep = class_of(&parts.headers) == Class::Primary;
        let limits = &self.config.limits;
        let upload = UploadLimits {
            most: limits.body,
            kept: self.config.kept.replay,
            stall: limits.front.stall_time,
        };
        let ask = Ask::take(body, upload, may_keep).await.map_err(of_fault)?;
        let progress = ask.progress();
        let pool = self.pool();
        let may_split = may_keep && parts.method == Method::GET;
        let request = Request::from_parts(parts, ask);
        if let Some(mut ranges) = pool.ranges.clone().filter(|_| may_split) {
            return match ranges.call(request).await {
                Ok(answer) => Ok(answer.map(|body| Reply::Object {
                    body: Box::new(body),
                    _place: place,
                })),
                Err(error) => Err(of_error(&error)),
            };
        }
        let mut client = pool.client.clone();
        match client.call(request).await {
            Ok(answer) => Ok(answer.map(|body| Reply::Of {
                body: Box::new(body),
                _place: place,
            })),
            Err(failure) => Err(match progress.and_then(|progress| progress.fault()) {
                Some(fault) => of_fault(fault),
                None => of_failure(&failure),
            }),
        }
    }
}

fn of_fault(fault: Fault) -> Refusal {
    match fault {
        Fault::TooLong => Refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long\n"),
        Fault::Stalled => Refusal(StatusCode::REQUEST_TIMEOUT, "the body stopped to come\n"),
        Fault::Cut => Refusal(StatusCode::BAD_REQUEST, "the body was cut\n"),
    }
}

fn of_error(error: &RangesError) -> Refusal {
    match error {
        RangesError::Replicas(_, Some(cause)) => match cause.downcast_ref() {
            Some(failure) => of_failure(failure),
            None => Refusal(StatusCode::BAD_GATEWAY, "no replica gave the object\n"),
        },
        _ => Refusal(StatusCode::BAD_GATEWAY, "no replica gave the object\n"),
    }
}

fn of_failure(failure: &Failure) -> Refusal {
    let bad = StatusCode::BAD_GATEWAY;
    let slow = StatusCode::GATEWAY_TIMEOUT;
    match failure {
        Failure::Way(WayError::Connect(_)) => Refusal(bad, "no replica can be reached\n"),
        Failure::Way(WayError::Address) => {
            Refusal(StatusCode::BAD_REQUEST, "the address cannot be handed on\n")
        }
        Failure::Way(WayError::Http(_)) => {
            Refusal(bad, "the replica ended the connection before its answer\n")
        }
        Failure::Answer(AnswerFault::Cut(_) | AnswerFault::Parts(_)) => {
            Refusal(bad, "the replica cut its answer\n")
        }
        Failure::Slow => Refusal(slow, "the replica did not begin its answer\n"),
        Failure::Answer(AnswerFault::Stalled) => {
            Refusal(slow, "the replica's answer stopped to come\n")
        }
    }
}

fn refused(Refusal(status, text): Refusal, is_head: bool) -> Response<Reply> {
    let text = if is_head { "" } else { text };
    let mut answer = Response::new(Reply::Own(Whole::from(text)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, plain);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
