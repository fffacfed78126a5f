//! Requests in a run: the parameters of servers and policies, and the books of what became of each.
//! [`stations`] has no packets, only stations and delays; [`network`] is the fabric.

mod books;
pub(crate) mod network;
pub(crate) mod stations;

use crate::config::{FlowsSpec, RequestRate, RequestsPart, RunConfig};
use crate::design::{Duplicates, Replication};
pub(crate) use books::Books;
use tailcut_fabric::queue::{Limit, PushOut, QueueConfig, Sharing, Trimming};
use tailcut_transport::rans::{
    BudgetConfig, CancelScope, Discipline, Policy, Preemption, ServerConfig, Trigger,
};
use tailcut_units::{Bytes, Duration, Rate, Time};
use tailcut_workload::{Error, Requests, RequestsSpec, WorkSpec};

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
    /// Bytes that disks and links serve as one unit, and that each copy of three or more is asked for at a
    /// time.
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
                straggler_factor: 1.0,
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
            swap_lead: None,
            hedge: Trigger::AfterPercentile {
                thousandths: 950,
                window: 100,
                first: Duration::from_ms(10),
            },
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
    pub(crate) fn server(&self, link: Option<Rate>) -> ServerConfig {
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
    fn bottleneck_seconds(&self, bytes: f64, link: Rate) -> f64 {
        let over = |rate: Rate| bytes * 8.0 / rate.as_bps() as f64;
        let disk = self
            .disk
            .map_or(0.0, |disk| over(disk) + self.work.seek.as_secs_f64());
        over(link).max(disk).max(self.work.mean_cpu())
    }
}

/// The queue that switches have under requests: `classes` of the transport's own, and below them that of
/// duplicates, which they do not know.
pub(crate) fn queue(classes: u8, limit: Limit, mark_above: Option<Limit>) -> QueueConfig {
    QueueConfig::PushOut(PushOut {
        classes: classes + 1,
        group: classes,
        limit,
        mark_above,
    })
}

/// The same over a `usual` queue that trims. Duplicates have as much room for themselves.
pub(crate) fn trimming(usual: Trimming) -> QueueConfig {
    QueueConfig::Trimming(Trimming {
        classes: usual.classes + 1,
        sharing: match usual.sharing {
            Sharing::PerClass => Sharing::PerClass,
            Sharing::Shared | Sharing::LastApart => Sharing::LastApart,
        },
        ..usual
    })
}

/// The load that a request a second puts on the busiest stations of all servers, copies beyond the quorum
/// not counted.
fn load_of_one(config: &RunConfig, part: &RequestsPart, link: Rate) -> f64 {
    let parameters = &config.designs.requests;
    let seconds = parameters.bottleneck_seconds(part.sizes.mean(), link);
    seconds * f64::from(parameters.quorum) / f64::from(part.servers)
}

/// Requests a second of a workload's part, and the load that they put on the busiest stations of all
/// servers, whose links have `link`.
pub(crate) fn rate_and_load(config: &RunConfig, part: &RequestsPart, link: Rate) -> (f64, f64) {
    let of_one = load_of_one(config, part, link);
    match part.rate {
        RequestRate::PerSecond(rate) => (rate, rate * of_one),
        RequestRate::Load(fraction) => (fraction / of_one, fraction),
    }
}

/// The requests of a workload's part, where servers have links of `link`.
///
/// # Errors
/// As [`Requests::new`].
pub(crate) fn source(
    config: &RunConfig,
    part: &RequestsPart,
    label: u64,
    link: Rate,
) -> Result<Requests, Error> {
    let parameters = &config.designs.requests;
    let (per_second, _) = rate_and_load(config, part, link);
    Requests::new(RequestsSpec {
        seed: config.seed,
        label,
        clients: part.clients,
        servers: part.servers,
        sizes: (*part.sizes).clone(),
        arrivals: part.arrivals,
        per_second,
        start: Time::ZERO + part.from,
        until: Time::ZERO + part.until,
        at_most: part.max_requests,
        work: parameters.work,
    })
}

/// The part of a workload that is of requests, and its number.
pub(crate) fn part_of(config: &RunConfig) -> Option<(u64, &RequestsPart)> {
    let parts = (0..).zip(&config.workload.parts);
    let mut requests = parts.filter_map(|(label, part)| match &part.flows {
        FlowsSpec::Requests(requests) => Some((label, requests)),
        _ => None,
    });
    requests.next()
}
