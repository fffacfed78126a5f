//! Check that two connections carry the same bytes. The bytes are not kept.
//! The connection that is ahead stores checkpoints: an offset, and the CRC-32 of all bytes before it.
//! The other connection compares its CRC-32 when it reaches these offsets.
//! There are at most [`MOST_CHECKPOINTS`] checkpoints.
//! The distance between them grows with the lead of the faster connection.

use crc32fast::Hasher;
use std::collections::VecDeque;
use tailcut_transport::repnet::Leg;

const MOST_CHECKPOINTS: usize = 256;

/// Error: the two connections carried different bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Differs;

#[derive(Clone, Default, Debug)]
struct LegPrefix {
    crc: Hasher,
    offset: u64,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct PrefixCheck {
    legs: [LegPrefix; 2],
    checkpoints: VecDeque<(u64, u32)>,
}

impl PrefixCheck {
    /// Processes the next bytes of a connection.
    pub fn add(&mut self, leg: Leg, bytes: &[u8]) -> Result<(), Differs> {
        let other = self.legs[leg.other() as usize].offset;
        let own = &mut self.legs[leg as usize];
        let mut rest = bytes;
        while !rest.is_empty() {
            let next = self.checkpoints.front().copied();
            let next = next.filter(|_| own.offset < other);
            let take = next.map_or(rest.len(), |(at, _)| {
                let gap = usize::try_from(at - own.offset).unwrap_or(usize::MAX);
                gap.min(rest.len())
            });
            let (part, left) = rest.split_at(take);
            own.crc.update(part);
            own.offset += take as u64;
            rest = left;
            if let Some((at, crc)) = next
                && own.offset == at
            {
                if own.crc.clone().finalize() != crc {
                    return Err(Differs);
                }
                self.checkpoints.pop_front();
            }
        }
        if own.offset > other {
            let point = (own.offset, own.crc.clone().finalize());
            self.checkpoints.push_back(point);
            if self.checkpoints.len() > MOST_CHECKPOINTS {
                // Every second checkpoint is removed.
                // The last one stays, because it covers all bytes of the connection.
                let mut last = self.checkpoints.len() % 2 == 1;
                self.checkpoints.retain(|_| {
                    last = !last;
                    last
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_that_carry_the_same_in_other_pieces_agree_and_one_wrong_byte_is_found() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut check = PrefixCheck::default();
        // There are many more pieces than checkpoints, so the check has to remove checkpoints.
        for piece in bytes.chunks(13) {
            assert_eq!(check.add(Leg::First, piece), Ok(()));
        }
        assert!(check.checkpoints.len() <= MOST_CHECKPOINTS);
        assert_eq!(check.checkpoints.back().expect("the last").0, 20_000);
        let mut wrong = bytes.clone();
        wrong[12_345] ^= 1;
        let mut other = check.clone();
        for piece in bytes.chunks(97) {
            assert_eq!(check.add(Leg::Second, piece), Ok(()));
        }
        assert!(check.checkpoints.is_empty());
        let found = wrong.chunks(97).map(|piece| other.add(Leg::Second, piece));
        assert!(found.into_iter().any(|found| found == Err(Differs)));
    }
}
