//! Trial of copies: it finds out whether copies help, and ends them while they do not.
//!
//! Time is cut into slots. In some slots all requests may be copied, in others none.
//! Requests of one slot share their servers, so a comparison of requests inside a slot would be wrong:
//! a request without a copy waits behind the copies of all other requests.
//! The start of a slot does not count, because the servers still work on requests of the slot before.
//!
//! Two slots make a block: one with copies and one without, in random order. So a slow change of the load
//! affects both. All clients with the same seed and the same clock have the same slots.
//! They need not send messages to each other.
//!
//! While the result is unknown, each block is a test. Afterwards some blocks are tests, and the result decides
//! about all other blocks. The clients choose the tests by the same random numbers:
//! the tests of a client with few tests are also tests of all clients with more tests.

use alloc::collections::VecDeque;
use tailcut_units::{Duration, Time, stream_seed};

/// Random stream that chooses the tests.
const TESTS: u64 = u64::from_be_bytes(*b"trials\0\0");

/// Number of blocks that stay open for late answers.
const OPEN_BLOCKS: usize = 3;

/// Largest weight of the average, in blocks. With a smaller weight, a change of the servers is found earlier.
/// With a larger weight, small effects are found.
const MEMORY: f64 = 16.0;

/// Number of tests without a significant effect after which copies count as useless.
const PATIENCE: f64 = 12.0;

/// Requests that a slot needs. With fewer requests, the slot counts for nothing.
const LEAST_REQUESTS: u32 = 20;

/// Requests that a slot needs before it can be ended early, because the copies do great harm.
/// Latencies may vary by a factor of ten, so fewer requests would end slots by chance.
const LEAST_TO_END: u32 = 100;

/// Factor of the mean latency that ends a slot with copies early.
const TOO_SLOW: f64 = 1.5;

/// Number of times by which a failed request counts as slower than the average request.
const FAILURE: f64 = 10.0;

/// Exponent of the rarest tests: one block in 128.
/// A slot with copies that do great harm is then rarer than one in 100 requests, so it does not decide the p99.
const RAREST: u32 = 7;

/// Exponent of the rarest tests while copies help: one block in 16. A slot without copies does little harm,
/// and frequent tests find out early that copies have begun to harm.
const RAREST_WITH_COPIES: u32 = 4;

/// Exponent of the longest time without copies after tests that ended early: 16 blocks.
const MOST_REST: u32 = 4;

/// A slot raises the latency that counts as usual by half of the way to this factor of it, at most.
const SLOW_RISE: f64 = 1.5;

/// Effect that casts doubt on the verdict that copies are useless, if two successive tests find it.
const LEAST_EFFECT: f64 = 0.05;

/// Configuration of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrialConfig {
    /// Length of a slot. It must be much longer than the time of an answer and the time to empty the queues.
    pub slot: Duration,
    /// Seed of the order of slots. Clients of the same servers need the same seed.
    pub seed: u64,
    /// Time of the common clock at [`Time::ZERO`], in nanoseconds.
    pub epoch: u64,
}

/// Result of the tests so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verdict {
    /// Not known yet. Half of the slots have copies.
    #[default]
    Unknown,
    /// Copies help.
    Helps,
    /// Copies harm, or have no effect that can be measured.
    Useless,
}

/// Effect of copies, as measured by a trial.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TrialReport {
    /// Result of the tests.
    pub verdict: Verdict,
    /// Number of tests so far.
    pub tests: u64,
    /// Share of the mean latency that copies save. Negative: copies make requests slower. `None`: unknown.
    pub gain: Option<f64>,
    /// Number of copies for each request in slots with copies. `None`: unknown.
    pub cost: Option<f64>,
}

/// Request in a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    slot: u64,
    began: Time,
    is_counted: bool,
    /// Whether the request may be copied, except after a failure.
    pub may_copy: bool,
}

/// End of a request in a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrialEnd {
    /// Number of copies beyond the first.
    pub copies: u32,
    /// Whether the request had no good answer. A request that the application gave up has not failed:
    /// its time until then counts.
    pub has_failed: bool,
}

/// Latencies of the requests that began in one slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    begun: u32,
    ended: u32,
    failed: u32,
    copies: u64,
    /// Sum of latencies in seconds, and sum of their squares.
    sum: f64,
    squares: f64,
}

impl Slot {
    fn end(&mut self, seconds: f64, end: TrialEnd) {
        self.ended += 1;
        self.copies += u64::from(end.copies);
        if end.has_failed {
            self.failed += 1;
        } else {
            self.sum += seconds;
            self.squares += seconds * seconds;
        }
    }

    /// Counts requests without an answer: they take at least this time.
    fn close(&mut self, seconds: f64) {
        let open = f64::from(self.begun.saturating_sub(self.ended));
        self.sum += open * seconds;
        self.squares += open * seconds * seconds;
        self.ended = self.begun;
    }

    fn good(&self) -> f64 {
        f64::from(self.ended - self.failed)
    }

    /// Returns the mean latency of requests with a good answer.
    fn usual(&self) -> f64 {
        self.sum / self.good().max(1.0)
    }

    /// Returns the mean latency and the mean square. A failed request counts as much slower than `usual`.
    fn means(&self, usual: f64) -> (f64, f64) {
        let slow = FAILURE * usual;
        let (all, failed) = (f64::from(self.ended.max(1)), f64::from(self.failed));
        (
            (self.sum + failed * slow) / all,
            (self.squares + failed * slow * slow) / all,
        )
    }
}

/// Block of two slots.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u64,
    /// Whether each slot has copies.
    may_copy: [bool; 2],
    slots: [Slot; 2],
    /// All requests that began in the present slot, also at its start. They can end the slot early.
    all: Slot,
    all_of: u64,
    is_ended_early: bool,
}

impl Block {
    fn is_test(&self) -> bool {
        self.may_copy[0] != self.may_copy[1]
    }
}

/// Average of the effects of tests, -1 to 1. An effect is below 0 if copies help.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    /// Number of tests. It is bounded, so that older tests count less and less.
    weight: f64,
    mean: f64,
    variance: f64,
    /// Average of the effects on the mean latency alone.
    of_mean: f64,
}

impl Effects {
    fn add(&mut self, effect: f64, of_mean: f64) {
        self.weight += 1.0;
        let share = 1.0 / self.weight;
        let delta = effect - self.mean;
        self.mean += share * delta;
        self.variance = (1.0 - share) * (self.variance + share * delta * delta);
        self.of_mean += share * (of_mean - self.of_mean);
        self.weight = self.weight.min(MEMORY / 2.0);
    }
}

/// Trial of copies as plain state. The driver calls [`begin`](Self::begin) for each request,
/// and [`end`](Self::end) when the request ends.
#[derive(Clone, Debug)]
pub struct Trial {
    config: TrialConfig,
    /// Number of the first block that may be a test.
    first: u64,
    blocks: VecDeque<Block>,
    report: TrialReport,
    /// Effects of tests that begin without copies, and of tests that begin with copies.
    /// The mean of both averages contains no trend, for example of a queue that becomes empty.
    effects: [Effects; 2],
    /// Whether the latest test found requests that take too long for the slots.
    is_overloaded: bool,
    /// Number of the first block after a block without copies, in which queues become empty.
    rests_until: u64,
    /// Number of successive tests that ended early.
    early_ends: u32,
    /// Number of successive tests that contradict the verdict.
    contradictions: u32,
    /// Mean and mean square of latencies in recent slots without copies.
    usual: Option<(f64, f64)>,
}

impl Trial {
    /// Creates a trial. Requests may be copied until the first test begins, at least one slot later.
    pub fn new(config: TrialConfig, now: Time) -> Self {
        let config = TrialConfig {
            slot: config.slot.max(Duration::from_us(1)),
            ..config
        };
        let mut trial = Self {
            config,
            first: 0,
            blocks: VecDeque::new(),
            report: TrialReport::default(),
            effects: [Effects::default(); 2],
            is_overloaded: false,
            rests_until: 0,
            early_ends: 0,
            contradictions: 0,
            usual: None,
        };
        let (slot, _) = trial.slot(now.saturating_add(config.slot));
        trial.first = slot / 2 + 1;
        trial
    }

    /// Returns this trial without open requests, for a clock that begins later by a number of nanoseconds.
    #[must_use]
    pub fn moved(mut self, later: u64) -> Self {
        self.config.epoch = self.config.epoch.saturating_add(later);
        // Open requests end in the old trial, so their blocks do not count.
        self.blocks.clear();
        self
    }

    /// Returns what the trial has found so far.
    pub const fn report(&self) -> TrialReport {
        self.report
    }

    /// Begins a request.
    pub fn begin(&mut self, now: Time) -> Ticket {
        let (number, is_counted) = self.slot(now);
        let mut ticket = Ticket {
            slot: number,
            began: now,
            is_counted,
            may_copy: false,
        };
        let Some(block) = self.block(now, number / 2) else {
            ticket.is_counted = false;
            return ticket;
        };
        let index = (number % 2) as usize;
        ticket.may_copy = block.may_copy[index] && !block.is_ended_early;
        block.slots[index].begun += u32::from(is_counted);
        if block.all_of < number {
            (block.all, block.all_of) = (Slot::default(), number);
        }
        ticket
    }

    /// Ends a request.
    pub fn end(&mut self, now: Time, ticket: Ticket, end: TrialEnd) {
        let number = ticket.slot / 2;
        let found = self.blocks.iter_mut().find(|block| block.number == number);
        // If the block is closed, its open requests have been counted.
        let Some(block) = found else {
            return;
        };
        let index = (ticket.slot % 2) as usize;
        let seconds = now.since(ticket.began).as_secs_f64();
        if ticket.is_counted {
            block.slots[index].end(seconds, end);
        }
        if block.all_of == ticket.slot {
            block.all.end(seconds, end);
        }
        let can_end = block.is_test() && block.may_copy[index] && !block.is_ended_early;
        if can_end && block.all_of == ticket.slot && block.all.ended >= LEAST_TO_END {
            self.end_early(number);
        }
    }

    /// Ends a slot with copies if its requests take much longer than usual.
    fn end_early(&mut self, number: u64) {
        let known = self.usual;
        let found = self.blocks.iter_mut().find(|block| block.number == number);
        let Some(block) = found else {
            return;
        };
        // The slot without copies shows best what is usual. It may come later, or have too few requests.
        let without = block.slots[0];
        let is_known = !block.may_copy[0] && without.ended >= LEAST_REQUESTS;
        let own = is_known.then(|| without.means(without.usual()));
        let Some(usual) = own.or(known) else {
            return;
        };
        let means = block.all.means(usual.0);
        // Where a queue is left from earlier slots, only the latency before it shows what is usual.
        let least = known.map_or(usual.0, |known| known.0.min(usual.0));
        if means.0 > TOO_SLOW * least {
            block.is_ended_early = true;
            // Each further time, the queues get twice the time to become empty.
            self.rests_until = number + 1 + (1 << self.early_ends.min(MOST_REST));
            self.early_ends += 1;
            let begins_with_copies = block.may_copy[0];
            self.learn(means, usual, begins_with_copies);
        }
    }

    /// Returns the number of the slot at this time, and whether the slot has lasted long enough to count.
    fn slot(&self, now: Time) -> (u64, bool) {
        let since = self.config.epoch.saturating_add(now.as_ns());
        let length = (self.config.slot.as_ns()).max(1);
        (since / length, since % length >= length / 2)
    }

    /// Returns the block with this number. Closes old blocks. Returns `None` if the block is closed.
    /// Threads may take the time in one order and call in the other, so the block may be older than the last one.
    fn block(&mut self, now: Time, number: u64) -> Option<&mut Block> {
        if self.blocks.back().is_none_or(|last| last.number < number) {
            let block = self.plan(number);
            self.blocks.push_back(block);
            while self.blocks.len() > OPEN_BLOCKS
                && let Some(oldest) = self.blocks.pop_front()
            {
                self.close(now, oldest);
            }
        }
        self.blocks.iter_mut().find(|block| block.number == number)
    }

    fn random(&self, block: u64) -> u64 {
        stream_seed(self.config.seed, TESTS, block)
    }

    /// Returns whether the first slot of a test has copies. The highest bit does not decide which blocks are tests.
    /// In a client's first test, the slot without copies comes first. It shows whether the next slot has to end early.
    fn begins_with_copies(&self, block: u64) -> bool {
        block != self.first && self.random(block) >> 63 == 1
    }

    fn plan(&self, number: u64) -> Block {
        let random = self.random(number);
        let (exponent, otherwise) = match self.report.verdict {
            Verdict::Unknown => (0, true),
            Verdict::Helps => (self.rarity(RAREST_WITH_COPIES), true),
            Verdict::Useless => (self.rarity(RAREST), false),
        };
        let rests = number < self.rests_until;
        let is_test = number >= self.first && !rests && random.trailing_zeros() >= exponent;
        let otherwise = otherwise && !rests;
        let may_copy = match is_test {
            true => {
                let first = self.begins_with_copies(number);
                [first, !first]
            }
            false => [otherwise; 2],
        };
        Block {
            number,
            may_copy,
            slots: [Slot::default(); 2],
            all: Slot::default(),
            all_of: 2 * number,
            is_ended_early: false,
        }
    }

    /// Returns the exponent of the share of tests. The larger the known effect, the rarer the tests.
    fn rarity(&self, most: u32) -> u32 {
        let effect = self.effect(|effects| effects.mean).abs();
        let exponent = match effect {
            _ if self.is_overloaded => RAREST,
            _ if effect < 0.02 => 3,
            _ if effect < 0.05 => 4,
            _ if effect < 0.1 => 5,
            _ => RAREST,
        };
        exponent.min(most)
    }

    fn close(&mut self, now: Time, mut block: Block) {
        for (slot, may_copy) in block.slots.iter().zip(block.may_copy) {
            if may_copy && slot.ended > 0 && !block.is_ended_early {
                let cost = slot.copies as f64 / f64::from(slot.ended);
                let known = self.report.cost.unwrap_or(cost);
                self.report.cost = Some(known + (cost - known) / 4.0);
            }
        }
        for (index, slot) in block.slots.iter_mut().enumerate() {
            // Requests that have no answer yet began in the middle of the counted time, on average.
            let length = self.config.slot.as_ns();
            let began = (2 * block.number + index as u64) * length + length * 3 / 4;
            let since = self.config.epoch.saturating_add(now.as_ns());
            slot.close(Duration::from_ns(since.saturating_sub(began)).as_secs_f64());
        }
        let half = self.config.slot.as_secs_f64() / 2.0;
        let is_slow = |slot: &Slot| slot.ended >= LEAST_REQUESTS && slot.means(0.0).0 > half;
        if block.slots.iter().any(is_slow) {
            return self.on_overload();
        }
        // After an early end, the queue of the slot with copies is left in the slot without copies.
        let is_clean = !block.is_ended_early || block.may_copy[1];
        for (slot, may_copy) in block.slots.iter().zip(block.may_copy) {
            if !may_copy && is_clean && slot.ended >= LEAST_REQUESTS {
                let latest = slot.means(slot.usual());
                let known = self.usual.unwrap_or(latest);
                // A slot with a queue from earlier slots must not look usual, so the values rise slowly.
                let next =
                    |known: f64, latest: f64| f64::midpoint(known, latest.min(known * SLOW_RISE));
                self.usual = Some((next(known.0, latest.0), next(known.1, latest.1)));
            }
        }
        let on = usize::from(block.may_copy[1]);
        let [with, without] = match on {
            0 => block.slots,
            _ => [block.slots[1], block.slots[0]],
        };
        if !block.is_test() || block.is_ended_early {
            return;
        }
        let good = with.good() + without.good();
        if with.ended.min(without.ended) < LEAST_REQUESTS || good == 0.0 {
            return;
        }
        let usual = (with.sum + without.sum) / good;
        let (with, without) = (with.means(usual), without.means(usual));
        self.early_ends = 0;
        self.learn(with, without, on == 0);
    }

    /// Ends copies, because requests take more than half a slot, on average.
    /// So requests of one slot wait behind the requests of the slot before, and both slots look the same.
    /// The servers are overloaded, or the slots are too short. The next test decides again.
    fn on_overload(&mut self) {
        self.effects = [Effects::default(); 2];
        self.is_overloaded = true;
        self.report.verdict = Verdict::Useless;
    }

    /// Adds the result of a test: mean and mean square of latencies with copies, and without copies.
    fn learn(&mut self, with: (f64, f64), without: (f64, f64), begins_with_copies: bool) {
        let of_mean = difference(with.0, without.0);
        // The mean square rises with the tail. Half of its difference is the difference of the root mean square.
        let effect = of_mean + difference(with.1, without.1) / 2.0;
        let contradicts = match self.report.verdict {
            Verdict::Unknown => false,
            Verdict::Helps => effect > 0.0,
            Verdict::Useless => effect < -LEAST_EFFECT,
        };
        self.contradictions = if contradicts {
            self.contradictions + 1
        } else {
            0
        };
        // The servers may have changed, so that older tests count little.
        // One test is enough to doubt that copies help. A test has to be confirmed before copies come back.
        if contradicts && (self.report.verdict == Verdict::Helps || self.contradictions > 1) {
            for effects in &mut self.effects {
                effects.weight = effects.weight.min(1.0);
            }
        }
        self.effects[usize::from(begins_with_copies)].add(effect, of_mean);
        self.is_overloaded = false;
        self.report.tests += 1;
        let of_mean = self.effect(|effects| effects.of_mean);
        let ratio = (1.0 + of_mean) / (1.0 - of_mean).max(1e-3);
        self.report.gain = Some(1.0 - ratio);
        self.report.verdict = self.verdict();
    }

    /// Returns the average of both orders of slots.
    fn effect(&self, of: fn(&Effects) -> f64) -> f64 {
        let [one, other] = &self.effects;
        match (one.weight > 0.0, other.weight > 0.0) {
            (true, false) => of(one),
            (false, true) => of(other),
            _ => f64::midpoint(of(one), of(other)),
        }
    }

    fn verdict(&self) -> Verdict {
        let [one, other] = &self.effects;
        let weight = one.weight + other.weight;
        let freedom = weight - 2.0;
        if freedom < 2.0 {
            return Verdict::Unknown;
        }
        let effect = self.effect(|effects| effects.mean);
        let squares = one.weight * one.variance + other.weight * other.variance;
        let error = squares / freedom * (1.0 / one.weight + 1.0 / other.weight) / 4.0;
        // Square of the 97.5 % quantile of Student's t distribution, within 5 %.
        let quantile = 4.0 + 58.0 / (freedom * freedom);
        // With only one order of slots, the error is infinite or not a number.
        let is_significant = effect * effect > quantile * error;
        match is_significant {
            true if effect < 0.0 => Verdict::Helps,
            true => Verdict::Useless,
            false if weight >= PATIENCE => Verdict::Useless,
            false => Verdict::Unknown,
        }
    }
}

/// Returns the relative difference of two values, -1 to 1. It is about half of the logarithm of their ratio.
fn difference(one: f64, other: f64) -> f64 {
    let sum = one + other;
    if sum > 0.0 { (one - other) / sum } else { 0.0 }
}
