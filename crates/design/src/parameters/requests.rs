//! Parameters of requests, servers and duplicates.

use crate::replication::{Duplicates, Replication};
use tailcut_requests::{
    BudgetConfig, CancelScope, Discipline, Percentile, Policy, Preemption, ServerConfig, Split,
    Trigger,
};
use tailcut_units::{Bytes, Duration, Rate};
use tailcut_workload::WorkSpec;

/// Parameters of servers, of the model without packets, and of policies.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestParameters {
    /// Work that a copy brings beside its bytes.
    pub work: WorkSpec,
    /// How fast a server's disk reads; `None`: no disk.
    pub disk: Option<Rate>,
    /// The rate of a server's link in the model without packets.
    pub link: Rate,
    /// Bytes of a request on its way to a server, where there are packets.
    pub request_size: Bytes,
    /// Bytes that disks and links serve as one unit, and that a copy is asked for at a time where it is asked for
    /// pieces: each of three or more, and all by ranges.
    pub chunk: Bytes,
    /// The order among copies of one class.
    pub discipline: Discipline,
    /// When high work interrupts low work.
    pub preemption: Preemption,
    /// The rate of a client's link in the model without packets; `None`: it takes no time.
    pub client_link: Option<Rate>,
    /// The delay of every message in the model without packets.
    pub delay: Duration,
    /// The delay of a cancellation; `None`: that of every message.
    pub purge_delay: Option<Duration>,
    /// Copies of a request, 1 to 8.
    pub copies: u8,
    /// Whole answers that a request needs, 1 to `copies`.
    pub quorum: u8,
    /// What a purge takes away at servers.
    pub purge: CancelScope,
    /// How `rans` splits an object among copies.
    pub split: Split,
    /// The lead at which a low copy and a high one change places.
    pub swap_lead: Option<Bytes>,
    /// When a hedge is sent.
    pub hedge: Trigger,
    /// What `hedge-budget` may send.
    pub budget: BudgetConfig,
}

impl Default for RequestParameters {
    fn default() -> Self {
        Self {
            work: WorkSpec {
                straggler_factor: 10.0,
                ..WorkSpec::default()
            },
            disk: None,
            link: Rate::from_gbps(1),
            request_size: Bytes(100),
            chunk: Bytes(1_000_000),
            discipline: Discipline::Fifo,
            preemption: Preemption::Resume,
            client_link: None,
            delay: Duration::from_us(50),
            purge_delay: None,
            copies: 2,
            quorum: 1,
            purge: CancelScope::Running,
            split: Split::Meet,
            swap_lead: None,
            hedge: Trigger::AfterPercentile(Percentile::default()),
            budget: BudgetConfig {
                thousandths: 100,
                burst: 10,
            },
        }
    }
}

impl RequestParameters {
    /// What clients do in a design.
    pub fn policy(&self, replication: Replication) -> Policy {
        let quorum = self.quorum;
        let single = Policy {
            copies: quorum,
            quorum,
            ..Policy::SINGLE
        };
        let Replication::Duplicates(duplicates) = replication else {
            return single;
        };
        let (purge, trigger) = (Some(self.purge), self.hedge);
        let all = Policy {
            copies: self.copies,
            ..single
        };
        let low = Policy {
            low_priority: true,
            swap_lead: self.swap_lead.map(|lead| lead.0),
            ..all
        };
        match duplicates {
            Duplicates::All => all,
            Duplicates::Purged => Policy { purge, ..all },
            Duplicates::Low => low,
            Duplicates::Das => Policy { purge, ..low },
            Duplicates::Rans => Policy {
                purge,
                aggregates: true,
                split: self.split,
                piece: self.chunk.0,
                ..low
            },
            Duplicates::Hedge => Policy { trigger, ..all },
            Duplicates::HedgePurged => Policy {
                trigger,
                purge,
                ..all
            },
            Duplicates::HedgeBudget => Policy {
                trigger,
                budget: Some(self.budget),
                ..all
            },
        }
    }

    /// A server whose answers leave over `link`.
    pub fn server(&self, link: Option<Rate>) -> ServerConfig {
        ServerConfig {
            discipline: self.discipline,
            preemption: self.preemption,
            disk: self.disk,
            link,
            chunk: self.chunk.0,
        }
    }

    /// The mean time that a copy of `bytes` in the mean keeps the busiest station of a server whose link
    /// has `link`, in seconds.
    pub fn bottleneck_seconds(&self, bytes: f64, link: Rate) -> f64 {
        let over = |rate: Rate| bytes * 8.0 / rate.as_bps() as f64;
        let disk = self
            .disk
            .map_or(0.0, |disk| over(disk) + self.work.seek.as_secs_f64());
        over(link).max(disk).max(self.work.mean_cpu())
    }
}
