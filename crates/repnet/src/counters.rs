//! Counters of the flows of a process or of a part of it, and gauges of the state that is held now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tailcut_transport::repnet::{Event, Reason};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// Copy of the counters that later events do not change.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        #[non_exhaustive]
        pub struct Stats { $($(#[doc = $doc])+ pub $name: u64,)* }

        #[derive(Debug, Default)]
        pub(crate) struct Counts { $(pub $name: Counter,)* }

        impl Counts {
            fn snapshot(&self) -> Stats {
                Stats { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Number of replicated flows that were opened.
    opened,
    /// Number of replicated flows that were accepted.
    accepted,
    /// Number of replicated flows that are open now.
    live,
    /// Number of flows whose legs carried different bytes, or ended at different lengths.
    diverged,
    /// Number of flows that were plain, because the capability of the target was unknown.
    plain_unknown,
    /// Number of flows that were plain, because the target does not support RepNet.
    plain_incapable,
    /// Number of flows that were plain, because a capable target did not answer the last leg.
    plain_doubtful,
    /// Number of flows that were plain, because the replica port did not answer within the fallback delay.
    plain_silent,
    /// Number of flows that were plain, because the budget was used up.
    plain_budget,
    /// Number of flows that were plain, because neither leg could be opened.
    plain_fallback,
    /// Number of flows that were refused, because `accept` was too slow.
    refused_full,
    /// Number of flows that were refused, because the listener was closing.
    refused_closing,
    /// Number of flows that were refused, because the limit of remembered flows was reached.
    refused_tombstones,
    /// Number of connections opened, or accepted with a valid hello.
    legs_opened,
    /// Number of legs that became established and carried bytes.
    legs_established,
    /// Number of second legs that became established and carried bytes.
    legs_paired,
    /// Number of second legs that were added to a connection after it had been idle.
    legs_rejoined,
    /// Number of paired flows in which the first leg was the faster one for most bytes.
    won_first,
    /// Number of paired flows in which the second leg was the faster one for most bytes.
    won_second,
    /// Number of legs that arrived too late and were refused.
    legs_late,
    /// Number of legs given up, because the connection failed.
    dropped_failed,
    /// Number of legs given up, because they were not established in time.
    dropped_leg_deadline,
    /// Number of legs given up, because the other leg won the race of handshakes, or carried all bytes.
    dropped_lost,
    /// Number of legs given up, because too many bytes were kept for a leg that had not arrived.
    dropped_archive_over_threshold,
    /// Number of legs given up, because the flow was longer than the limit of replication.
    dropped_bytes_over_limit,
    /// Number of legs given up, because they were too far behind the other leg.
    dropped_lag_over_cap,
    /// Number of legs given up, because they did not finish in time after the other leg.
    dropped_confirm_timeout,
    /// Number of legs given up, because the application gave up the flow.
    dropped_abort,
    /// Number of legs given up, because the legs carried different bytes.
    dropped_diverged,
    /// Number of legs given up, because no RepNet server answered.
    dropped_foreign,
    /// Number of legs given up, because the two legs reached two different servers.
    dropped_other_instance,
    /// Number of legs given up, because the server refused them or they failed in the hello.
    dropped_refused,
    /// Number of legs given up, because their stream ended before the bytes that the other leg had delivered.
    dropped_early_fin,
    /// Number of legs given up, because they were behind when the connection was idle.
    dropped_behind,
    /// Number of legs given up, because another leg rejoined in their place.
    dropped_replaced,
    /// Number of legs given up, because the flow that they had to rejoin ended.
    dropped_not_needed,
    /// Number of connections given up, because no hello arrived in time.
    dropped_hello_timeout,
    /// Number of connections given up, because the second leg came from another address than the first.
    dropped_other_address,
    /// Number of flows that were plain or RepSYN because of the budget.
    budget_refusals,
    /// Number of bytes of the application that were written to a second leg.
    bytes_sent_twice,
    /// Number of flows that now wait for their second leg.
    waiting,
    /// Number of ended flows that are now remembered.
    tombstones,
    /// Number of connections with an incomplete hello, or with an answer to it, that have not ended.
    pending_hellos,
    /// Number of legs without a flow that have not ended yet.
    lingering,
    /// Number of listeners with a replica port.
    servers_paired,
}

/// One counter. Counters are read independently, so their order does not matter.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
    pub fn up(&self) {
        self.add(1);
    }
    pub fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters to which any number of connectors and listeners add. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct Counters(pub(crate) Arc<Counts>);

impl Counters {
    /// Creates counters at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Present values of the counters.
    pub fn snapshot(&self) -> Stats {
        self.0.snapshot()
    }
}

impl Counts {
    /// Counts a leg that was given up.
    pub fn dropped(&self, reason: Reason) {
        let counter = match reason {
            Reason::Event(event) => match event {
                Event::LegFailed => &self.dropped_failed,
                Event::LegDeadline => &self.dropped_leg_deadline,
                Event::ArchiveOverThreshold => &self.dropped_archive_over_threshold,
                Event::BytesOverLimit => &self.dropped_bytes_over_limit,
                Event::LagOverCap => &self.dropped_lag_over_cap,
                Event::ConfirmTimeout => &self.dropped_confirm_timeout,
                Event::Abort => &self.dropped_abort,
                Event::Diverged => &self.dropped_diverged,
                _ => &self.dropped_lost,
            },
            Reason::Foreign => &self.dropped_foreign,
            Reason::OtherInstance => &self.dropped_other_instance,
            Reason::Refused => &self.dropped_refused,
            Reason::EarlyFin => &self.dropped_early_fin,
            Reason::Behind => &self.dropped_behind,
            Reason::Replaced => &self.dropped_replaced,
            Reason::NotNeeded => &self.dropped_not_needed,
        };
        counter.up();
    }
}
