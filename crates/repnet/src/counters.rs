//! Counters of the flows of a process, or of a part of it, and how much is held right now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tailcut_transport::repnet::{Event, Reason};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// A copy of the counters that later events do not change.
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
    /// Replicated flows that were opened.
    opened,
    /// Replicated flows that were accepted.
    accepted,
    /// Replicated flows that are open now.
    live,
    /// Flows whose legs carried different bytes or ended at different lengths.
    diverged,
    /// Plain flows: it was not known whether the target can.
    plain_unknown,
    /// Plain flows: the target cannot.
    plain_incapable,
    /// Plain flows: the target could, but did not answer the last time.
    plain_doubtful,
    /// Plain flows: nothing answered on the replica port within the fallback delay.
    plain_silent,
    /// Plain flows: the budget had no room.
    plain_budget,
    /// Plain flows: neither leg could be opened.
    plain_fallback,
    /// Flows that were not accepted as replicated ones: `accept` was too slow.
    refused_full,
    /// The same: the listener was closing.
    refused_closing,
    /// The same: as many flows are remembered as may be.
    refused_tombstones,
    /// Connections opened, or accepted with a valid hello.
    legs_opened,
    /// Legs that came to carry bytes.
    legs_established,
    /// Second legs that came to carry bytes.
    legs_paired,
    /// Of these, legs of connections that had been idle.
    legs_rejoined,
    /// Paired flows in which the first leg brought more of the bytes first.
    won_first,
    /// The same for the second leg.
    won_second,
    /// Legs that came too late and were turned away.
    legs_late,
    /// Legs given up: the connection failed.
    dropped_failed,
    /// Legs given up: not established in time.
    dropped_leg_deadline,
    /// Legs given up: the other one won the race of handshakes, or carried all there was.
    dropped_lost,
    /// Legs given up: too much was kept for one that had not come.
    dropped_archive_over_threshold,
    /// Legs given up: the flow was longer than replication is for.
    dropped_bytes_over_limit,
    /// Legs given up: too far behind the other one.
    dropped_lag_over_cap,
    /// Legs given up: not finished in time after the other one.
    dropped_confirm_timeout,
    /// Legs given up: the application gave up the flow.
    dropped_abort,
    /// Legs given up: the legs carried different bytes.
    dropped_diverged,
    /// Legs given up: no RepNet server answered.
    dropped_foreign,
    /// Legs given up: the two reached two servers.
    dropped_other_instance,
    /// Legs given up: refused by the server, or failed in the hello.
    dropped_refused,
    /// Legs given up: their stream ended before what the other one had brought.
    dropped_early_fin,
    /// Legs given up: behind when the connection was idle.
    dropped_behind,
    /// Legs given up: another one rejoined in their place.
    dropped_replaced,
    /// Legs given up: to rejoin a flow that ended.
    dropped_not_needed,
    /// Connections given up: no hello in time.
    dropped_hello_timeout,
    /// Connections given up: a second leg from another address than the first.
    dropped_other_address,
    /// Flows that ran plain, or as RepSYN, because of the budget.
    budget_refusals,
    /// Bytes of the application that were written to a second leg.
    bytes_sent_twice,
    /// Flows that wait for their second leg now.
    waiting,
    /// Ended flows that are remembered now.
    tombstones,
    /// Connections that are in the middle of their hello now, or were answered and have not gone.
    pending_hellos,
    /// Legs without a flow that end by themselves now.
    lingering,
    /// Listeners with a replica port.
    servers_paired,
}

/// One counter. Orders nothing: each is read by itself.
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

/// Counters that any number of connectors and listeners add to. Clones are the same counters.
#[derive(Clone, Debug, Default)]
pub struct Counters(pub(crate) Arc<Counts>);

impl Counters {
    /// Counters at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Present values of the counters.
    pub fn snapshot(&self) -> Stats {
        self.0.snapshot()
    }
}

impl Counts {
    /// A leg was given up.
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
