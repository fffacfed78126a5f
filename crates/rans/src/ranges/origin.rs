//! Trait of services from which objects are downloaded.

use super::error::Cause;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

/// Service that sends requests to a replica of objects. Every service with these types implements the trait.
pub trait Origin<B>:
    Service<
        Request<B>,
        Response = Response<<Self as Origin<B>>::Body>,
        Error = <Self as Origin<B>>::Failure,
        Future: Send + 'static,
    > + Clone
    + Send
    + Sync
    + 'static
{
    /// Body of an answer.
    type Body: Body<Data: Send, Error: Into<Cause>> + Send + 'static;
    /// Reason why a request got no answer.
    type Failure: Into<Cause> + Send + 'static;
}

impl<S, B, R, E> Origin<B> for S
where
    S: Service<Request<B>, Response = Response<R>, Error = E> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    R: Body<Data: Send, Error: Into<Cause>> + Send + 'static,
    E: Into<Cause> + Send + 'static,
{
    type Body = R;
    type Failure = E;
}
