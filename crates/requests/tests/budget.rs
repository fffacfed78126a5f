//! Tests of the budget of copies: one budget limits every copy, and copies end by themselves under overload.

use proptest::prelude::*;
use tailcut_requests::{BudgetConfig, Client, CopyId, Policy, Purpose, RequestId, Trigger};
use tailcut_units::{Duration, HostId, Time};

const BUDGET: BudgetConfig = BudgetConfig {
    thousandths: 100,
    burst: 10,
};

/// Policy for servers where copies cost almost nothing.
const CREDITED: Policy = Policy {
    budget: Some(BUDGET),
    uses_credit: true,
    ..Policy::DAS
};

/// Policy for other servers.
const HEDGED: Policy = Policy {
    trigger: Trigger::After(Duration::from_ms(10)),
    uses_credit: false,
    ..CREDITED
};

/// Result of all copies of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The copy with this number has a good answer. All copies before it fail.
    Good(u8),
    /// All copies fail, because the servers are overloaded.
    Overload,
    /// All copies fail, for another reason.
    Bad,
    /// The application leaves.
    Abandoned,
}

/// Client whose servers answer as a test decides, and the numbers that its copies must respect.
struct Stage {
    client: Client,
    now: Time,
    next: u32,
    requests: u64,
    copies: u64,
    /// Requests with a good answer.
    successes: u64,
}

impl Stage {
    fn new() -> Self {
        Self {
            client: Client::new(CREDITED).expect("a policy"),
            now: Time::ZERO,
            next: 0,
            requests: 0,
            copies: 0,
            successes: 0,
        }
    }

    /// Counts the copies that the client has sent.
    fn sent(&mut self, sent: &mut u8) {
        while let Some((_, header)) = self.client.poll_transmit() {
            if header.purpose == Purpose::Ask {
                *sent += 1;
            }
        }
    }

    /// Runs one request to its end. `fails_over` says whether the driver tries two more servers in the end.
    fn run(&mut self, policy: Policy, ending: Ending, is_slow: bool, fails_over: bool) {
        let mut all = 0;
        let id = RequestId(self.next);
        self.next += 1;
        self.requests += 1;
        let servers = [HostId(0), HostId(1)];
        self.client.submit_with(self.now, id, 1, &servers, policy);
        let mut has_begun_again = false;
        loop {
            let mut sent = 0;
            self.sent(&mut sent);
            if is_slow {
                self.now += Duration::from_ms(20);
                self.client.on_timeout(self.now);
                self.sent(&mut sent);
            }
            let mut copy = 0;
            let is_over = loop {
                let failing = CopyId { request: id, copy };
                if ending == Ending::Abandoned {
                    self.client.abandon(id);
                    break true;
                }
                if ending == Ending::Good(all + copy) {
                    self.client.on_bytes(self.now, failing, 1);
                    self.successes += 1;
                    break true;
                }
                let goes_on = self.client.on_failure(self.now, failing);
                self.sent(&mut sent);
                copy += 1;
                if !goes_on {
                    break false;
                }
            };
            self.sent(&mut sent);
            all += sent;
            if is_over {
                break;
            }
            let servers = [HostId(2), HostId(3)];
            let begins = fails_over
                && !has_begun_again
                && self.client.resubmit_with(self.now, id, 1, &servers, policy);
            if !begins {
                if ending == Ending::Overload {
                    self.client.on_overload();
                }
                break;
            }
            has_begun_again = true;
        }
        self.copies += u64::from(all - 1);
    }
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        (0..3_u8).prop_map(Ending::Good),
        Just(Ending::Overload),
        Just(Ending::Bad),
        Just(Ending::Abandoned),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let trigger = prop_oneof![
        Just(Trigger::AtOnce),
        Just(Trigger::After(Duration::from_ms(10))),
        Just(Trigger::OnFailure),
    ];
    (trigger, any::<bool>()).prop_map(|(trigger, uses_credit)| Policy {
        trigger,
        uses_credit,
        ..CREDITED
    })
}

proptest! {
    #[test]
    fn every_copy_counts_whatever_its_reason(
        runs in prop::collection::vec((policy(), ending(), any::<bool>(), any::<bool>()), 1..300)
    ) {
        let mut stage = Stage::new();
        for (policy, ending, is_slow, fails_over) in runs {
            stage.run(policy, ending, is_slow, fails_over);
            prop_assert!(
                stage.copies <= 10 + stage.requests / 10 + stage.successes,
                "{} copies of {} requests, {} with a good answer",
                stage.copies, stage.requests, stage.successes
            );
            prop_assert_eq!(stage.client.pending(), 0);
        }
    }

    #[test]
    fn without_a_good_answer_copies_are_a_tenth_and_under_overload_none(
        runs in prop::collection::vec((policy(), any::<bool>(), any::<bool>()), 1_000),
        is_overloaded in any::<bool>(),
    ) {
        let mut stage = Stage::new();
        let ending = if is_overloaded { Ending::Overload } else { Ending::Bad };
        let most = if is_overloaded { 10 } else { 110 };
        for (policy, is_slow, fails_over) in runs {
            stage.run(policy, ending, is_slow, fails_over);
        }
        prop_assert!(stage.copies <= most, "{}", stage.copies);
    }
}

#[test]
fn while_requests_succeed_all_of_them_are_copied_and_hedges_stay_a_tenth() {
    let mut stage = Stage::new();
    for _ in 0..1_000 {
        stage.run(CREDITED, Ending::Good(0), false, false);
    }
    assert_eq!(stage.copies, 1_000);
    let mut stage = Stage::new();
    for _ in 0..1_000 {
        stage.run(HEDGED, Ending::Good(0), true, false);
    }
    assert!((109..=110).contains(&stage.copies), "{}", stage.copies);
}

#[test]
fn a_storm_after_a_good_time_ends_the_copies_after_a_few_requests() {
    for policy in [CREDITED, HEDGED] {
        let mut stage = Stage::new();
        for _ in 0..10_000 {
            stage.run(policy, Ending::Good(0), false, false);
        }
        let before = stage.copies;
        for _ in 0..1_000 {
            stage.run(policy, Ending::Overload, true, true);
        }
        let storm = stage.copies - before;
        assert!(storm <= 40, "{storm}");
        // The copies come back when the servers answer again.
        for _ in 0..100 {
            stage.run(policy, Ending::Overload, true, true);
            assert_eq!(stage.copies - before, storm);
        }
        for _ in 0..30 {
            stage.run(policy, Ending::Good(0), true, false);
        }
        assert!(stage.copies - before > storm);
    }
}

#[test]
fn a_policy_without_a_budget_copies_without_a_limit() {
    let mut stage = Stage::new();
    let unlimited = Policy {
        budget: None,
        ..CREDITED
    };
    for _ in 0..1_000 {
        stage.run(unlimited, Ending::Overload, false, false);
    }
    assert_eq!(stage.copies, 1_000);
}

#[test]
fn a_copy_for_failures_only_is_sent_after_a_failure_and_at_no_other_time() {
    let on_failure = Policy {
        trigger: Trigger::OnFailure,
        ..CREDITED
    };
    let mut stage = Stage::new();
    for _ in 0..100 {
        stage.run(on_failure, Ending::Good(0), true, false);
    }
    assert_eq!(stage.copies, 0);
    for _ in 0..10 {
        stage.run(on_failure, Ending::Good(1), false, false);
    }
    assert_eq!(stage.copies, 10);
}
