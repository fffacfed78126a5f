//! Identifiers that connect the log lines of a request in all programs on its way:
//! `x-request-id`, and `traceparent` of the W3C.

use http::{HeaderMap, HeaderName, HeaderValue};
use rand_core::{RngCore as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use std::cell::RefCell;
use std::hash::{BuildHasher as _, RandomState};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// Largest length of a request id from a client, in bytes. A longer one would fill the log.
const LONGEST_ID: usize = 128;

/// What happens to requests without `traceparent`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum TraceParent {
    /// They stay without it. The service then decides whether it begins a trace.
    #[default]
    Pass,
    /// They get one with a new trace, which counts as recorded. An invalid one is replaced.
    Make,
}

/// Configuration of the identifiers.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct TraceConfig {
    /// Whether requests without a valid `x-request-id` get one.
    pub request_id: bool,
    /// What happens to requests without `traceparent`.
    pub traceparent: TraceParent,
}

impl Default for TraceConfig {
    fn default() -> Self {
        Self {
            request_id: true,
            traceparent: TraceParent::Pass,
        }
    }
}

/// Identifiers of a request.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ids {
    pub request: Option<HeaderValue>,
    pub trace: Option<HeaderValue>,
}

impl Ids {
    /// Reads the identifiers of a request. Makes those that are missing, as the configuration says.
    pub fn of(headers: &mut HeaderMap, config: TraceConfig) -> Self {
        let mut ids = Self {
            request: single(headers, &REQUEST_ID).filter(is_request_id),
            trace: single(headers, &TRACE_PARENT).filter(is_trace_parent),
        };
        if ids.request.is_none() && config.request_id {
            let [high, low] = random();
            ids.request = made(format!("{high:016x}{low:016x}"));
            put(headers, REQUEST_ID, ids.request.as_ref());
        }
        if ids.trace.is_none() && config.traceparent == TraceParent::Make {
            let ([high, low], [span, _]) = (random(), random());
            // An identifier of zeros is not valid.
            let (low, span) = (low | 1, span | 1);
            ids.trace = made(format!("00-{high:016x}{low:016x}-{span:016x}-01"));
            put(headers, TRACE_PARENT, ids.trace.as_ref());
            // The state belongs to the trace that was not valid.
            headers.remove(TRACE_STATE);
        }
        ids
    }
}

fn single(headers: &HeaderMap, name: &HeaderName) -> Option<HeaderValue> {
    let mut values = headers.get_all(name).iter();
    // A copy is made, because the value is a slice of a buffer that also contains bodies.
    let value = HeaderValue::from_bytes(values.next()?.as_bytes()).ok()?;
    // Two values would mean two requests, so neither of them is used.
    values.next().is_none().then_some(value)
}

fn made(text: String) -> Option<HeaderValue> {
    HeaderValue::try_from(text).ok()
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: Option<&HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value.clone());
    }
}

fn is_request_id(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    (1..=LONGEST_ID).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
}

/// Checks a `traceparent` (W3C Trace Context, sections 3.2 and 4.3).
fn is_trace_parent(value: &HeaderValue) -> bool {
    let is_hex = |text: &str, length| {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text.len() == length && text.bytes().all(is_digit)
    };
    let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    let Ok(text) = value.to_str() else {
        return false;
    };
    // Version 00 has 55 characters.
    if text.len() > LONGEST_ID {
        return false;
    }
    let mut parts = text.splitn(5, '-');
    let mut next = || parts.next().unwrap_or("");
    let (version, trace, parent, flags) = (next(), next(), next(), next());
    is_hex(version, 2)
        && version != "ff"
        && is_id(trace, 32)
        && is_id(parent, 16)
        && is_hex(flags, 2)
        // Later versions may add further parts.
        && (version != "00" || parts.next().is_none())
}

fn random() -> [u64; 2] {
    thread_local! {
        // The seed is random in each thread, so that two programs do not make the same identifiers.
        static RANDOM: RefCell<Xoshiro256PlusPlus> =
            RefCell::new(Xoshiro256PlusPlus::seed_from_u64(RandomState::new().hash_one(0)));
    }
    RANDOM.with_borrow_mut(|random| [random.next_u64(), random.next_u64()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn ids(fields: &[(HeaderName, &str)], config: TraceConfig) -> (Ids, HeaderMap) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        (Ids::of(&mut headers, config), headers)
    }

    #[test]
    fn identifiers_of_the_client_are_passed_on() {
        let fields = [(REQUEST_ID, "7f3/a"), (TRACE_PARENT, VALID)];
        for traceparent in [TraceParent::Pass, TraceParent::Make] {
            let config = TraceConfig {
                traceparent,
                ..TraceConfig::default()
            };
            let (ids, headers) = ids(&fields, config);
            assert_eq!(ids.request.expect("an id"), "7f3/a");
            assert_eq!(ids.trace.expect("a trace"), VALID);
            assert_eq!(headers[REQUEST_ID], "7f3/a");
            assert_eq!(headers[TRACE_PARENT], VALID);
        }
    }

    #[test]
    fn missing_and_invalid_identifiers_are_made_where_the_configuration_says_so() {
        let make = TraceConfig {
            traceparent: TraceParent::Make,
            ..TraceConfig::default()
        };
        let long = "x".repeat(LONGEST_ID + 1);
        let zero = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        for fields in [
            vec![],
            vec![
                (REQUEST_ID, "a b"),
                (TRACE_PARENT, zero),
                (TRACE_STATE, "a=1"),
            ],
            vec![(REQUEST_ID, &*long), (TRACE_PARENT, "00-x")],
            vec![(REQUEST_ID, "a"), (REQUEST_ID, "b")],
        ] {
            let (one, headers) = ids(&fields, make);
            let (two, _) = ids(&fields, make);
            let request = one.request.expect("an id");
            assert_eq!(request.len(), 32);
            assert_eq!(headers.get_all(REQUEST_ID).iter().count(), 1);
            assert_eq!(headers[REQUEST_ID], request);
            assert_ne!(two.request.expect("an id"), request);
            assert!(is_trace_parent(&headers[TRACE_PARENT]));
            assert_ne!(one.trace, two.trace);
            assert!(!headers.contains_key(TRACE_STATE));
        }
        let neither = TraceConfig {
            request_id: false,
            ..TraceConfig::default()
        };
        let (none, headers) = ids(&[], neither);
        assert!(none.request.is_none() && none.trace.is_none() && headers.is_empty());
    }

    proptest! {
        #[test]
        fn what_a_client_sends_reaches_the_log_only_in_the_known_form(
            request in "[ -~]{0,140}", trace in "(00|01|ff)-[0-9a-f]{31,33}-[0-9a-f]{16}-0[01](-x)?",
        ) {
            let fields = [(REQUEST_ID, &*request), (TRACE_PARENT, &*trace)];
            let (ids, _) = ids(&fields, TraceConfig::default());
            let id = ids.request.expect("an id");
            prop_assert!(id.as_bytes().iter().all(u8::is_ascii_graphic) && id.len() <= LONGEST_ID);
            let is_longer = trace.len() > VALID.len();
            if let Some(trace) = ids.trace {
                prop_assert!(trace.len() == VALID.len() || is_longer && trace.as_bytes()[..2] == *b"01");
            }
        }
    }
}
