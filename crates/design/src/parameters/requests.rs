//! Parameters of requests, servers and duplicates.

use crate::replication::{Duplicates, Replication};
use tailcut_requests::{
    BudgetConfig, CancelScope, Discipline, Percentile, Policy, Preemption, ServerConfig, Split,
    Trigger,
};
use tailcut_units::{Bytes, Duration, Rate};
use tailcut_workload::WorkSpec;

/// Parameters of servers, of the model without packets, and of policies for copies.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestParameters {
    /// Work of a copy at a server, in addition to the transfer of its bytes.
    pub work: WorkSpec,
    /// Read rate of a server's disk. `None`: no disk.
    pub disk: Option<Rate>,
    /// Rate of a server's link in the model without packets.
    pub link: Rate,
    /// Size of a request in bytes, in models with packets.
    pub request_size: Bytes,
    /// Number of bytes that disks and links serve as one unit.
    /// Clients request pieces of this size if they split by ranges, or if they combine three or more copies.
    pub chunk: Bytes,
    /// Order in which a server serves the copies of one class.
    pub discipline: Discipline,
    /// Rule by which work of high priority interrupts work of low priority.
    pub preemption: Preemption,
    /// Rate of a client's link in the model without packets. `None`: the link takes no time.
    pub client_link: Option<Rate>,
    /// Delay of every message in the model without packets.
    pub delay: Duration,
    /// Delay of a cancellation in the model without packets. `None`: the same as `delay`.
    pub purge_delay: Option<Duration>,
    /// Number of copies of a request, 1 to 8.
    pub copies: u8,
    /// Number of complete answers that a request needs, 1 to `copies`.
    pub quorum: u8,
    /// Work that a purge removes at servers.
    pub purge: CancelScope,
    /// Method with which `rans` splits an object among copies.
    pub split: Split,
    /// Lead of a low copy over a high copy, in bytes, at which the two exchange their classes. `None`: never.
    pub swap_lead: Option<Bytes>,
    /// Time at which a client sends a hedge.
    pub hedge: Trigger,
    /// Budget of copies for the replication `hedge-budget`.
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
    /// Returns the clients' policy under a replication.
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

    /// Returns the configuration of a server whose answers leave over `link`.
    pub fn server(&self, link: Option<Rate>) -> ServerConfig {
        ServerConfig {
            discipline: self.discipline,
            preemption: self.preemption,
            disk: self.disk,
            link,
            chunk: self.chunk.0,
        }
    }

    /// Returns the mean time, in seconds, for which a copy occupies the busiest station of a server.
    /// `bytes` is the mean size of a copy, and `link` is the rate of the server's link.
    pub fn bottleneck_seconds(&self, bytes: f64, link: Rate) -> f64 {
        let over = |rate: Rate| bytes * 8.0 / rate.as_bps() as f64;
        let disk = self
            .disk
            .map_or(0.0, |disk| over(disk) + self.work.seek.as_secs_f64());
        over(link).max(disk).max(self.work.mean_cpu())
    }
}
