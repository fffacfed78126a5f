//! Interface to the rateless code, and a model of RaptorQ for simulations.

use crate::receiver_driven::SessionKey;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use tailcut_units::{Duration, FiveTuple, Rate, Time, mix64};

/// Identifier of a decoding job: one block of one session of a host.
/// The identifier is never used again for another block, even after the session has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Job {
    pub(crate) session: SessionKey,
    pub(crate) block: u32,
}

/// Request to decode a block, of which at least one source symbol is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// Time at which the decoding is requested.
    pub now: Time,
    /// Identifier for the report of the result ([`Host::decoded`](crate::scdp::Host::decoded)).
    pub job: Job,
    /// Addresses of the session, as in arriving packets.
    pub session: FiveTuple,
    /// Number of the block.
    pub block: u32,
    /// Number of source symbols of the block, K.
    pub source_symbols: u32,
    /// Number of missing source symbols, at least 1.
    pub missing: u32,
    /// Number of distinct symbols that have arrived, source and repair, at least K.
    pub received: u32,
    /// Size of a symbol in bytes.
    pub symbol: u32,
}

/// Result of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decoding {
    /// The result is known. The time at which the host receives it is known too.
    Known {
        /// Time of the result. A codec that does the work during the call returns the current time or earlier.
        at: Time,
        /// Whether the block is complete. If not, the receiver requests another symbol.
        decoded: bool,
    },
    /// The work has started. The driver reports the result with [`Host::decoded`](crate::scdp::Host::decoded).
    /// The block waits for this report without a time limit.
    Begun,
}

/// Decoder of blocks. If the codec needs payload, the driver provides the payload.
/// A session calls the codec when a block has enough symbols.
///
/// Encoding needs no call, because a sender can choose the numbers of symbols before the symbols exist.
/// While a block is being encoded, a driver may delay its repair symbols and send other symbols.
/// The receiver accepts symbols in any order.
pub trait Codec: core::fmt::Debug {
    /// Starts to decode a block. The session starts the same block again only after this attempt has failed.
    fn start(&mut self, attempt: &Attempt) -> Decoding;
}

/// Codec that only queues its jobs. The driver does the work, for example on another thread.
#[derive(Clone, Default, Debug)]
pub struct DriverCodec {
    begun: VecDeque<Attempt>,
}

impl DriverCodec {
    /// Returns the oldest job that the driver has not yet taken.
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

/// Decoding rate as a function of the number of source symbols.
/// Between two given sizes the rate is interpolated linearly. Outside the given sizes, the rate is constant.
#[derive(Clone, PartialEq, Debug)]
pub struct DecodeSpeed(Vec<(u32, Rate)>);

impl DecodeSpeed {
    /// Returns a table. Each entry has a number of source symbols, and a rate of decoded source bytes.
    /// Returns `None` if the table is empty or the numbers of symbols are not in ascending order.
    pub fn new(points: Vec<(u32, Rate)>) -> Option<Self> {
        let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (ascending && !points.is_empty()).then_some(Self(points))
    }

    /// Returns 1.3 Gb/s for all sizes.
    /// The rate of 1.3 Gb/s is the worst case of the software on which the SCDP paper bases its model (section V).
    pub fn paper() -> Self {
        Self(alloc::vec![(1, Rate::from_mbps(1_300))])
    }

    /// Returns the table of sizes and rates.
    pub fn points(&self) -> &[(u32, Rate)] {
        &self.0
    }

    /// Returns the time to decode `symbols` source symbols of `size` bytes.
    pub fn time(&self, symbols: u32, size: u32) -> Duration {
        let after = self.0.partition_point(|(at, _)| *at < symbols);
        let rate = match (after.checked_sub(1).map(|i| self.0[i]), self.0.get(after)) {
            (Some((a, slow)), Some(&(b, fast))) => {
                // Signed numbers, because the rate may decrease with the size.
                let (low, high) = (i128::from(slow.as_bps()), i128::from(fast.as_bps()));
                let part = (high - low) * i128::from(symbols - a) / i128::from(b - a);
                // Only the rate 0 is invalid. The result is between two valid rates, so `slow` is never used.
                Rate::from_bps((low + part) as u64).unwrap_or(slow)
            }
            (Some((_, rate)), None) => rate,
            (None, Some(&(_, rate))) => rate,
            (None, None) => return Duration::ZERO,
        };
        rate.serialisation(u64::from(symbols) * u64::from(size))
    }
}

/// Model of RaptorQ with the bounds of RFC 6330 (section 5.1).
/// For K, for K + 1, and for more symbols, decoding fails with a given probability.
/// A table determines how long decoding takes.
#[derive(Clone, Debug)]
pub struct ModelCodec {
    failure: [f64; 3],
    speed: DecodeSpeed,
    seed: u64,
    draws: u64,
    decoded: u64,
    /// Time at which each core becomes free. Empty if the number of cores is unlimited.
    cores: BinaryHeap<Reverse<Time>>,
}

impl ModelCodec {
    /// Upper bounds of the failure probability in RFC 6330, at 0, 1, and 2 or more symbols above K.
    pub const FAILURE: [f64; 3] = [1e-2, 1e-4, 1e-6];

    /// Returns a codec with failure probabilities in [0, 1) at 0, 1, and 2 or more symbols above K.
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

    /// Limits the codec to `cores` cores, at least 1. Each core decodes one block at a time, in order of arrival.
    /// If this function is not called, the number of cores is unlimited.
    pub fn on_cores(mut self, cores: u32) -> Self {
        self.cores = (0..cores.max(1)).map(|_| Reverse(Time::ZERO)).collect();
        self
    }

    /// Returns the number of blocks decoded so far.
    pub fn decoded(&self) -> u64 {
        self.decoded
    }
}

impl Codec for ModelCodec {
    fn start(&mut self, attempt: &Attempt) -> Decoding {
        let takes = self.speed.time(attempt.source_symbols, attempt.symbol);
        let mut at = attempt.now.saturating_add(takes);
        // The core that becomes free first gets the block.
        if let Some(mut core) = self.cores.peek_mut() {
            at = core.0.max(attempt.now).saturating_add(takes);
            *core = Reverse(at);
        }
        let over = attempt.received.saturating_sub(attempt.source_symbols);
        let failure = self.failure[(over as usize).min(2)];
        self.draws += 1;
        // The upper 53 bits fit exactly into an `f64`.
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

    /// Returns the time at which the model ends an attempt, and whether the block is decoded.
    fn outcome(codec: &mut ModelCodec, attempt: &Attempt) -> (Time, bool) {
        match codec.start(attempt) {
            Decoding::Known { at, decoded } => (at, decoded),
            Decoding::Begun => panic!("the model gives results at once"),
        }
    }

    #[test]
    fn failures_come_as_often_as_they_should() {
        // Expected: 2,000 failures in 200,000 draws at 1 %. The interval is 4 standard deviations of 44.5 on each side.
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
        // Each block takes 800 us.
        let mut codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1).on_cores(2);
        assert_eq!(block(&mut codec, 0), us(800));
        assert_eq!(block(&mut codec, 100), us(800));
        assert_eq!(block(&mut codec, 200), us(1_400), "starts at 800 us");
        assert_eq!(
            block(&mut codec, 1_000),
            us(800),
            "the second core is free since 900 us"
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
