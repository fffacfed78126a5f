//! The interface to the code, and a model of RaptorQ for simulations.

use crate::receiver_driven::SessionKey;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{Duration, FiveTuple, Rate, Time, mix64};

/// Names one block of one session of a host. No other block gets the same one, whatever happens to
/// the session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Job {
    pub(crate) session: SessionKey,
    pub(crate) block: u32,
}

/// A block that a receiver wants decoded: some source symbol is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// When.
    pub now: Time,
    /// What to call it when it is done ([`Host::decoded`](crate::scdp::Host::decoded)).
    pub job: Job,
    /// The session, by the addresses of what arrives in it.
    pub session: FiveTuple,
    /// The block's number.
    pub block: u32,
    /// Its source symbols, K.
    pub source_symbols: u32,
    /// Source symbols that are missing, at least one.
    pub missing: u32,
    /// Different symbols that have arrived, source and repair, at least K.
    pub received: u32,
    /// Bytes of a symbol.
    pub symbol: u32,
}

/// What became of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decoding {
    /// The codec knows what comes out, and when the host is to have it.
    Known {
        /// Now, or a time before, for a codec that has done the work in the call.
        at: Time,
        /// Whether the block is whole; if not, it takes another symbol.
        decoded: bool,
    },
    /// The work has begun. The driver tells how it ended by
    /// [`Host::decoded`](crate::scdp::Host::decoded), and until then the block waits, however long.
    Begun,
}

/// Decodes blocks. A codec that holds payload is given it by the driver; the session tells it when
/// there is enough.
///
/// Encoding needs no such call: a sender names symbols before they exist. A driver may hold a
/// repair symbol back until its block is encoded and send others meanwhile; symbols come in any
/// order.
pub trait Codec: core::fmt::Debug {
    /// Begins to decode a block. The same block is not begun again before this attempt has failed.
    fn start(&mut self, attempt: &Attempt) -> Decoding;
}

/// A codec whose work is the driver's, on another thread if it likes: it only keeps what is to be
/// done.
#[derive(Clone, Default, Debug)]
pub struct DriverCodec {
    begun: VecDeque<Attempt>,
}

impl DriverCodec {
    /// A block to decode that the driver does not know of yet, the first one first.
    pub fn poll(&mut self) -> Option<Attempt> {
        self.begun.pop_front()
    }
}

impl Codec for DriverCodec {
    fn start(&mut self, attempt: &Attempt) -> Decoding {
        self.begun.push_back(*attempt);
        Decoding::Begun
    }
}

/// How fast blocks are decoded, by their number of source symbols: between the given sizes linear in
/// the rate, beyond them as at the nearest.
#[derive(Clone, PartialEq, Debug)]
pub struct DecodeSpeed(Vec<(u32, Rate)>);

impl DecodeSpeed {
    /// Rates of decoded source bytes at ascending sizes; `None` when there is none or they do not
    /// ascend.
    pub fn new(points: Vec<(u32, Rate)>) -> Option<Self> {
        let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (ascending && !points.is_empty()).then_some(Self(points))
    }

    /// 1.3 Gb/s at every size: the worst case of the software that the SCDP paper's model is fitted
    /// to (section V).
    pub fn paper() -> Self {
        Self(alloc::vec![(1, Rate::from_mbps(1_300))])
    }

    /// The rates at ascending sizes.
    pub fn points(&self) -> &[(u32, Rate)] {
        &self.0
    }

    /// The time to decode `symbols` source symbols of `size` bytes.
    pub fn time(&self, symbols: u32, size: u32) -> Duration {
        let after = self.0.partition_point(|(at, _)| *at < symbols);
        let rate = match (after.checked_sub(1).map(|i| self.0[i]), self.0.get(after)) {
            (Some((a, slow)), Some(&(b, fast))) => {
                let (low, high) = (i128::from(slow.as_bps()), i128::from(fast.as_bps()));
                let part = (high - low) * i128::from(symbols - a) / i128::from(b - a);
                Rate::from_bps((low + part) as u64).unwrap_or(slow)
            }
            (Some((_, rate)), None) => rate,
            (None, Some(&(_, rate))) => rate,
            (None, None) => return Duration::ZERO,
        };
        rate.serialisation(u64::from(symbols) * u64::from(size))
    }
}

/// RaptorQ as RFC 6330 (section 5.1) bounds it: K received symbols decode, and K + 1 and K + 2, but
/// for a failure drawn with a probability each; decoding takes time by a table.
#[derive(Clone, Debug)]
pub struct ModelCodec {
    failure: [f64; 3],
    speed: DecodeSpeed,
    seed: u64,
    draws: u64,
    decoded: u64,
    /// When each core is free; empty where there is no limit.
    cores: BinaryHeap<Reverse<Time>>,
}

impl ModelCodec {
    /// The failure probabilities at 0, 1, and 2 or more symbols over K that RFC 6330 promises at most.
    pub const FAILURE: [f64; 3] = [1e-2, 1e-4, 1e-6];

    /// A codec with failure probabilities in [0, 1) at 0, 1, and 2 or more symbols over K.
    pub fn new(failure: [f64; 3], speed: DecodeSpeed, seed: u64) -> Self {
        Self {
            failure,
            speed,
            seed,
            draws: 0,
            decoded: 0,
            cores: BinaryHeap::new(),
        }
    }

    /// With so many cores, at least 1, each of which decodes one block at a time, first come first served.
    /// Without a limit otherwise.
    pub fn on_cores(mut self, cores: u32) -> Self {
        self.cores = (0..cores.max(1)).map(|_| Reverse(Time::ZERO)).collect();
        self
    }

    /// Blocks decoded so far.
    pub fn decoded(&self) -> u64 {
        self.decoded
    }
}

impl Codec for ModelCodec {
    fn start(&mut self, attempt: &Attempt) -> Decoding {
        let takes = self.speed.time(attempt.source_symbols, attempt.symbol);
        let mut at = attempt.now.saturating_add(takes);
        if let Some(mut core) = self.cores.peek_mut() {
            at = core.0.max(attempt.now).saturating_add(takes);
            *core = Reverse(at);
        }
        let over = attempt.received.saturating_sub(attempt.source_symbols);
        let failure = self.failure[(over as usize).min(2)];
        self.draws += 1;
        let draw = mix64(self.seed ^ mix64(self.draws)) >> 11;
        let fails = (draw as f64) < failure * (1u64 << 53) as f64;
        self.decoded += u64::from(!fails);
        Decoding::Known {
            at,
            decoded: !fails,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(received: u32) -> Attempt {
        Attempt {
            now: Time::ZERO,
            job: Job {
                session: SessionKey {
                    slot: 0,
                    generation: 0,
                },
                block: 0,
            },
            session: FiveTuple::default(),
            block: 0,
            source_symbols: 100,
            missing: 3,
            received,
            symbol: 1_300,
        }
    }

    /// When the model is done with an attempt, and whether the block is decoded then.
    fn outcome(codec: &mut ModelCodec, attempt: &Attempt) -> (Time, bool) {
        match codec.start(attempt) {
            Decoding::Known { at, decoded } => (at, decoded),
            Decoding::Begun => panic!("a model knows"),
        }
    }

    #[test]
    fn failures_come_as_often_as_they_should() {
        // 200,000 draws at 1 %: 2,000 expected, standard deviation 44.5.
        let mut codec = ModelCodec::new([0.01, 0.0, 0.0], DecodeSpeed::paper(), 7);
        let tries = 200_000;
        let failed = (0..tries)
            .filter(|_| !outcome(&mut codec, &attempt(100)).1)
            .count();
        assert!((1_820..2_180).contains(&failed), "{failed}");
        assert_eq!(codec.decoded(), (tries - failed) as u64);
        assert!((0..1_000).all(|_| outcome(&mut codec, &attempt(101)).1));
    }

    #[test]
    fn blocks_wait_for_a_core() {
        let block = |codec: &mut ModelCodec, now| {
            let attempt = Attempt {
                now: Time::ZERO + Duration::from_us(now),
                ..attempt(101)
            };
            outcome(codec, &attempt).0 - attempt.now
        };
        let us = Duration::from_us;
        // 800 us each.
        let mut codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1).on_cores(2);
        assert_eq!(block(&mut codec, 0), us(800));
        assert_eq!(block(&mut codec, 100), us(800));
        assert_eq!(block(&mut codec, 200), us(1_400), "from 800 us on");
        assert_eq!(
            block(&mut codec, 1_000),
            us(800),
            "the second is free since 900 us"
        );
        let mut unlimited = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
        assert!((0..50).all(|_| block(&mut unlimited, 0) == us(800)));
    }

    #[test]
    fn decoding_takes_as_long_as_the_table_says_between_its_points_too() {
        assert_eq!(
            DecodeSpeed::paper().time(100, 1_300),
            Duration::from_us(800)
        );
        let speed = DecodeSpeed::new(alloc::vec![
            (10, Rate::from_gbps(3)),
            (20, Rate::from_gbps(1)),
        ])
        .expect("ascending");
        assert_eq!(speed.time(5, 3_000), Duration::from_us(40));
        assert_eq!(speed.time(15, 2_000), Duration::from_us(120));
        assert_eq!(speed.time(100, 1_000), Duration::from_us(800));
        assert_eq!(DecodeSpeed::new(alloc::vec![]), None);
    }
}
