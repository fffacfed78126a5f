//! Configuration of a client: which requests it copies, when it sends each copy, and how it treats its replicas.

use http::{Method, StatusCode};
use std::any::Any;
use std::time::Duration;
use tailcut_requests::{BudgetConfig, CancelScope, Percentile, Policy, Trigger};

/// Methods of the requests that may be copied.
#[cfg_attr(
    feature = "gateway",
    derive(serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Methods {
    /// GET, HEAD and OPTIONS, which change no state.
    #[default]
    Safe,
    /// Also PUT and DELETE. Two replicas receive the request, and one of them may purge it.
    /// Use this value only for services where that is correct.
    Idempotent,
    /// Every request. Use this value only for services where a request may run twice.
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

/// Budget of resets for each replica. Servers limit clients that reset requests too often.
/// For example, Node's HTTP/2 ends a connection after a burst of 1,000 resets.
/// Node's HTTP/2 also ends a connection with more than 33 resets per second over a long time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResetBudget {
    /// Largest number of resets per second in the long run, at least 0.
    pub rate: f64,
    /// Largest number of resets in a burst after a time without resets.
    pub burst: u32,
}

impl ResetBudget {
    /// Budget without a limit. Use it for connections that are replaced before they have too many resets.
    /// Also use it for servers that accept any number of resets.
    pub const UNBOUNDED: Self = Self {
        rate: 1e9,
        burst: u32::MAX,
    };
}

/// Circuit breaker: after repeated failures, a replica gets no requests for a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Breaker {
    /// Number of failures in a row that starts a pause.
    pub failures: u32,
    /// Length of the first pause. Each further failure doubles the pause, up to `longest`.
    pub pause: Duration,
    /// Length of the longest pause.
    pub longest: Duration,
}

/// Slots of time of a trial of copies ([`tailcut_requests::Trial`]).
/// Clients of the same replicas should have equal slots. Slots follow the system's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrialSlots {
    /// Length of a slot, at least 1 ms. Choose at least ten times the latency of a slow request.
    pub length: Duration,
    /// Seed of the order of slots.
    pub seed: u64,
}

impl Default for TrialSlots {
    fn default() -> Self {
        Self {
            // Chosen, not measured. With shorter slots, requests of the slot before would count too much.
            // With longer slots, it would take longer to find out whether copies help.
            length: Duration::from_secs(5),
            seed: 0,
        }
    }
}

/// Configuration of a client.
#[derive(Clone, Copy, Debug)]
pub struct ClientConfig {
    /// Policy for replicas that purge.
    /// By default, the client sends a low-priority copy immediately, and the first answer purges the other copy.
    pub purging: Policy,
    /// Policy for all other replicas.
    /// By default, the client sends a copy after its own 95th percentile of latency.
    pub elsewhere: Policy,
    /// Budget of all copies: hedges, copies after failures, requests to other replicas, and ranges. `None`: no limit.
    /// The policies contain no budgets. By default, copies are at most one in ten requests, and ten more.
    /// Replicas with a guard may get more copies: one for each request that had a good answer.
    pub budget: Option<BudgetConfig>,
    /// Trial that finds out whether copies help, and ends them while they do not. `None`: copies are always sent.
    /// By default, slots have 5 s, and the seed is 0.
    pub trial: Option<TrialSlots>,
    /// Methods of the requests that may be copied.
    pub methods: Methods,
    /// Function that returns whether a status ends a request.
    /// An answer with another status is used only when no copy is left.
    /// By default, all statuses end a request except 404, 408, 425, 429 and 5xx.
    pub acceptable: fn(StatusCode) -> bool,
    /// Function that returns whether an error means that the replica has not received the request.
    /// The error has the type that the connections return. After such an error, any request may go to another replica.
    /// After other errors, only an idempotent request may do so (RFC 9110, section 9.2.2).
    /// Each replica receives the request at most once. The body must be one that can be sent again.
    /// By default, the function returns false.
    pub unsent: fn(&dyn Any) -> bool,
    /// Budget of resets. If it is used up, a copy runs to its end, and its answer is dropped.
    pub resets: ResetBudget,
    /// Pauses for replicas that fail.
    pub breaker: Breaker,
    /// Whether each copy has a header field `tailcut-copy` with its number. Number 0 is the primary.
    pub marks_copies: bool,
}

/// Returns whether a status ends a request by default. With the other statuses, another replica may answer differently:
/// an object is not there yet, a time limit has expired, or the replica is overloaded.
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
                ..Policy::DUPLICATE_LOW
            },
            budget: Some(BudgetConfig {
                // Chosen, not measured: one request in ten may have a copy.
                // Usually one in twenty has a copy, because one in twenty is slower than the 95th percentile.
                // So the budget limits hedges only if replicas become slow before the percentile follows.
                thousandths: 100,
                // Chosen, not measured: even in a burst, ten slow requests may be copied.
                burst: 10,
            }),
            trial: Some(TrialSlots::default()),
            methods: Methods::Safe,
            acceptable,
            unsent: |_| false,
            // Both values are below the limits of Node's HTTP/2, which are 33 per second and 1,000 in a burst.
            resets: ResetBudget {
                rate: 30.0,
                burst: 500,
            },
            breaker: Breaker {
                // The values are chosen, not measured.
                // With fewer failures, a few random errors would pause a replica that works.
                // With more failures, more requests would fail before a pause, because any success resets the count.
                failures: 5,
                // With a shorter pause, a replica that is down would get more test requests, and each of them fails.
                pause: Duration::from_secs(1),
                // A longer pause would delay the first request to a replica that works again.
                longest: Duration::from_secs(30),
            },
            marks_copies: true,
        }
    }
}

impl ClientConfig {
    /// Returns this configuration without copies. Each request goes to the less loaded of two replicas.
    pub const fn single(self) -> Self {
        Self {
            purging: Policy::SINGLE,
            elsewhere: Policy::SINGLE,
            ..self
        }
    }

    /// Returns the slots of the trial. Without copies there is nothing to find out, so there is no trial.
    pub(super) fn trial_slots(&self, replicas: usize) -> Option<TrialSlots> {
        let sends_copies = self.purging.copies > 1 || self.elsewhere.copies > 1;
        self.trial.filter(|_| sends_copies && replicas > 1)
    }

    /// Returns the fault of the configuration, if it has one.
    pub fn fault(&self) -> Option<&'static str> {
        for policy in [&self.purging, &self.elsewhere] {
            if let Some(fault) = policy.fault() {
                return Some(fault);
            }
            if policy.budget.is_some() || policy.uses_credit {
                return Some("the budget of a client is not part of its policies");
            }
            // The driver supports only one primary and one copy, and drops the other one after the first answer.
            if policy.copies > 2 || policy.quorum != 1 || policy.aggregates {
                return Some(
                    "a client sends two copies at most, and the first answer ends a request",
                );
            }
        }
        let length = self.trial.map(|trial| trial.length);
        if length.is_some_and(|length| length < Duration::from_millis(1)) {
            return Some("the slots of a trial must have at least 1 ms");
        }
        if !self.resets.rate.is_finite() || self.resets.rate < 0.0 {
            return Some("the rate of resets must be a number of at least 0");
        }
        None
    }
}
