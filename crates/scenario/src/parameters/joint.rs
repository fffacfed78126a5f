//! Parameters that several keys set together.

use tailcut_sim::requests::{Percentile, Trigger};
use tailcut_sim::transport::StragglerPolicy;
use tailcut_sim::transport::nic::Coalescing;
use tailcut_sim::transport::tcp::DelayedAck;
use tailcut_sim::{HullParameters, PacerParameters, PhantomParameters, Settings};
use tailcut_units::Duration;

/// What several keys set together, until [`Joint::settle`] puts it in its places.
#[derive(Clone, Debug)]
pub struct Joint {
    pub acks: Acks,
    pub hull: Hull,
    /// That of NICs; one frame an interrupt is none.
    pub coalescing: Coalescing,
    pub hedge: Hedge,
    /// Hedges in per cent of requests.
    pub budget: f64,
    /// Receivers that must have everything, where stragglers are left behind by a quorum.
    pub quorum: u16,
}

/// When ACKs are held back.
#[derive(Clone, Debug)]
pub struct Acks {
    /// Segments an ACK; `None`: every segment is acknowledged at once.
    pub segments: Option<u8>,
    /// The longest; `None`: what goes with the least retransmission timeout.
    pub timeout: Option<Duration>,
}

/// The parts of HULL.
#[derive(Clone, Debug)]
pub struct Hull {
    /// The drain of the phantom queues; `None`: there are none.
    pub phantom_drain: Option<f64>,
    /// Them, but for the drain.
    pub phantom: PhantomParameters,
    /// Whether NICs have pacers.
    pub has_pacer: bool,
    /// Them.
    pub pacer: PacerParameters,
}

/// When a hedge is sent.
#[derive(Clone, Debug)]
pub struct Hedge {
    /// The fixed delay; `None`: the percentile's.
    pub after: Option<Duration>,
    /// Which percentile, in per cent,
    pub percent: f64,
    /// of how many latencies,
    pub window: u32,
    /// and the delay before the first of them.
    pub first: Duration,
}

impl Joint {
    /// What there is of it in settings.
    pub fn of(settings: &Settings) -> Self {
        let requests = &settings.designs.requests;
        let (after, percentile) = match requests.hedge {
            Trigger::AtOnce => (Some(Duration::ZERO), Percentile::default()),
            Trigger::After(delay) => (Some(delay), Percentile::default()),
            Trigger::AfterPercentile(percentile) => (None, percentile),
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
            // No library has a default.
            quorum: 2,
        }
    }

    /// Puts it in its places.
    pub fn settle(self, settings: &mut Settings) {
        let held_back = DelayedAck::below(settings.tcp.min_rto).timeout;
        settings.tcp.delayed_ack = self.acks.segments.map(|segments| DelayedAck {
            segments,
            timeout: self.acks.timeout.unwrap_or(held_back),
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
