//! Budget of second connections: the share of the flows to a target that may open two connections.
//! The user sets an upper limit of the share.
//! Below the limit the share adapts.
//! The share is halved when connections to the target often fail, and raised slowly otherwise.
//! Many open RepFlow flows are an incast, where a second copy of every answer makes the congestion worse.
//! New flows then use RepSYN (RepNet paper, section II-C).

use std::collections::{BTreeMap, VecDeque};
use tailcut_transport::repnet::Mode;
use tailcut_units::TokenBucket;

/// Number of connections between two changes of a target's share.
const WINDOW: u32 = 32;
/// Share of failed connections, 0 to 1, above which the share of flows with a second connection is halved.
const TOO_MANY: f64 = 0.25;
const FLOOR: f64 = 1.0 / 32.0;
const RAISE: f64 = 1.0 / 8.0;
/// Largest number of second connections in a row after a time without second connections.
const BURST: f64 = 16.0;
/// Largest number of remembered targets. If there are more, the oldest one is removed.
const MOST_TARGETS: usize = 4_096;

/// Target: the host and the port that the application named.
pub(crate) type Target = (String, u16);

#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetLimits {
    /// Largest share of flows with a second connection, 0 to 1.
    pub budget: f64,
    /// Number of open RepFlow flows at which new flows use RepSYN.
    pub incast_limit: u64,
    /// Whether failed connections lower the share.
    pub adaptive: bool,
}

#[derive(Debug)]
struct Budget {
    allowance: f64,
    tokens: TokenBucket,
    outcomes: u32,
    failures: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            allowance: 1.0,
            tokens: TokenBucket::new(0.0),
            outcomes: 0,
            failures: 0,
        }
    }
}

/// Modes that a new flow may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allowed {
    /// The flow may use the wanted mode.
    All,
    /// The flow may use RepSYN, but not RepFlow.
    RepSyn,
    /// The flow may use one plain connection only.
    Nothing,
}

#[derive(Debug, Default)]
pub(crate) struct Budgets {
    targets: BTreeMap<Target, Budget>,
    by_age: VecDeque<Target>,
}

impl Budgets {
    fn of(&mut self, target: &Target) -> &mut Budget {
        // The code does two lookups, because `entry` would copy the name of the target each time.
        if !self.targets.contains_key(target) {
            if self.by_age.len() >= MOST_TARGETS
                && let Some(oldest) = self.by_age.pop_front()
            {
                self.targets.remove(&oldest);
            }
            self.by_age.push_back(target.clone());
            self.targets.insert(target.clone(), Budget::default());
        }
        self.targets.get_mut(target).expect("it was put there")
    }

    /// Returns the modes that a new flow to `target` may use, while `live` flows with two connections are open.
    pub fn ask(
        &mut self,
        target: &Target,
        wanted: Mode,
        live: u64,
        limits: BudgetLimits,
    ) -> Allowed {
        let budget = self.of(target);
        let adapted = if limits.adaptive {
            budget.allowance
        } else {
            1.0
        };
        let share = limits.budget * adapted;
        if share < 1.0 {
            budget.tokens.earn(share, BURST);
            if !budget.tokens.take() {
                return Allowed::Nothing;
            }
        }
        match wanted == Mode::RepFlow && live >= limits.incast_limit {
            true => Allowed::RepSyn,
            false => Allowed::All,
        }
    }

    /// Records whether a connection to `target` was established. The caller also reports connections that failed.
    pub fn outcome(&mut self, target: &Target, established: bool) {
        let budget = self.of(target);
        budget.outcomes += 1;
        budget.failures += u32::from(!established);
        if budget.outcomes < WINDOW {
            return;
        }
        let failed = f64::from(budget.failures) / f64::from(budget.outcomes);
        budget.allowance = match failed > TOO_MANY {
            true => FLOOR.max(budget.allowance / 2.0),
            false => (budget.allowance + RAISE).min(1.0),
        };
        budget.outcomes = 0;
        budget.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BudgetLimits = BudgetLimits {
        budget: 1.0,
        incast_limit: 256,
        adaptive: true,
    };

    fn granted(budgets: &mut Budgets, target: &Target, limits: BudgetLimits) -> usize {
        let asked = (0..100).map(|_| budgets.ask(target, Mode::RepFlow, 0, limits));
        asked.filter(|allowed| *allowed == Allowed::All).count()
    }

    #[test]
    fn a_ceiling_grants_its_share() {
        let target = ("a".to_owned(), 1);
        let quarter = BudgetLimits {
            budget: 0.25,
            ..LIMITS
        };
        assert_eq!(granted(&mut Budgets::default(), &target, quarter), 25);
        assert_eq!(granted(&mut Budgets::default(), &target, LIMITS), 100);
    }

    #[test]
    fn a_target_that_fails_gets_less_and_takes_nothing_from_the_others() {
        let mut budgets = Budgets::default();
        let [bad, good] = ["bad", "good"].map(|name| (name.to_owned(), 1));
        for _ in 0..WINDOW * 2 {
            budgets.outcome(&bad, false);
        }
        assert_eq!(granted(&mut budgets, &bad, LIMITS), 25);
        assert_eq!(granted(&mut budgets, &good, LIMITS), 100);
        let fixed = BudgetLimits {
            adaptive: false,
            ..LIMITS
        };
        assert_eq!(granted(&mut budgets, &bad, fixed), 100);
    }

    #[test]
    fn many_live_flows_are_an_incast_and_race_their_handshakes_only() {
        let mut budgets = Budgets::default();
        let target = ("a".to_owned(), 1);
        let ask = |budgets: &mut Budgets, mode, live| budgets.ask(&target, mode, live, LIMITS);
        assert_eq!(ask(&mut budgets, Mode::RepFlow, 255), Allowed::All);
        assert_eq!(ask(&mut budgets, Mode::RepFlow, 256), Allowed::RepSyn);
        assert_eq!(ask(&mut budgets, Mode::RepSyn, 256), Allowed::All);
    }
}
