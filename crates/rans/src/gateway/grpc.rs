//! Hedging of gRPC calls by gRFC A6. A call is hedged if its route allows copies of all methods and the call is unary:
//! its body ends at once. HTTP shows no other difference between unary calls and streams.
//!
//! The policy of the route decides when a copy is sent, as for other requests.
//! An answer with a code that is not fatal counts as a failure, so the next copy is sent. If all copies end in this way,
//! the client gets the first of these answers.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::{Deserialize, Deserializer};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tailcut_proxy::config::{Scalar, scalar};
use tailcut_units::TokenBucket;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
/// Field with the number of earlier attempts.
pub(super) const ATTEMPTS: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");

/// Time between two parts of a body, after which the call counts as a stream.
/// A unary client sends its message and the end of the body together. A stream begins later by this time.
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

/// Codes of gRPC, in the order of their numbers.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Set of codes that are not fatal: another copy of the call may have another result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NonFatal(u32);

impl NonFatal {
    /// Reads names with commas.
    fn parse(text: &str) -> Option<Self> {
        let mut codes = 0;
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            // A call that has succeeded has its result.
            let code = NAMES.iter().skip(1).position(|known| *known == name)? + 1;
            codes |= 1 << code;
        }
        Some(Self(codes))
    }

    fn has(self, code: usize) -> bool {
        code < NAMES.len() && self.0 & (1 << code) != 0
    }
}

impl Default for NonFatal {
    fn default() -> Self {
        // The code of a server that has not processed the call.
        Self(1 << 14)
    }
}

impl<'de> Deserialize<'de> for NonFatal {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let allowed = "names of codes of gRPC with commas, such as \"UNAVAILABLE, ABORTED\"";
        scalar(from, allowed, |found| match found {
            Scalar::Text(text) => Self::parse(text),
            _ => None,
        })
    }
}

/// Returns whether a request is a call of gRPC. `application/grpc-web` is another protocol.
pub(super) fn is_call(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.as_bytes().strip_prefix(b"application/grpc"));
    kind.is_some_and(|rest| rest.first().is_none_or(|next| b"+; ".contains(next)))
}

/// What an answer means for the copies of its call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The answer goes to the client.
    Final,
    /// Another copy may be sent after this time.
    Again(Duration),
}

/// Judges the head of an answer. A code in the head means that the answer has neither messages nor trailers.
/// After a head without a code, messages may follow, so the call is decided (gRFC A6).
pub(super) fn judge(status: StatusCode, headers: &HeaderMap, codes: NonFatal) -> Verdict {
    let number = |name: &HeaderName| headers.get(name)?.to_str().ok()?.parse::<i64>().ok();
    let code = number(&STATUS).and_then(|code| usize::try_from(code).ok());
    if status != StatusCode::OK || !code.is_some_and(|code| codes.has(code)) {
        return Verdict::Final;
    }
    if !headers.contains_key(&PUSHBACK) {
        return Verdict::Again(Duration::ZERO);
    }
    // A negative number, or another text, means that the server wants no further copy.
    match number(&PUSHBACK).map(u64::try_from) {
        Some(Ok(time)) => Verdict::Again(Duration::from_millis(time)),
        _ => Verdict::Final,
    }
}

/// Returns the number of earlier attempts as a field.
pub(super) fn attempts(earlier: u32) -> HeaderValue {
    HeaderValue::from(earlier)
}

/// Tokens of a route. While at most half of them are left, calls are not hedged (gRFC A6, throttling).
pub(super) struct Throttle(Mutex<TokenBucket>);

/// Largest number of tokens. After five failures without a success there are no copies.
const TOKENS: f64 = 10.0;
/// Tokens that a success gives back. With this number, copies stop if more than one call in ten fails.
const RATIO: f64 = 0.1;

impl Default for Throttle {
    fn default() -> Self {
        Self(Mutex::new(TokenBucket::new(TOKENS)))
    }
}

impl Throttle {
    /// Returns whether a call may be hedged.
    pub fn allows(&self) -> bool {
        let bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.tokens() > TOKENS / 2.0
    }

    /// Counts an attempt.
    pub fn note(&self, is_failure: bool) {
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match is_failure {
            true if bucket.tokens() >= 1.0 => bucket.spend(1.0),
            true => {}
            false => bucket.earn(RATIO, TOKENS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(fields: &[(&HeaderName, &str)]) -> HeaderMap {
        let pairs = fields.iter().map(|(name, value)| {
            (
                (*name).clone(),
                HeaderValue::from_str(value).expect("a value"),
            )
        });
        pairs.collect()
    }

    #[test]
    fn a_code_that_is_not_fatal_allows_another_copy_unless_the_server_forbids_it() {
        let codes = NonFatal::parse("UNAVAILABLE,ABORTED").expect("codes");
        let judged = |fields: &[(&HeaderName, &str)]| judge(StatusCode::OK, &head(fields), codes);
        let again = |ms| Verdict::Again(Duration::from_millis(ms));
        assert_eq!(judged(&[]), Verdict::Final);
        assert_eq!(judged(&[(&STATUS, "0")]), Verdict::Final);
        assert_eq!(judged(&[(&STATUS, "5")]), Verdict::Final);
        assert_eq!(judged(&[(&STATUS, "14")]), again(0));
        assert_eq!(judged(&[(&STATUS, "10"), (&PUSHBACK, "30")]), again(30));
        for no in ["-1", "soon", ""] {
            assert_eq!(judged(&[(&STATUS, "14"), (&PUSHBACK, no)]), Verdict::Final);
        }
        assert_eq!(NonFatal::parse(""), Some(NonFatal(0)));
        assert_eq!(NonFatal::parse("OK"), None);
        assert_eq!(NonFatal::parse("14"), None);
    }

    #[test]
    fn only_grpc_itself_is_a_call() {
        for (kind, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;charset=x", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            assert_eq!(
                is_call(&head(&[(&header::CONTENT_TYPE, kind)])),
                is,
                "{kind}"
            );
        }
    }

    #[test]
    fn after_failures_the_copies_stop_and_after_successes_they_come_back() {
        let throttle = Throttle::default();
        for _ in 0..5 {
            assert!(throttle.allows());
            throttle.note(true);
        }
        assert!(!throttle.allows());
        for _ in 0..11 {
            throttle.note(false);
        }
        assert!(throttle.allows());
    }

    proptest! {
        #[test]
        fn no_answer_of_a_server_delays_a_call_for_longer_than_it_says(
            code in "(14|-?[0-9]{0,22})", pushback in "-?[0-9]{1,22}",
        ) {
            // A server may send any text in both fields.
            let fields = head(&[(&STATUS, &*code), (&PUSHBACK, &*pushback)]);
            if let Verdict::Again(time) = judge(StatusCode::OK, &fields, NonFatal::default()) {
                let said = pushback.parse::<u64>().unwrap_or(0);
                prop_assert_eq!(time, Duration::from_millis(said));
            }
        }
    }
}
