//! Budget of a client's copies. One budget counts every copy, whatever its reason.

use super::policy::BudgetConfig;

/// Cost of one copy in thousandths of a token.
const COPY: u64 = 1_000;

/// Largest credit, in copies. Chosen, not measured.
/// With a smaller number, a client with more concurrent requests could not copy all of them.
/// With a larger number, more copies could be sent at the beginning of an overload.
const MOST_CREDIT: u64 = 1_000 * COPY;

/// Credit that a request without a good answer costs, in addition to half of the credit.
/// Each request with a good answer earns one copy.
/// So the credit is gone when more than one in ten requests fails, like the tokens of gRPC's retry throttling.
const FAILURE: u64 = 10 * COPY;

/// Budget of copies. It has two accounts:
/// - Tokens: each request earns a fraction of a copy. Every copy may use tokens.
/// - Credit: each request with a good answer earns a whole copy. Only some copies may use credit.
///
/// Requests without a good answer reduce both accounts.
/// If all servers refuse their requests, no account grows, and no copy is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    config: BudgetConfig,
    tokens: u64,
    credit: u64,
}

impl Budget {
    /// Creates a budget with all its tokens, as in gRPC, and without credit.
    pub fn new(config: BudgetConfig) -> Self {
        let tokens = u64::from(config.burst) * COPY;
        Self {
            config,
            tokens,
            credit: 0,
        }
    }

    /// Adds the tokens that one request earns, up to the limit of the budget.
    pub fn earn(&mut self) {
        let most = u64::from(self.config.burst) * COPY;
        self.tokens = (self.tokens + u64::from(self.config.thousandths)).min(most);
    }

    /// Takes one copy from the budget. Returns `false` if the budget is used up.
    pub fn spend(&mut self, may_use_credit: bool) -> bool {
        let tokens = &mut self.tokens;
        let account = match may_use_credit && self.credit >= COPY {
            true => &mut self.credit,
            false => tokens,
        };
        let enough = *account >= COPY;
        if enough {
            *account -= COPY;
        }
        enough
    }

    /// Counts a request with a good answer.
    pub fn succeeded(&mut self) {
        self.credit = (self.credit + COPY).min(MOST_CREDIT);
    }

    /// Counts a request that got no good answer, because its servers are overloaded or unreachable.
    /// The credit of a long time without failures is halved, so that it is gone after a few such requests.
    pub fn failed(&mut self) {
        self.credit = (self.credit / 2).saturating_sub(FAILURE);
        self.tokens = self.tokens.saturating_sub(COPY);
    }
}
