//! What a client does about slow answers.

use super::header::CancelScope;
use tailcut_units::Duration;

/// The most copies of a request.
pub const MAX_COPIES: usize = 8;

/// When copies beyond the first ones are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trigger {
    /// Together with the first ones.
    #[default]
    AtOnce,
    /// One copy after this span without an answer.
    After(Duration),
    /// One copy after the client's own percentile of latency.
    AfterPercentile(Percentile),
}

/// How an object is split among the copies whose bytes all count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// The first copy sends from the front, the second one from the tail, until they meet. Further ones share the
    /// tail, piece by piece.
    #[default]
    Meet,
    /// Each copy is asked for a piece at a time and sends it forwards: the first one takes pieces from the front, the
    /// others from the back ([`Ranges`](super::Ranges)). So do HTTP's ranges.
    Ranges,
}

/// A percentile of a client's latest latencies. By default p95 of 100, and 10 ms before the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percentile {
    /// The percentile in thousandths, 1 to 999: 950 is p95.
    pub thousandths: u16,
    /// How many of the latest latencies it is taken over at most, at least 1.
    pub window: u32,
    /// The delay until one latency is known.
    pub first: Duration,
}

impl Default for Percentile {
    fn default() -> Self {
        Self {
            thousandths: 950,
            window: 100,
            first: Duration::from_ms(10),
        }
    }
}

/// A bound on copies beyond the first ones, as in gRPC, Finagle and Envoy: each request adds
/// `thousandths / 1000` of a token, each such copy takes one; `burst` tokens are kept at most, and so many
/// are there at first. A copy that finds no token is not sent later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetConfig {
    /// Thousandths of a copy that a request allows.
    pub thousandths: u32,
    /// Copies that may follow each other at once.
    pub burst: u32,
}

/// What a client does with its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Copies of a request at most, N: 1 to [`MAX_COPIES`].
    pub copies: u8,
    /// Whole answers that a request needs, K: 1 to `copies`. So many copies are sent at once and high.
    pub quorum: u8,
    /// Whether copies beyond the quorum go in the low class.
    pub low_priority: bool,
    /// When copies beyond the quorum are sent.
    pub trigger: Trigger,
    /// What the end of a request takes away at servers; `None`: nothing, their work goes on.
    pub purge: Option<CancelScope>,
    /// Whether bytes of all copies count (two copies or more, a quorum of one): the others send from the
    /// tail.
    pub aggregates: bool,
    /// How they are split then.
    pub split: Split,
    /// Where those of more than two count: bytes that each copy but the first is asked for at a time, at
    /// least 1. By ranges: bytes that each copy is asked for at a time.
    pub piece: u64,
    /// The low copy and the high one change places once the low one is this many bytes ahead, in the
    /// congestion window of its sender where that is told, else in what has come; `None`: never.
    pub swap_lead: Option<u64>,
    /// A bound on copies beyond the quorum; `None`: none.
    pub budget: Option<BudgetConfig>,
}

impl Policy {
    /// One copy: no duplicates.
    pub const SINGLE: Self = Self {
        copies: 1,
        quorum: 1,
        low_priority: false,
        trigger: Trigger::AtOnce,
        purge: None,
        aggregates: false,
        split: Split::Meet,
        piece: 1_000_000,
        swap_lead: None,
        budget: None,
    };

    /// Two copies in one class at once; nothing is ever cancelled.
    pub const DUPLICATE: Self = Self {
        copies: 2,
        ..Self::SINGLE
    };

    /// Two copies at once, the second one low; nothing is ever cancelled.
    pub const DUPLICATE_LOW: Self = Self {
        low_priority: true,
        ..Self::DUPLICATE
    };

    /// Duplicate-aware scheduling: the second copy low, and everything purged by the first answer.
    pub const DAS: Self = Self {
        purge: Some(CancelScope::Running),
        ..Self::DUPLICATE_LOW
    };

    /// RANS: duplicate-aware scheduling, and bytes of both copies count.
    pub const RANS: Self = Self {
        aggregates: true,
        ..Self::DAS
    };

    /// Whether copies are asked for a piece at a time.
    pub const fn asks_in_pieces(&self) -> bool {
        self.aggregates && (self.copies > 2 || matches!(self.split, Split::Ranges))
    }

    /// What is wrong with the policy, if anything is.
    pub fn fault(&self) -> Option<&'static str> {
        let copies = usize::from(self.copies);
        if copies == 0 || copies > MAX_COPIES {
            return Some("copies must be 1 to 8");
        }
        if self.quorum == 0 || self.quorum > self.copies {
            return Some("the quorum must be 1 to the number of copies");
        }
        if self.aggregates && (self.copies < 2 || self.quorum != 1) {
            return Some("bytes of all copies count with two copies or more and a quorum of one");
        }
        if self.asks_in_pieces() && self.purge.is_none() {
            return Some("copies that are asked for pieces have to be purged");
        }
        if self.swap_lead.is_some() && (self.copies != 2 || self.quorum != 1) {
            return Some("two copies and a quorum of one change places, no others");
        }
        match self.trigger {
            Trigger::AfterPercentile(percentile)
                if !(1..=999).contains(&percentile.thousandths) || percentile.window == 0 =>
            {
                Some("a percentile must be above 0 and below 100, over a window of at least one")
            }
            _ => None,
        }
    }
}
