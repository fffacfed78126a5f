//! Counters of the flows of one process, or of some of its connectors and listeners. Gauges count the present state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tailcut_transport::repnet::{Event, Reason};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// Values of the counters at one moment. Later events do not change them.
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
    /// Number of flows whose two connections carried different bytes, or ended at different lengths.
    diverged,
    /// Number of flows with one plain connection, because the capability of the target was unknown.
    plain_unknown,
    /// Number of flows with one plain connection, because the target does not support RepNet.
    plain_incapable,
    /// Number of flows with one plain connection, because a capable target did not answer the last time.
    plain_doubtful,
    /// Number of flows with one plain connection, because the replica port did not answer within the fallback delay.
    plain_silent,
    /// Number of flows with one plain connection, because the budget was used up.
    plain_budget,
    /// Number of flows with one plain connection, because neither of the two connections could be opened.
    plain_fallback,
    /// Number of flows that were refused, because the application called `accept` too slowly.
    refused_full,
    /// Number of flows that were refused, because the listener was closing.
    refused_closing,
    /// Number of flows that were refused, because the limit of remembered flows was reached.
    refused_tombstones,
    /// Number of connections opened, or accepted with a valid hello.
    legs_opened,
    /// Number of connections of flows that became established and carried bytes.
    legs_established,
    /// Number of second connections that became established and carried bytes.
    legs_paired,
    /// Number of second connections that were added to a flow after it had been idle.
    legs_rejoined,
    /// Number of flows with two connections in which the first one was faster for most bytes.
    won_first,
    /// Number of flows with two connections in which the second one was faster for most bytes.
    won_second,
    /// Number of connections that arrived too late for their flow and were refused.
    legs_late,
    /// Number of connections given up, because they failed.
    dropped_failed,
    /// Number of connections given up, because they were not established in time.
    dropped_leg_deadline,
    /// Number of connections given up, because the other one won the race of handshakes, or carried all bytes.
    dropped_lost,
    /// Number of connections given up, because too many bytes were kept for a connection that had not arrived.
    dropped_archive_over_threshold,
    /// Number of connections given up, because the flow was longer than the limit of replication.
    dropped_bytes_over_limit,
    /// Number of connections given up, because they were too far behind the flow's other connection.
    dropped_lag_over_cap,
    /// Number of connections given up, because they did not finish in time after the flow's other connection.
    dropped_confirm_timeout,
    /// Number of connections given up, because the application closed the flow.
    dropped_abort,
    /// Number of connections given up, because a flow's two connections carried different bytes.
    dropped_diverged,
    /// Number of connections given up, because no RepNet server answered.
    dropped_foreign,
    /// Number of connections given up, because a flow's two connections reached two different servers.
    dropped_other_instance,
    /// Number of connections given up, because the server refused them or they failed in the hello.
    dropped_refused,
    /// Number of connections given up, because they ended before they had all bytes of the other connection.
    dropped_early_fin,
    /// Number of connections given up, because they were behind the other connection when the flow was idle.
    dropped_behind,
    /// Number of connections given up, because a new connection took their role in the flow.
    dropped_replaced,
    /// Number of connections given up, because the flow that they had to rejoin ended.
    dropped_not_needed,
    /// Number of connections given up, because no hello arrived in time.
    dropped_hello_timeout,
    /// Number of connections given up, because a flow's second connection came from another address than the first.
    dropped_other_address,
    /// Number of flows that the budget limited to RepSYN or to one plain connection.
    budget_refusals,
    /// Number of bytes of the application that were written to a second connection.
    bytes_sent_twice,
    /// Number of flows that now wait for their second connection.
    waiting,
    /// Number of ended flows that are now remembered.
    tombstones,
    /// Number of connections that have not ended, and whose hello is incomplete or was refused.
    pending_hellos,
    /// Number of connections that no longer belong to a flow and have not ended yet.
    lingering,
    /// Number of listeners with a replica port.
    servers_paired,
}

/// One counter. Each counter is read separately, so the order of writes to different counters does not matter.
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

    /// Returns the present values of the counters.
    pub fn snapshot(&self) -> Stats {
        self.0.snapshot()
    }
}

impl Counts {
    /// Counts a connection that was given up.
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
