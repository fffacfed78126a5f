//! Configuration of a client: the requests that it copies, the time of each copy, and the replicas.

use http::{Method, StatusCode};
use std::any::Any;
use std::time::Duration;
use tailcut_requests::{BudgetConfig, CancelScope, Percentile, Policy, Trigger};

/// Which requests may be copied.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Methods {
    /// GET, HEAD and OPTIONS: what changes nothing.
    #[default]
    Safe,
    /// Also PUT and DELETE. The copies reach two replicas, and the loser may be purged at one of them:
    /// only for services where that is right.
    Idempotent,
    /// Every request.
    All,
}

impl Methods {
    pub(super) fn allow(self, method: &Method) -> bool {
        match self {
            Self::Safe => method.is_safe(),
            Self::Idempotent => method.is_idempotent(),
            Self::All => true,
        }
    }
}

/// How many copies may be reset on the way, for each replica. Servers defend themselves against clients that
/// reset too often: Node's HTTP/2 ends a connection that resets more than 33 times a second for long, after
/// 1,000 at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResetBudget {
    /// Resets a second.
    pub rate: f64,
    /// Resets at once.
    pub burst: u32,
}

impl ResetBudget {
    /// No bound: for ways that replace a connection before it was reset too often, and for servers that
    /// do not mind.
    pub const UNBOUNDED: Self = Self {
        rate: 1e9,
        burst: u32::MAX,
    };
}

/// When a replica is left alone for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breaker {
    /// Failures in a row.
    pub failures: u32,
    /// For how long; twice as long each time that it fails again, up to `longest`.
    pub pause: Duration,
    /// The longest pause.
    pub longest: Duration,
}

/// How a client works.
#[derive(Clone, Copy, Debug)]
pub struct ClientConfig {
    /// Policy for replicas that purge. By default the client sends a low-priority copy at once, and the
    /// first answer purges it.
    pub purging: Policy,
    /// What is done elsewhere. By default a copy after the client's own 95th percentile, for one request in
    /// ten at most.
    pub elsewhere: Policy,
    /// Which requests may be copied.
    pub methods: Methods,
    /// Which answers end a request; any other one counts only when no copy is left. By default all but 404,
    /// 408, 425, 429 and 5xx.
    pub acceptable: fn(StatusCode) -> bool,
    /// Whether an error (of the ways' type) says that its replica has not seen the request. After such an error
    /// any request may go to another replica, after others only an idempotent one (RFC 9110, section 9.2.2): each
    /// replica gets the request once, and the body must be one that can be sent again. By default no error says so.
    pub unsent: fn(&dyn Any) -> bool,
    /// How many copies may be reset. A copy beyond it runs to its end, unseen.
    pub resets: ResetBudget,
    /// When a replica is left alone for a while.
    pub breaker: Breaker,
    /// Whether copies say which they are, in a field `tailcut-copy`: 0 is the primary.
    pub tells_copies: bool,
}

/// Whether an answer ends its request, by default.
pub fn acceptable(status: StatusCode) -> bool {
    !status.is_server_error() && !matches!(status.as_u16(), 404 | 408 | 425 | 429)
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            purging: Policy::DAS,
            elsewhere: Policy {
                trigger: Trigger::AfterPercentile(Percentile::default()),
                purge: Some(CancelScope::Running),
                budget: Some(BudgetConfig {
                    thousandths: 100,
                    burst: 10,
                }),
                ..Policy::DUPLICATE_LOW
            },
            methods: Methods::Safe,
            acceptable,
            unsent: |_| false,
            resets: ResetBudget {
                rate: 30.0,
                burst: 500,
            },
            breaker: Breaker {
                failures: 5,
                pause: Duration::from_secs(1),
                longest: Duration::from_secs(30),
            },
            tells_copies: true,
        }
    }
}

impl ClientConfig {
    /// One copy of each request, to the less loaded of two replicas.
    pub const fn single(self) -> Self {
        Self {
            purging: Policy::SINGLE,
            elsewhere: Policy::SINGLE,
            ..self
        }
    }

    /// What is wrong with it, if anything is.
    pub fn fault(&self) -> Option<&'static str> {
        for policy in [&self.purging, &self.elsewhere] {
            if let Some(fault) = policy.fault() {
                return Some(fault);
            }
            if policy.copies > 2 || policy.quorum != 1 || policy.aggregates {
                return Some(
                    "a client sends two copies at most, and the first answer ends a request",
                );
            }
        }
        if !self.resets.rate.is_finite() || self.resets.rate < 0.0 {
            return Some("the rate of resets must be a number of at least 0");
        }
        None
    }
}
