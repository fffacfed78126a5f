//! Places for transfers that a receiver runs at the same time.
//!
//! A transfer takes a place while its sender's address is proven and while it makes progress.
//! A transfer without progress stays, but it gives its place to another one.
//! So a sender that stalls, or an offer with a forged address, delays no other transfer.

use std::net::IpAddr;
use std::time::Duration;

/// Time without progress after which a transfer gives its place to others.
pub(super) const IDLE: Duration = Duration::from_secs(10);
/// Largest number of transfers without a place. Each has open files and some memory.
const MOST_IDLE: usize = 32;

/// Transfer of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Standing {
    pub(super) address: IpAddr,
    /// Whether the sender has confirmed a message of this end. So its address is not forged.
    pub(super) is_proven: bool,
    /// Time since the last progress.
    pub(super) idle: Duration,
}

impl Standing {
    /// Returns whether the transfer takes a place.
    pub(super) fn has_place(&self) -> bool {
        self.is_proven && self.idle < IDLE
    }
}

/// Answer to the question whether one more transfer may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    Free,
    /// The transfer with this index must end before.
    InsteadOf(usize),
    None,
}

/// Returns whether one more transfer may begin, if at most `most` transfers may have a place.
pub(super) fn room(running: &[Standing], most: usize) -> Room {
    let places = running.iter().filter(|one| one.has_place()).count();
    if places >= most {
        return Room::None;
    }
    if running.len() < most.saturating_add(MOST_IDLE) {
        return Room::Free;
    }
    let same = |one: &Standing| {
        let others = running.iter().filter(|other| other.address == one.address);
        others.count()
    };
    let idle = running
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.has_place());
    // A forged address goes first, then a host with many transfers, then the transfer that is idle for the longest time.
    let last = idle.max_by_key(|(_, one)| (!one.is_proven, same(one), one.idle));
    last.map_or(Room::None, |(at, _)| Room::InsteadOf(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(host: u8, is_proven: bool, idle: u64) -> Standing {
        Standing {
            address: IpAddr::from([10, 0, 0, host]),
            is_proven,
            idle: Duration::from_secs(idle),
        }
    }

    #[test]
    fn the_places_are_for_transfers_that_make_progress() {
        let mut running = vec![standing(1, true, 0); 8];
        assert_eq!(room(&running, 8), Room::None);
        running[3] = standing(1, true, 10);
        assert_eq!(room(&running, 8), Room::Free);
        running[3] = standing(1, false, 0);
        assert_eq!(room(&running, 8), Room::Free);
    }

    #[test]
    fn when_too_many_are_idle_the_least_deserving_ends() {
        let mut running = vec![standing(1, true, 20); 39];
        running.push(standing(2, true, 5_000));
        assert_eq!(room(&running, 8), Room::InsteadOf(38), "one of the many");
        running[7] = standing(1, true, 30);
        assert_eq!(room(&running, 8), Room::InsteadOf(7), "idle for longer");
        running[5] = standing(3, false, 1);
        assert_eq!(room(&running, 8), Room::InsteadOf(5), "not proven");
        assert_eq!(room(&running[..39], 8), Room::Free);
    }

    #[test]
    fn one_at_a_time_means_one() {
        assert_eq!(room(&[], 1), Room::Free);
        assert_eq!(room(&[standing(1, true, 0)], 1), Room::None);
    }
}
