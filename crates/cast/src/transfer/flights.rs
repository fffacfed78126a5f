//! Slabs that are being sent to receivers. Members of a multicast group get datagrams to the group.
//! Each other receiver gets separate datagrams.

use super::channel::Channel;
use super::group::{Group, Recheck};
use super::reader::SlabObject;
use crate::driver::{Failure, Progress, Sending, Sent, Stage, StragglerPolicy, Stragglers};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time without progress, after which a member of a multicast group gets another check.
/// With a shorter time, members get checks while lost packets are being repaired.
/// With a longer time, a member that gets no packets delays the others more.
const DOUBT: Duration = Duration::from_secs(1);

/// Bytes of a slab, with label and footer. Several flights can share them.
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
    /// Index of the receiver in the transfer's list of receivers.
    pub(super) at: usize,
    /// Session number that messages from the receiver have. It changes if the receiver's process restarts.
    pub(super) number: u64,
    pub(super) address: SocketAddr,
}

/// Progress of one member of a multicast group, with the time of its last change.
#[derive(Clone, Copy, Debug)]
struct MemberProgress {
    bytes: u64,
    since: Instant,
}

/// Slab that is being sent to one or several receivers.
struct Flight {
    slab: u32,
    to: Vec<To>,
    sending: Sending,
    /// Slab and progress of each receiver. `None` if the flight does not go to a multicast group.
    group: Option<(Bytes, Vec<MemberProgress>)>,
    /// Whether the flight was cancelled because the slab must be sent in another way.
    begins_anew: bool,
    /// Time for which the others had waited for each receiver when [`Flights::hold_ups`] was last called.
    held: Vec<Duration>,
}

/// Flight that has ended, with its result.
pub(super) struct Over {
    pub(super) slab: u32,
    pub(super) to: Vec<To>,
    pub(super) progress: Vec<Progress>,
    pub(super) fate: Result<Sent, Failure>,
}

impl Over {
    /// Returns the numbers of [`Flights::losses`] for this flight.
    pub(super) fn losses(&self) -> (u64, u64) {
        losses(self.progress.iter().copied())
    }
}

fn losses(progress: impl Iterator<Item = Progress>) -> (u64, u64) {
    progress.fold((0, 0), |(settled, lost), one| {
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
    /// Creates an empty list of flights. A slow receiver is dropped after the time `drop_after`, if it is given.
    pub(super) fn new(group: Option<SocketAddr>, drop_after: Option<Duration>) -> Self {
        let (policy, after) = match drop_after {
            Some(after) => (StragglerPolicy::Drop, after),
            // With the policy `Wait`, this time only affects the progress that is reported.
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

    /// Returns the number of different slabs in the list.
    pub(super) fn slabs(&self) -> usize {
        let mut slabs: Vec<u32> = self.flights.iter().map(|flight| flight.slab).collect();
        slabs.sort_unstable();
        slabs.dedup();
        slabs.len()
    }

    /// Returns two numbers of symbols, over all slabs that are being sent.
    /// The first number: symbols that receivers have reported as arrived or lost. The second: only the lost symbols.
    pub(super) fn losses(&self) -> (u64, u64) {
        let boards = self.flights.iter().map(|flight| flight.sending.progress());
        losses(boards.flatten())
    }

    /// Returns whether the members of the multicast group are known, because all checks have ended.
    /// Always `true` without a group.
    pub(super) fn settle(&mut self, channel: &Channel<'_>, peers: &[SocketAddr]) -> bool {
        let group = self.group.as_mut();
        group.is_none_or(|group| group.settle(channel, peers))
    }

    /// Returns the receivers that do not get datagrams of the multicast group. Each receiver is returned only once.
    pub(super) fn take_deaf(&mut self) -> Vec<SocketAddr> {
        let group = self.group.as_mut();
        group.map(Group::take_deaf).unwrap_or_default()
    }

    /// Sends a slab to receivers. The members of the multicast group get it together.
    pub(super) fn launch(
        &mut self,
        channel: &Channel<'_>,
        slab: u32,
        to: Vec<To>,
        object: SlabObject,
    ) {
        self.spread(channel, slab, to, Bytes(Arc::new(object)));
    }

    fn spread(&mut self, channel: &Channel<'_>, slab: u32, to: Vec<To>, bytes: Bytes) {
        let hears = |to: &To| {
            let group = self.group.as_ref();
            group.is_some_and(|group| group.has(to.address))
        };
        let (mut members, mut others): (Vec<To>, Vec<To>) = to.into_iter().partition(hears);
        // If there is only one member, the group saves no datagrams.
        if members.len() == 1 {
            others.append(&mut members);
        }
        let endpoint = channel.endpoint();
        let addresses = |to: &[To]| to.iter().map(|to| to.address).collect::<Vec<_>>();
        if let (Some(group), false) = (&self.group, members.is_empty()) {
            let receivers = addresses(&members);
            let sending =
                endpoint.send_to_group(group.address, &receivers, self.stragglers, bytes.clone());
            let since = Instant::now();
            let seen = vec![MemberProgress { bytes: 0, since }; members.len()];
            self.flights.push(Flight {
                slab,
                to: members,
                sending,
                group: Some((bytes.clone(), seen)),
                begins_anew: false,
                held: Vec::new(),
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
            held: Vec::new(),
        });
    }

    /// Stops sending a slab to a receiver that does not need it any more.
    /// If other receivers need the slab, it is still sent.
    pub(super) fn skip(&self, slab: u32, at: usize) {
        let is_only =
            |flight: &&Flight| flight.slab == slab && flight.to.len() == 1 && flight.to[0].at == at;
        self.flights
            .iter()
            .filter(is_only)
            .for_each(|flight| flight.sending.cancel());
    }

    /// Returns the waits since the last call: receivers, each with the time for which others have waited for it.
    /// Several slabs are in flight at the same time, so the longest wait of each receiver counts.
    pub(super) fn hold_ups(&mut self) -> BTreeMap<usize, Duration> {
        let mut waits = BTreeMap::new();
        for flight in self.flights.iter_mut().filter(|one| one.to.len() > 1) {
            let progress = flight.sending.progress();
            let held = progress.iter().map(|one| Duration::from(one.held));
            let held: Vec<Duration> = held.collect();
            for (number, (to, now)) in flight.to.iter().zip(&held).enumerate() {
                let before = flight.held.get(number).copied().unwrap_or_default();
                let wait: &mut Duration = waits.entry(to.at).or_default();
                *wait = (*wait).max(now.saturating_sub(before));
            }
            flight.held = held;
        }
        waits
    }

    /// Returns the number of bytes that each receiver has of the slabs in flight.
    pub(super) fn arrived(&self) -> BTreeMap<usize, u64> {
        let mut arrived = BTreeMap::new();
        for flight in &self.flights {
            let progress = flight.sending.progress();
            for (to, one) in flight.to.iter().zip(&progress) {
                *arrived.entry(to.at).or_default() += one.bytes;
            }
        }
        arrived
    }

    /// Stops sending to receivers that have ended, so that the others need not wait for them.
    /// `is_over` returns whether a receiver has ended. Call it again until the receivers have left.
    pub(super) fn leave_out(&self, is_over: impl Fn(&To) -> bool) {
        for flight in self.flights.iter().filter(|one| one.to.len() > 1) {
            let progress = flight.sending.progress();
            let all = flight.to.iter().zip(&progress).enumerate();
            for (number, _) in all.filter(|(_, (to, one))| is_over(to) && !one.stage.is_over()) {
                flight.sending.leave_out(number);
            }
        }
    }

    /// Stops the flights that go only to one receiver. Returns their slabs.
    pub(super) fn stop_to(&self, at: usize) -> Vec<u32> {
        let is_only = |flight: &&Flight| matches!(flight.to[..], [to] if to.at == at);
        let mut slabs = Vec::new();
        for flight in self.flights.iter().filter(is_only) {
            flight.sending.cancel();
            slabs.push(flight.slab);
        }
        slabs
    }

    /// Stops the flights whose receivers have all finished. `is_over` returns whether a receiver has finished.
    pub(super) fn cancel_to(&self, is_over: impl Fn(&To) -> bool) {
        for flight in &self.flights {
            if flight.to.iter().all(&is_over) {
                flight.sending.cancel();
            }
        }
    }

    /// Returns the flights that have ended since the previous call.
    pub(super) fn poll(&mut self, channel: &Channel<'_>) -> Vec<Over> {
        let mut over = Vec::new();
        // `watch` and `go_on` change the list of flights. So the list is moved out first.
        for mut flight in std::mem::take(&mut self.flights) {
            match channel.result_of(&mut flight.sending) {
                None => {
                    self.watch(channel, &mut flight);
                    self.flights.push(flight);
                }
                Some(Err(Failure::Cancelled)) if flight.begins_anew => self.go_on(channel, flight),
                Some(fate) => over.push(Over {
                    slab: flight.slab,
                    progress: flight.sending.progress(),
                    to: flight.to,
                    fate,
                }),
            }
        }
        over
    }

    /// Sends checks to members without progress.
    /// If such a member does not receive from the multicast group any more, it gets the slab in separate datagrams.
    fn watch(&mut self, channel: &Channel<'_>, flight: &mut Flight) {
        let (Some(group), Some((_, all)), false) =
            (&mut self.group, &mut flight.group, flight.begins_anew)
        else {
            return;
        };
        let progress = flight.sending.progress();
        for ((to, seen), one) in flight.to.iter().zip(all).zip(&progress) {
            if one.bytes > seen.bytes {
                seen.since = Instant::now();
                seen.bytes = one.bytes;
            }
            if one.stage.is_over() || seen.since.elapsed() < DOUBT {
                continue;
            }
            match group.recheck(channel, to.address) {
                Recheck::Open => {}
                Recheck::Hears => seen.since = Instant::now(),
                Recheck::Deaf => {
                    flight.begins_anew = true;
                    flight.sending.cancel();
                    return;
                }
            }
        }
    }

    /// Sends a slab again to all members of a multicast group that have not received it.
    fn go_on(&mut self, channel: &Channel<'_>, flight: Flight) {
        let Some((bytes, _)) = flight.group else {
            return;
        };
        let progress = flight.sending.progress();
        let open = flight.to.iter().zip(&progress);
        // The cancellation has marked unfinished receivers as failed. So failed receivers get the slab again.
        let open = open.filter(|(_, one)| !matches!(one.stage, Stage::Done | Stage::Dropped));
        let to = open.map(|(to, _)| *to).collect();
        self.spread(channel, flight.slab, to, bytes);
    }
}
