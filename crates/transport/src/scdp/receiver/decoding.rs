//! Decoding of blocks that have enough symbols, and delivery of complete blocks.

use super::Receiver;
use crate::scdp::common::block::State;
use crate::scdp::common::codec::{Attempt, Codec, Decoding, Job};
use tailcut_units::Time;

impl Receiver {
    /// Starts to decode a block if it has enough symbols.
    pub(super) fn decode<C: Codec>(&mut self, now: Time, place: usize, codec: &mut C) {
        let block = &mut self.blocks[place];
        while block.is_decodable() {
            let number = self.first + place as u32;
            self.receipt.decoded += 1;
            let decoding = codec.start(&Attempt {
                now,
                job: Job {
                    session: self.key,
                    block: number,
                },
                // The addresses of each source identify the session, so the first source is enough.
                session: self.sources[0].tuple.reversed(),
                block: number,
                source_symbols: self.object.source_symbols(number),
                missing: block.missing(),
                received: block.received(),
                symbol: self.object.symbol(),
            });
            match decoding {
                Decoding::Known { at: until, decoded } if until > now => {
                    block.state = State::Decoding { until, decoded };
                }
                Decoding::Known { decoded: true, .. } => block.state = State::Whole,
                Decoding::Known { .. } => block.on_failure(),
                Decoding::Begun => {
                    block.state = State::Decoding {
                        until: Time::MAX,
                        decoded: false,
                    };
                }
            }
        }
    }

    /// Processes the driver's result for block `number`. Returns `false` if the block was not being decoded.
    pub(crate) fn on_decoded<C: Codec>(
        &mut self,
        now: Time,
        number: u32,
        decoded: bool,
        codec: &mut C,
    ) -> bool {
        let place = number.checked_sub(self.first);
        let block = place.and_then(|place| self.blocks.get_mut(place as usize));
        let Some(block) = block else { return false };
        // Only a decoding of the driver has no known end. The codec's model reports its own results.
        if !matches!(block.state, State::Decoding { until, .. } if until == Time::MAX) {
            return false;
        }
        block.state = State::Decoding {
            until: now,
            decoded,
        };
        self.finish_decodings(now, codec);
        true
    }

    /// Processes the decodings that have ended at `now`.
    pub(super) fn finish_decodings<C: Codec>(&mut self, now: Time, codec: &mut C) {
        for place in 0..self.blocks.len() {
            let block = &mut self.blocks[place];
            let State::Decoding { until, decoded } = block.state else {
                continue;
            };
            if until > now {
                continue;
            }
            if decoded {
                block.state = State::Whole;
            } else {
                block.on_failure();
                // No symbols of this block were pending while it was decoded, so the timeouts of the sources start now.
                // In credit mode a source without assigned symbols has no timeout.
                for source in &mut self.sources {
                    source.wait_from(now);
                }
                self.decode(now, place, codec);
            }
        }
        self.pass_on_whole_blocks();
    }

    /// Delivers complete blocks, if the block at `place` is complete. A symbol of this block has just arrived.
    #[inline]
    pub(super) fn pass_on_from(&mut self, place: Option<usize>) {
        let block = place.and_then(|place| self.blocks.get(place));
        if block.is_some_and(|block| block.state == State::Whole) {
            self.pass_on_whole_blocks();
        }
    }

    pub(super) fn pass_on_whole_blocks(&mut self) {
        // Blocks are reported before they are removed, because only blocks in the list can be reported.
        if self.has_reader() {
            self.tell_blocks();
        }
        while let Some(block) = self.blocks.front() {
            if block.state != State::Whole {
                return;
            }
            self.blocks.pop_front();
            self.first += 1;
            for source in &mut self.sources {
                source.close_block();
            }
            for line in &mut self.lines {
                line.close_block();
            }
        }
        self.complete = self.first == self.object.blocks();
    }
}
