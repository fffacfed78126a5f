//! Slabs that are being sent to receivers: with datagrams to a multicast group for its members, and
//! with separate datagrams to each other receiver.

use super::group::{Doubt, Group};
use super::line::Line;
use super::reader::SlabObject;
use crate::driver::{Failure, Progress, Sending, Sent, Stage, StragglerPolicy, Stragglers};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time without progress after which a member of a multicast group gets another check.
const DOUBT: Duration = Duration::from_secs(1);

/// Bytes of a slab, which several flights may share.
#[derive(Clone, Debug)]
struct Bytes(Arc<SlabObject>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// Receiver of a slab.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    /// Index of the receiver.
    pub(super) at: usize,
    pub(super) address: SocketAddr,
}

/// Progress of a member of a group, and the time of its last change.
#[derive(Clone, Copy, Debug)]
struct Seen {
    bytes: u64,
    since: Instant,
}

/// Slab that is being sent.
struct Flight {
    slab: u32,
    to: Vec<To>,
    sending: Sending,
    /// For a flight to a multicast group: the slab, and the progress of each receiver.
    group: Option<(Bytes, Vec<Seen>)>,
    /// Whether the flight was cancelled in order to send the slab in another way.
    begins_anew: bool,
}

/// Result of a flight.
pub(super) struct Over {
    pub(super) to: Vec<To>,
    pub(super) board: Vec<Progress>,
    pub(super) fate: Result<Sent, Failure>,
}

impl Over {
    /// Same as [`Flights::losses`], for this flight.
    pub(super) fn losses(&self) -> (u64, u64) {
        losses(self.board.iter().copied())
    }
}

fn losses(board: impl Iterator<Item = Progress>) -> (u64, u64) {
    board.fold((0, 0), |(settled, lost), one| {
        (settled + u64::from(one.settled), lost + u64::from(one.lost))
    })
}

/// All slabs that are being sent.
pub(super) struct Flights {
    flights: Vec<Flight>,
    group: Option<Group>,
    stragglers: Stragglers,
}

impl Flights {
    /// Creates an empty list. With `drop_after`, slow receivers are dropped after this time.
    pub(super) fn new(group: Option<SocketAddr>, drop_after: Option<Duration>) -> Self {
        let (policy, after) = match drop_after {
            Some(after) => (StragglerPolicy::Drop, after),
            None => (StragglerPolicy::Wait, Duration::from_secs(60)),
        };
        let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Self {
            flights: Vec::new(),
            group: group.map(Group::new),
            stragglers: Stragglers {
                after: tailcut_units::Duration::from_ms(ms.clamp(1, 3_600_000)),
                policy,
            },
        }
    }

    /// Returns the number of different slabs that are being sent.
    pub(super) fn slabs(&self) -> usize {
        let mut slabs: Vec<u32> = self.flights.iter().map(|flight| flight.slab).collect();
        slabs.sort_unstable();
        slabs.dedup();
        slabs.len()
    }

    /// Returns the symbols that receivers have reported as arrived or lost, and those reported as
    /// lost. It counts the slabs that are being sent.
    pub(super) fn losses(&self) -> (u64, u64) {
        let boards = self.flights.iter().map(|flight| flight.sending.progress());
        losses(boards.flatten())
    }

    /// Returns whether a slab is being sent to this receiver.
    pub(super) fn are_to(&self, at: usize) -> bool {
        let mut all = self.flights.iter();
        all.any(|flight| flight.to.iter().any(|to| to.at == at))
    }

    /// Returns whether it is known which receivers hear the multicast group. Always true without a
    /// group.
    pub(super) fn settle(&mut self, line: &Line<'_>, peers: &[SocketAddr]) -> bool {
        let group = self.group.as_mut();
        group.is_none_or(|group| group.settle(line, peers))
    }

    /// Returns receivers that do not hear the multicast group. Each receiver is returned once.
    pub(super) fn take_deaf(&mut self) -> Vec<SocketAddr> {
        let group = self.group.as_mut();
        group.map(Group::take_deaf).unwrap_or_default()
    }

    /// Sends a slab.
    pub(super) fn launch(&mut self, line: &Line<'_>, slab: u32, to: Vec<To>, object: SlabObject) {
        self.spread(line, slab, to, Bytes(Arc::new(object)));
    }

    fn spread(&mut self, line: &Line<'_>, slab: u32, to: Vec<To>, bytes: Bytes) {
        let hears = |to: &To| {
            let group = self.group.as_ref();
            group.is_some_and(|group| group.has(to.address))
        };
        let (mut members, mut others): (Vec<To>, Vec<To>) = to.into_iter().partition(hears);
        // A group with one member saves nothing compared with unicast.
        if members.len() == 1 {
            others.append(&mut members);
        }
        let endpoint = line.endpoint();
        let addresses = |to: &[To]| to.iter().map(|to| to.address).collect::<Vec<_>>();
        if let (Some(group), false) = (&self.group, members.is_empty()) {
            let receivers = addresses(&members);
            let sending =
                endpoint.send_to_group(group.address, &receivers, self.stragglers, bytes.clone());
            let since = Instant::now();
            let seen = vec![Seen { bytes: 0, since }; members.len()];
            self.flights.push(Flight {
                slab,
                to: members,
                sending,
                group: Some((bytes.clone(), seen)),
                begins_anew: false,
            });
        }
        let sending = match addresses(&others)[..] {
            [] => return,
            [one] => endpoint.send(one, bytes),
            ref all => endpoint.send_to_all(all, self.stragglers, bytes),
        };
        self.flights.push(Flight {
            slab,
            to: others,
            sending,
            group: None,
            begins_anew: false,
        });
    }

    /// Stops sending a slab to a receiver that does not need it any more. If others need it too,
    /// the slab is sent on.
    pub(super) fn skip(&self, slab: u32, at: usize) {
        let is_only =
            |flight: &&Flight| flight.slab == slab && flight.to.len() == 1 && flight.to[0].at == at;
        self.flights
            .iter()
            .filter(is_only)
            .for_each(|flight| flight.sending.cancel());
    }

    /// Stops flights whose receivers have all finished.
    pub(super) fn cancel_to(&self, is_over: impl Fn(usize) -> bool) {
        for flight in &self.flights {
            if flight.to.iter().all(|to| is_over(to.at)) {
                flight.sending.cancel();
            }
        }
    }

    /// Returns the flights that have ended since the last call.
    pub(super) fn look(&mut self, line: &Line<'_>) -> Vec<Over> {
        let mut over = Vec::new();
        for mut flight in std::mem::take(&mut self.flights) {
            match line.fate(&mut flight.sending) {
                None => {
                    self.watch(line, &mut flight);
                    self.flights.push(flight);
                }
                Some(Err(Failure::Cancelled)) if flight.begins_anew => self.go_on(line, flight),
                Some(fate) => over.push(Over {
                    board: flight.sending.progress(),
                    to: flight.to,
                    fate,
                }),
            }
        }
        over
    }

    /// Asks members without progress whether they still hear the multicast group. If one does not,
    /// the flight starts again, with separate datagrams to this member.
    fn watch(&mut self, line: &Line<'_>, flight: &mut Flight) {
        let (Some(group), Some((_, all)), false) =
            (&mut self.group, &mut flight.group, flight.begins_anew)
        else {
            return;
        };
        let board = flight.sending.progress();
        for ((to, seen), one) in flight.to.iter().zip(all).zip(&board) {
            if one.bytes > seen.bytes {
                seen.since = Instant::now();
                seen.bytes = one.bytes;
            }
            if one.stage.is_over() || seen.since.elapsed() < DOUBT {
                continue;
            }
            match group.doubt(line, to.address) {
                Doubt::Open => {}
                Doubt::Hears => seen.since = Instant::now(),
                Doubt::Deaf => {
                    flight.begins_anew = true;
                    flight.sending.cancel();
                    return;
                }
            }
        }
    }

    /// Sends a slab again to the members of a group that have not got it.
    fn go_on(&mut self, line: &Line<'_>, flight: Flight) {
        let Some((bytes, _)) = flight.group else {
            return;
        };
        let board = flight.sending.progress();
        let open = flight.to.iter().zip(&board);
        let open = open.filter(|(_, one)| !matches!(one.stage, Stage::Done | Stage::Dropped));
        let to = open.map(|(to, _)| *to).collect();
        self.spread(line, flight.slab, to, bytes);
    }
}
