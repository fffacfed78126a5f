//! Policies of clients: number, priority and time of the copies of a request.

use super::header::CancelScope;
use tailcut_units::Duration;

/// Largest number of copies of a request.
pub const MAX_COPIES: usize = 8;

/// Time at which copies beyond the quorum are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trigger {
    /// All copies are sent together.
    #[default]
    AtOnce,
    /// Each time this span passes without an answer, a further copy is sent.
    After(Duration),
    /// Each time a percentile of the client's earlier latencies passes without an answer, a further copy is sent.
    AfterPercentile(Percentile),
    /// Each time a copy fails, a further copy is sent. Triggers other than this one also send it then.
    OnFailure,
}

/// Split of an object among its copies, where the bytes of all copies count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Split {
    /// The first copy sends from the front and the second copy from the tail, until they meet.
    /// Further copies share the tail, piece by piece.
    #[default]
    Meet,
    /// Each copy requests one piece at a time, and its server sends the piece forwards, as with HTTP range requests.
    /// The first copy requests pieces from the front, all other copies from the back ([`Ranges`](super::Ranges)).
    Ranges,
}

/// Percentile of a client's recent latencies.
/// The default is p95 of 100 latencies, and 10 ms before the first latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percentile {
    /// Percentile in thousandths, 1 to 999: 950 is p95.
    pub thousandths: u16,
    /// Largest number of recent latencies from which the percentile is computed, at least 1.
    pub window: u32,
    /// Delay of a further copy while the client has measured no latency.
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

/// Budget of copies beyond the quorum, as in gRPC, Finagle and Envoy.
/// Each request adds `thousandths / 1000` of a token, and each copy beyond the quorum takes one token.
/// The budget starts full and holds at most `burst` tokens. Without a token, the copy is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetConfig {
    /// Thousandths of a token that each request adds to the budget.
    pub thousandths: u32,
    /// Largest number of tokens, which is the largest burst of copies.
    pub burst: u32,
}

/// Policy of a client for all its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Largest number of copies of a request: 1 to [`MAX_COPIES`].
    pub copies: u8,
    /// Number of complete answers that a request needs: 1 to `copies`.
    /// The same number of copies is sent immediately, in the high class.
    pub quorum: u8,
    /// Whether copies beyond the quorum have the low class.
    pub low_priority: bool,
    /// Time at which copies beyond the quorum are sent.
    pub trigger: Trigger,
    /// Copies that are cancelled at servers when a request ends; `None`: servers finish all copies.
    pub purge: Option<CancelScope>,
    /// Whether the bytes of all copies count. Needs two or more copies and a quorum of one.
    pub aggregates: bool,
    /// Split of the object among the copies, if `aggregates` is set.
    pub split: Split,
    /// Size of a piece in bytes, at least 1. Pieces are used with more than two copies, and with [`Split::Ranges`].
    /// With [`Split::Meet`] the first copy requests the whole object in place of pieces.
    pub piece: u64,
    /// Lead in bytes at which the low copy and the high copy exchange their priorities.
    /// The lead is measured in congestion windows if answers carry them, otherwise in received bytes. `None`: never.
    pub swap_lead: Option<u64>,
    /// Budget of copies beyond the quorum; `None`: no limit.
    pub budget: Option<BudgetConfig>,
    /// Whether copies may use credit before they use tokens of the budget.
    /// Each request with a good answer earns the credit of one copy. Copies after a failure may always use credit.
    /// With credit, all requests can be copied while they succeed. Use it for servers where copies cost almost nothing:
    /// servers that run low-priority work after high-priority work, and stop the work on cancelled copies.
    pub uses_credit: bool,
}

impl Policy {
    /// Policy with one copy, without duplicates.
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
        uses_credit: false,
    };

    /// Policy with two copies that are sent together, in the same class. Copies are never cancelled.
    pub const DUPLICATE: Self = Self {
        copies: 2,
        ..Self::SINGLE
    };

    /// Policy with two copies that are sent together. The second copy has the low class. Copies are never cancelled.
    pub const DUPLICATE_LOW: Self = Self {
        low_priority: true,
        ..Self::DUPLICATE
    };

    /// Policy of duplicate-aware scheduling (DAS).
    /// The second copy has the low class, and the first answer purges all other copies.
    pub const DAS: Self = Self {
        purge: Some(CancelScope::Running),
        ..Self::DUPLICATE_LOW
    };

    /// Policy of RANS: duplicate-aware scheduling, and the bytes of both copies count.
    pub const RANS: Self = Self {
        aggregates: true,
        ..Self::DAS
    };

    /// Whether copies request one piece at a time.
    pub const fn asks_in_pieces(&self) -> bool {
        self.aggregates && (self.copies > 2 || matches!(self.split, Split::Ranges))
    }

    /// Returns the fault of the policy, if it has one.
    pub fn fault(&self) -> Option<&'static str> {
        let copies = usize::from(self.copies);
        if copies == 0 || copies > MAX_COPIES {
            return Some("copies must be 1 to 8");
        }
        if self.quorum == 0 || self.quorum > self.copies {
            return Some("the quorum must be 1 to the number of copies");
        }
        if self.aggregates && (self.copies < 2 || self.quorum != 1) {
            return Some("aggregation needs two copies or more, and a quorum of one");
        }
        if self.asks_in_pieces() && self.purge.is_none() {
            return Some("copies that request pieces need a purge");
        }
        if self.swap_lead.is_some() && (self.copies != 2 || self.quorum != 1) {
            return Some("only two copies with a quorum of one can exchange priorities");
        }
        match self.trigger {
            Trigger::AfterPercentile(percentile)
                if !(1..=999).contains(&percentile.thousandths) || percentile.window == 0 =>
            {
                Some(
                    "a percentile must be above 0 and below 100, over a window of at least one latency",
                )
            }
            _ => None,
        }
    }
}
