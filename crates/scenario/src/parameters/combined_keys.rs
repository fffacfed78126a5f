//! Parameters that depend on several keys.

use tailcut_sim::requests::{Percentile, Trigger};
use tailcut_sim::transport::StragglerPolicy;
use tailcut_sim::transport::nic::Coalescing;
use tailcut_sim::transport::nic::PacerConfig;
use tailcut_sim::transport::tcp::DelayedAck;
use tailcut_sim::{HullParameters, PhantomParameters, Settings};
use tailcut_units::Duration;

/// Values of keys that set a parameter together. [`CombinedKeys::resolve`] computes the parameters from the values.
#[derive(Clone, Debug)]
pub struct CombinedKeys {
    pub acks: Acks,
    pub hull: Hull,
    /// Interrupt coalescing of NICs. One frame per interrupt means no coalescing.
    pub coalescing: Coalescing,
    pub hedge: Hedge,
    /// Budget of hedges, in per cent of the number of requests.
    pub budget: f64,
    /// Number of receivers that must have all data. Used if the straggler policy is a quorum.
    pub quorum: u16,
}

/// Delayed ACKs.
#[derive(Clone, Debug)]
pub struct Acks {
    /// Segments per ACK. `None`: every segment is acknowledged immediately.
    pub segments: Option<u8>,
    /// Longest delay of an ACK. `None`: a delay that fits the smallest retransmission timeout.
    pub timeout: Option<Duration>,
}

/// Parameters of HULL.
#[derive(Clone, Debug)]
pub struct Hull {
    /// Drain rate of the phantom queues, as a share of the link rate. `None`: no phantom queues.
    pub phantom_drain: Option<f64>,
    /// All parameters of the phantom queues except the drain rate.
    pub phantom: PhantomParameters,
    /// Whether NICs have pacers.
    pub has_pacer: bool,
    /// Parameters of the pacers.
    pub pacer: PacerConfig,
}

/// Time when a hedge is sent.
#[derive(Clone, Debug)]
pub struct Hedge {
    /// Fixed delay. `None`: the delay is a percentile of the latencies.
    pub after: Option<Duration>,
    /// Percentile of the latencies after which a hedge is sent, in per cent.
    pub percent: f64,
    /// Number of most recent latencies over which the percentile is computed.
    pub window: u32,
    /// Delay of a hedge until the first percentile is known.
    pub first: Duration,
}

impl CombinedKeys {
    /// Extracts the values of the combined keys from settings.
    pub fn of(settings: &Settings) -> Self {
        let requests = &settings.designs.requests;
        let (after, percentile) = match requests.hedge {
            Trigger::AtOnce => (Some(Duration::ZERO), Percentile::default()),
            Trigger::After(delay) => (Some(delay), Percentile::default()),
            Trigger::AfterPercentile(percentile) => (None, percentile),
            // No key chooses this trigger. Its delay never ends.
            Trigger::OnFailure => (Some(Duration::MAX), Percentile::default()),
        };
        let HullParameters { phantom, pacer } = settings.designs.hull;
        Self {
            acks: Acks {
                segments: settings.tcp.delayed_ack.map(|ack| ack.segments),
                timeout: None,
            },
            hull: Hull {
                phantom_drain: phantom.map(|phantom| phantom.drain),
                phantom: phantom.unwrap_or_default(),
                has_pacer: pacer.is_some(),
                pacer: pacer.unwrap_or_default(),
            },
            coalescing: settings.nic.coalescing.unwrap_or_default(),
            hedge: Hedge {
                after,
                percent: f64::from(percentile.thousandths) / 10.0,
                window: percentile.window,
                first: percentile.first,
            },
            budget: f64::from(requests.budget.thousandths) / 10.0,
            // Settings have no default for the size of a quorum, because other policies do not use it.
            quorum: 2,
        }
    }

    /// Computes the parameters and stores them in settings.
    pub fn resolve(self, settings: &mut Settings) {
        let default_timeout = DelayedAck::below(settings.tcp.min_rto).timeout;
        settings.tcp.delayed_ack = self.acks.segments.map(|segments| DelayedAck {
            segments,
            timeout: self.acks.timeout.unwrap_or(default_timeout),
        });
        settings.nic.coalescing = (self.coalescing.frames > 1).then_some(self.coalescing);
        let (designs, hull) = (&mut settings.designs, self.hull);
        designs.hull = HullParameters {
            phantom: hull.phantom_drain.map(|drain| PhantomParameters {
                drain,
                ..hull.phantom
            }),
            pacer: hull.has_pacer.then_some(hull.pacer),
        };
        if let StragglerPolicy::Quorum(quorum) = &mut designs.scdp.stragglers.policy {
            *quorum = self.quorum;
        }
        designs.requests.hedge = match self.hedge.after {
            Some(delay) => Trigger::After(delay),
            None => Trigger::AfterPercentile(Percentile {
                thousandths: thousandths(self.hedge.percent).max(1) as u16,
                window: self.hedge.window,
                first: self.hedge.first,
            }),
        };
        designs.requests.budget.thousandths = thousandths(self.budget);
    }
}

fn thousandths(percent: f64) -> u32 {
    (percent * 10.0).round() as u32
}
