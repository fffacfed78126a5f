//! Downloads of one object from several replicas at the same time, with HTTP range requests.
//! The primary sends from the front and the copy from the back, until they meet. The bytes of both replicas are used.
//!
//! Every part must have the same strong entity tag and the same length, and must not be compressed.
//! Otherwise one replica sends the whole object. Whether a tag is reliable depends on the origin.
//! For example, nginx derives a tag from a file's time and size.
//! So equal bytes may have different tags, and different bytes may have equal tags.
//!
//! [`tailcut_requests::Ranges`] decides which bytes each replica sends.

mod body;
mod config;
mod counts;
mod digest;
mod error;
mod file_sink;
mod origin;
mod part;
mod reorder_buffer;
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
use digest::{Check, OfferedDigest};
use file_sink::FileSink;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header, response,
};
use reorder_buffer::reorder_buffer;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{Read, Seek, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tailcut_requests::ByteRange;
use tower_service::Service;
use transfer::{FirstPart, Identity, Transfer};
use validators::is_identity;

/// Downloader of objects from the replicas of a client. Clones are cheap and share their counters.
///
/// As a service, it answers with the object's bytes in order.
/// A GET request for a whole object without conditions is split into ranges.
/// Any other request is sent through the client unchanged. A separate task requests the ranges of a body.
/// The task stays ahead of the reader, by at most [`RangesConfig::window`] bytes.
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
    /// Creates a downloader that uses the replicas of this client.
    ///
    /// # Errors
    /// The configuration is invalid. The error describes the fault.
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

    /// Returns the counters of downloads.
    pub fn counts(&self) -> RangesCounts {
        self.counter.get()
    }
}

/// Header fields that make a request conditional, or that make it a request for a range.
const CONDITIONS: [HeaderName; 6] = [
    header::RANGE,
    header::IF_RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];

fn requests_whole(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::GET && !CONDITIONS.iter().any(|name| headers.contains_key(name))
}

/// Turns the head of an answer with a part into the head of an answer with the whole object.
fn make_whole<R>(answer: &mut Response<R>) {
    *answer.status_mut() = StatusCode::OK;
    let headers = answer.headers_mut();
    headers.remove(header::CONTENT_RANGE);
    // Some servers say only in whole answers that they accept ranges. The answer with a part has shown it.
    headers
        .entry(header::ACCEPT_RANGES)
        .or_insert(HeaderValue::from_static("bytes"));
}

/// Form in which an object arrives at the caller.
enum Begun<S: Origin<B>, B> {
    Answer(Response<AnswerBody<S::Body>>),
    Parts(Box<BegunParts<S, B>>),
}

/// Object that arrives in parts.
struct BegunParts<S: Origin<B>, B> {
    head: response::Parts,
    total: u64,
    check: Option<Check>,
    transfer: Transfer<S, B>,
}

/// Result of the request for the first piece.
enum Opened<R> {
    /// Answer that is forwarded: the whole object, a redirection, or an error.
    Answer(Response<AnswerBody<R>>),
    /// Object whose parts cannot be combined, so that the whole object has to be requested.
    Whole,
    /// First part of an object that has more parts, and the head of an answer with the whole object.
    Part(Box<(response::Parts, FirstPart<R>)>),
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
        let (first, last) = (request.body().replay(), request.body().replay());
        // A request whose body can be sent only once is not split into ranges.
        let (Some(first), Some(last)) = (first, last) else {
            return self.whole(request).await;
        };
        if !requests_whole(request.method(), request.headers()) {
            return self.whole(request).await;
        }
        let (parts, again) = request.into_parts();
        // The first piece is an ordinary request, so the client copies it like any other request.
        // Most objects have no further piece. Only larger objects need a second replica.
        let mut opening = Request::from_parts(parts.clone(), first);
        let range = format!("bytes=0-{}", self.config.piece - 1);
        if let Ok(range) = HeaderValue::try_from(range) {
            opening.headers_mut().insert(header::RANGE, range);
        }
        let answer = self.client.call(opening).await;
        let answer = answer.map_err(|error| RangesError::Replicas(vec![], Some(error.into())))?;
        match self.opened(answer)? {
            Opened::Answer(answer) => {
                self.counter.add(|counts| counts.whole += 1);
                Ok(Begun::Answer(answer))
            }
            Opened::Whole => {
                let begun = self.whole(Request::from_parts(parts, again)).await?;
                match &begun {
                    // The request contains no range, so this answer may be any part of the object.
                    Begun::Answer(answer) if answer.status() == StatusCode::PARTIAL_CONTENT => {
                        let replica = answer.body().replica();
                        let faults = replica.map(|replica| (replica, Fault::WrongRange));
                        Err(RangesError::Replicas(Vec::from_iter(faults), None))
                    }
                    _ => Ok(begun),
                }
            }
            Opened::Part(part) => {
                let (head, first) = *part;
                self.counter.add(|counts| counts.objects += 1);
                let total = first.identity.total;
                let digest = first.identity.digest.clone();
                let check = (self.config.verify != Verify::Off).then(|| Check::of_object(digest));
                let (client, counter) = (self.client.clone(), self.counter.clone());
                let request = Request::from_parts(parts, last);
                let config = (self.config, window);
                let transfer = Transfer::new(client, config, counter, request, first);
                Ok(Begun::Parts(Box::new(BegunParts {
                    head,
                    total,
                    check,
                    transfer,
                })))
            }
        }
    }

    /// Examines the answer to the request for the first piece.
    fn opened<R>(&self, answer: Response<AnswerBody<R>>) -> Result<Opened<R>, RangesError> {
        let status = answer.status();
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            // An empty object has no range that a replica could send.
            return Ok(Opened::Whole);
        }
        if status != StatusCode::PARTIAL_CONTENT {
            return Ok(Opened::Answer(answer));
        }
        let headers = answer.headers();
        let range = ContentRange::of(headers);
        let range =
            range.filter(|range| (range.from, range.to) == (0, range.total.min(self.config.piece)));
        let Some(ContentRange { from, to, total }) = range else {
            if let Some(replica) = answer.body().replica() {
                // The object is requested again. Another replica should then be chosen.
                self.client.note_failure(replica);
            }
            return Ok(Opened::Whole);
        };
        if let Some(longest) = self.config.longest
            && total > longest
        {
            return Err(RangesError::TooLarge(Some(total), longest));
        }
        if to == total {
            // The answer contains the whole object. It may be compressed, and needs no tag.
            let mut answer = answer;
            make_whole(&mut answer);
            return Ok(Opened::Answer(answer));
        }
        let tag = StrongTag::of(headers).filter(|_| is_identity(headers));
        let (Some(tag), Some(replica)) = (tag, answer.body().replica()) else {
            return Ok(Opened::Whole);
        };
        let digest = OfferedDigest::default();
        digest.add(Digest::of_object(headers));
        if self.config.verify == Verify::Required && digest.get().is_none() {
            return Err(RangesError::NoDigest);
        }
        let content = Digest::of_content(headers).filter(|_| self.config.verify != Verify::Off);
        let mut answer = answer;
        make_whole(&mut answer);
        let (mut head, body) = answer.into_parts();
        // This digest covers only the bytes of the part, so it is removed.
        head.headers.remove("content-digest");
        head.headers.insert(header::CONTENT_LENGTH, total.into());
        let first = FirstPart {
            replica,
            identity: Identity { tag, total, digest },
            range: ByteRange { from, to },
            body,
            content,
        };
        Ok(Opened::Part(Box::new((head, first))))
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

    /// Downloads an object into a file or another destination that can seek, starting at position 0.
    /// Bytes are written in the order of their arrival. Returns the head of the answer.
    /// If the origin sends a digest and the configuration requests a check, the object is read back.
    ///
    /// The calling task itself writes the bytes, because a local file is fast enough.
    ///
    /// # Errors
    /// The download failed. The destination then contains some of the bytes.
    pub async fn download<B, P>(
        &self,
        request: Request<B>,
        file: P,
    ) -> Result<response::Parts, RangesError>
    where
        S: Origin<B>,
        B: Replay + Send + Sync + 'static,
        P: Read + Write + Seek,
    {
        let mut sink = FileSink::new(file);
        match self.clone().begin(request, None).await? {
            Begun::Answer(answer) => {
                let (head, body) = answer.into_parts();
                if !head.status.is_success() {
                    return Err(RangesError::Status(head.status));
                }
                let about = (head.status, &head.headers);
                let body = RangesBody::answer(body, about, &self.config)?;
                sink.take_all(body).await?;
                Ok(head)
            }
            Begun::Parts(begun) => {
                let BegunParts {
                    head,
                    total,
                    check,
                    mut transfer,
                } = *begun;
                poll_fn(|cx| transfer.poll_rest(cx, &mut sink)).await?;
                sink.verify(total, check).await?;
                Ok(head)
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

    /// Always returns ready. A part waits for the connection to its replica when it is sent.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RangesError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let ranges = self.clone();
        let config = self.config;
        let is_object = requests_whole(request.method(), request.headers());
        Box::pin(async move {
            match ranges.begin(request, Some(config.window)).await? {
                Begun::Answer(answer) => {
                    let (head, body) = answer.into_parts();
                    let about = (head.status, &head.headers);
                    let body = match is_object {
                        true => RangesBody::answer(body, about, &config)?,
                        false => RangesBody::unchecked(body),
                    };
                    Ok(Response::from_parts(head, body))
                }
                Begun::Parts(begun) => {
                    let BegunParts {
                        head,
                        total,
                        check,
                        mut transfer,
                    } = *begun;
                    let (mut writer, reader) = reorder_buffer();
                    let task = tokio::spawn(async move {
                        let end = poll_fn(|cx| transfer.poll_rest(cx, &mut writer)).await;
                        writer.end(end);
                    });
                    let body = RangesBody::parts(reader, total, task.abort_handle(), check);
                    Ok(Response::from_parts(head, body))
                }
            }
        })
    }
}
