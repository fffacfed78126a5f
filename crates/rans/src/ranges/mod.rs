//! Objects from several replicas at once, by HTTP's ranges: the primary sends from the front, the copy from the
//! back, until they meet, and the bytes of both count.
//!
//! Both replicas must send the same strong entity tag and length with every part, uncompressed; otherwise
//! one replica sends the whole object. The origin decides how far a tag can be trusted: nginx makes its tags of a
//! file's time and size, so that equal bytes may have different tags, and different bytes the same.
//!
//! [`tailcut_requests::Ranges`] decides which bytes each replica is requested to send.

mod body;
mod config;
mod counts;
mod digest;
mod error;
mod origin;
mod part;
mod place;
mod spool;
mod transfer;
mod validators;

pub use body::RangesBody;
pub use config::{RangesConfig, Verify};
pub use counts::RangesCounts;
pub use digest::Digest;
pub use error::{Cause, Fault, RangesError};
pub use origin::Origin;
pub use validators::{ContentRange, StrongTag};

use crate::client::{AnswerBody, Client, Replay};
use counts::Counter;
use digest::Check;
use http::{HeaderMap, HeaderName, Method, Request, Response, header, response};
use place::Writing;
use spool::spool;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{Read, Seek, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;
use transfer::{Head, Transfer};

/// Downloads objects from the replicas of a client. Cheap to clone; clones share their counts.
///
/// As a service it answers with the object's bytes in order. It sends GET requests in parts that ask for a whole
/// object unconditionally; any other request goes to the client as it is. A body that comes in parts is
/// fetched by a separate task, as far ahead of its reader as [`RangesConfig::window`] allows.
pub struct Ranges<S> {
    client: Client<S>,
    config: RangesConfig,
    counter: Counter,
}

impl<S> Clone for Ranges<S> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            config: self.config,
            counter: self.counter.clone(),
        }
    }
}

impl<S> fmt::Debug for Ranges<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranges")
            .field("client", &self.client)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl<S> Ranges<S> {
    /// Downloads from the replicas of this client.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(client: Client<S>, config: RangesConfig) -> Result<Self, &'static str> {
        match config.fault() {
            Some(fault) => Err(fault),
            None => Ok(Self {
                client,
                config,
                counter: Counter::default(),
            }),
        }
    }

    /// Counters of downloads.
    pub fn counts(&self) -> RangesCounts {
        self.counter.get()
    }
}

/// Fields that make a request one that is not for a whole object, whatever it is.
const CONDITIONS: [HeaderName; 6] = [
    header::RANGE,
    header::IF_RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];

fn asks_for_whole(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::GET && !CONDITIONS.iter().any(|name| headers.contains_key(name))
}

/// Form in which an object comes.
enum Begun<S: Origin<B>, B> {
    Answer(Response<AnswerBody<S::Body>>),
    Parts {
        head: Box<response::Parts>,
        total: u64,
        check: Option<Check>,
        transfer: Box<Transfer<S, B>>,
    },
}

impl<S> Ranges<S> {
    async fn begin<B>(
        mut self,
        request: Request<B>,
        window: Option<u64>,
    ) -> Result<Begun<S, B>, RangesError>
    where
        S: Origin<B>,
        B: Replay + Send + Sync + 'static,
    {
        let body = request.body().replay();
        if let Some(body) = body
            && asks_for_whole(request.method(), request.headers())
        {
            let (parts, again) = request.into_parts();
            let asked = Request::from_parts(parts.clone(), body);
            let (client, counter) = (self.client.clone(), self.counter.clone());
            let transfer = Transfer::new(client, (self.config, window), counter, asked);
            let mut transfer = Box::new(transfer);
            match poll_fn(|cx| transfer.poll_head(cx)).await? {
                Head::Answer(answer) => {
                    self.counter.add(|counts| counts.whole += 1);
                    return Ok(Begun::Answer(answer));
                }
                Head::Object(head, total, digest) => {
                    self.counter.add(|counts| counts.objects += 1);
                    let check = match self.config.verify {
                        Verify::Off => None,
                        Verify::Offered | Verify::Required => digest.map(Check::new),
                    };
                    return Ok(Begun::Parts {
                        head,
                        total,
                        check,
                        transfer,
                    });
                }
                Head::Whole => {}
            }
            return self.whole(Request::from_parts(parts, again)).await;
        }
        self.whole(request).await
    }

    async fn whole<B>(&mut self, request: Request<B>) -> Result<Begun<S, B>, RangesError>
    where
        S: Origin<B>,
        B: Replay + Send + Sync + 'static,
    {
        self.counter.add(|counts| counts.whole += 1);
        let answer = self.client.call(request).await;
        let answer = answer.map_err(|error| RangesError::Replicas(vec![], Some(error.into())))?;
        Ok(Begun::Answer(answer))
    }

    /// Downloads an object into a place, from its position 0 on, in whatever order its bytes come. Gives the
    /// head of the answer. Reads the object back if the origin sends a digest that must be checked.
    ///
    /// The place is written to by the calling task: a local file is fast enough.
    ///
    /// # Errors
    /// Why it failed. The place has some of the bytes then.
    pub async fn download<B, P>(
        &self,
        request: Request<B>,
        place: P,
    ) -> Result<response::Parts, RangesError>
    where
        S: Origin<B>,
        B: Replay + Send + Sync + 'static,
        P: Read + Write + Seek,
    {
        let mut writing = Writing::new(place);
        match self.clone().begin(request, None).await? {
            Begun::Answer(answer) => {
                let (head, body) = answer.into_parts();
                if !head.status.is_success() {
                    return Err(RangesError::Status(head.status));
                }
                let about = (head.status, &head.headers);
                let body = RangesBody::answer(body, about, &self.config)?;
                writing.take_all(body).await?;
                Ok(head)
            }
            Begun::Parts {
                head,
                total,
                check,
                mut transfer,
            } => {
                poll_fn(|cx| transfer.poll_rest(cx, &mut writing)).await?;
                writing.verify(total, check).await?;
                Ok(*head)
            }
        }
    }
}

impl<S, B> Service<Request<B>> for Ranges<S>
where
    S: Origin<B>,
    B: Replay + Send + Sync + 'static,
{
    type Response = Response<RangesBody<S::Body>>;
    type Error = RangesError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, RangesError>> + Send>>;

    /// Always ready: a part polls the way to its replica when it needs it.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RangesError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let ranges = self.clone();
        let config = self.config;
        let is_object = asks_for_whole(request.method(), request.headers());
        Box::pin(async move {
            match ranges.begin(request, Some(config.window)).await? {
                Begun::Answer(answer) => {
                    let (head, body) = answer.into_parts();
                    let about = (head.status, &head.headers);
                    let body = match is_object {
                        true => RangesBody::answer(body, about, &config)?,
                        false => RangesBody::unseen(body),
                    };
                    Ok(Response::from_parts(head, body))
                }
                Begun::Parts {
                    head,
                    total,
                    check,
                    mut transfer,
                } => {
                    let (mut writer, reader) = spool();
                    let task = tokio::spawn(async move {
                        let end = poll_fn(|cx| transfer.poll_rest(cx, &mut writer)).await;
                        writer.end(end);
                    });
                    let body = RangesBody::parts(reader, total, task.abort_handle(), check);
                    Ok(Response::from_parts(*head, body))
                }
            }
        })
    }
}
