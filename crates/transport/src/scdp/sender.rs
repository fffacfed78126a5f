//! Sending half of one session (SCDP paper, section IV-C, Algorithm 1).

use super::common::header::{CreditHeader, MAX_ESI, ScdpHeader, ScdpKind};
use super::common::object::Object;
use super::config::{Mode, ScdpConfig};
use super::credit::control::stamp;
use super::credit::demand::CreditDemand;
use super::demand::Demand;
use crate::receiver_driven::Sending;
use crate::{
    Condition, Ecn, FlowStats, Header, PathPin, Segment, Share, Straggler, StragglerPolicy,
    Stragglers,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Parameters of a session that the application submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) flow: FlowId,
    pub(crate) tuple: FiveTuple,
    pub(crate) object: Object,
    pub(crate) pin: PathPin,
    /// Symbols that this host sends.
    pub(crate) share: Share,
    /// Policy for receivers that delay the others. `None` if there is only one receiver.
    pub(crate) stragglers: Option<Stragglers>,
}

/// Packet that one receiver gets without a request.
#[derive(Clone, Copy, Debug)]
struct Probe {
    peer: usize,
    /// Credit mode: whether the packet requests an answer.
    asks: bool,
}

/// One receiver of a session.
#[derive(Clone, Copy, Debug)]
struct Peer {
    host: HostId,
    /// With several receivers: whether any packet from this receiver has arrived.
    /// If no packet has arrived, the receiver may not know the session yet.
    heard: bool,
    /// With several receivers: whether the last pull of this receiver had FIN.
    fin: bool,
    /// Whether the host has reported the receiver to the application as a straggler.
    reported: bool,
    /// Whether the sender has dropped the receiver as a straggler.
    dropped: bool,
    /// Time for which other receivers have waited for this one.
    held: Duration,
}

#[derive(Debug)]
pub(crate) struct Sender {
    task: Task,
    /// Total number of symbols that this host pushes.
    window: u32,
    /// Number of symbols that can be pushed already, because the application has provided their blocks.
    to_push: u32,
    /// Number of symbols that were pushed.
    pushed: u32,
    /// Number of blocks, counted from the first, that the application has provided.
    ready: u32,
    /// Whether all symbols have the class below all other classes.
    below: bool,
    /// Number of symbols sent of each block. Blocks after the last used block have no entry.
    sent: Vec<u32>,
    peers: Vec<Peer>,
    demand: Demand,
    /// The ECN field of symbols.
    ecn: Ecn,
    /// Credit mode: whether the object was offered to all receivers.
    offered: bool,
    /// Credit mode: receivers that get a status or a new offer.
    /// Paper mode: receivers that get a symbol without a pull after a timeout.
    /// Each packet to a receiver without a pull is sent by unicast.
    /// By unicast, a packet also reaches a receiver that has left the group and whose last packet was lost.
    probes: VecDeque<Probe>,
    /// Whether every receiver that is not done has sent FIN.
    fin: bool,
    /// Whether a packet from any receiver has arrived.
    heard: bool,
    /// Whether at least one receiver has the whole object.
    pub(crate) delivered: bool,
    waits_since: Time,
    /// Time at which the last symbol was sent or stragglers were last checked.
    moved_at: Time,
    /// Time up to which the waits of receivers are counted in [`Peer::held`].
    held_at: Time,
    timeouts: u32,
    pub(crate) stats: FlowStats,
    /// Class in which the session waits for its turn to send. `None` if it does not wait.
    pub(crate) queued: Option<u8>,
    /// Time of the earliest entry of the session in the timer queue.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    /// Returns a session with at least one receiver and a window of at most `most` symbols.
    pub(crate) fn new(now: Time, task: Task, receivers: &[HostId], most: u32, mode: Mode) -> Self {
        let peers = receivers.iter().map(|&host| Peer {
            host,
            heard: false,
            fin: false,
            reported: false,
            dropped: false,
            held: Duration::ZERO,
        });
        let window = task.object.window(task.share, most);
        Self {
            window,
            to_push: window,
            ready: task.object.blocks(),
            below: false,
            task,
            pushed: 0,
            sent: Vec::new(),
            peers: peers.collect(),
            demand: match mode {
                Mode::Paper => Demand::new(receivers.len()),
                Mode::Credit(_) => Demand::Credit(CreditDemand::new(receivers.len(), window)),
            },
            ecn: match mode {
                Mode::Credit(credit) if credit.ecn => Ecn::Capable,
                _ => Ecn::NotCapable,
            },
            offered: false,
            probes: VecDeque::new(),
            fin: false,
            heard: false,
            delivered: false,
            waits_since: now,
            moved_at: now,
            held_at: now,
            timeouts: 0,
            stats: FlowStats {
                copies: 1,
                ..FlowStats::default()
            },
            queued: None,
            timer_at: Time::MAX,
            closed: false,
        }
    }

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// Sets the number of bytes that the application has provided. The sender only sends complete blocks.
    pub(crate) fn set_ready(&mut self, bytes: u64) {
        let object = self.task.object;
        self.ready = object.blocks_within(bytes);
        let is_whole = self.ready == object.blocks();
        self.demand.set_missing((!is_whole).then_some(self.ready));
        self.to_push = match is_whole {
            true => self.window,
            false => {
                let pushes = object.pushes(self.task.share, self.window);
                let ready = pushes.take_while(|(block, _)| *block < self.ready);
                ready.map(|(_, count)| count).sum()
            }
        };
    }

    /// Sets whether later packets have the class below all other classes.
    pub(crate) fn set_below(&mut self, below: bool) {
        self.below = below;
    }

    /// Returns whether the sender can send only when the application provides more data.
    fn is_starved(&self) -> bool {
        self.ready < self.task.object.blocks()
    }

    /// Returns whether a packet may be sent now.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        !self.closed
            && ((self.uses_credits() && !self.offered)
                || self.pushed < self.to_push
                || !self.probes.is_empty()
                || self.demand.is_due())
    }

    /// Returns the next packet. Offers come first, then symbols of the window, requested symbols, and probes.
    pub(crate) fn transmit(&mut self, now: Time, config: &ScdpConfig) -> Option<Segment> {
        if self.closed {
            return None;
        }
        if self.uses_credits() && !self.offered {
            self.offered = true;
            return Some(self.word(now, ScdpKind::Offer, true));
        }
        while self.pushed < self.to_push {
            let block = self.block_of(self.pushed);
            self.pushed += 1;
            // A receiver with several senders may complete the block before this sender has pushed all its symbols.
            if !self.demand.is_closed(block) {
                let class = self.class_of_push(config);
                return self.send(now, block, true, class);
            }
        }
        let class = self.class(config);
        if let Some(block) = self.demand.answer() {
            return self.send(now, block, false, class);
        }
        let Probe { peer, asks } = self.probes.pop_front()?;
        if self.uses_credits() {
            return Some(self.speak(now, peer, asks));
        }
        let last = self.task.object.blocks() - 1;
        // A receiver that still decodes, and has enough symbols of every block, gets a symbol of the last block.
        let block = self.demand.first_wanted(peer).min(last);
        let host = self.peers[peer].host;
        let heard = match self.peers.len() {
            1 => self.heard,
            _ => self.peers[peer].heard,
        };
        // If no packet of the receiver has arrived, it may not know the session.
        // So the symbol has SYN and can open the session.
        let mut probe = self.send(now, block, !heard, class)?;
        probe.tuple.dst = host;
        Some(probe)
    }

    /// Returns whether the session is in credit mode.
    #[inline]
    const fn uses_credits(&self) -> bool {
        matches!(self.demand, Demand::Credit(_))
    }

    /// Returns a packet for one receiver: the offer again if no packet from it has arrived, otherwise a status.
    fn speak(&mut self, now: Time, peer: usize, asks: bool) -> Segment {
        let heard = match self.peers.len() {
            1 => self.heard,
            _ => self.peers[peer].heard,
        };
        let mut word = match heard {
            false => self.word(now, ScdpKind::Offer, true),
            true => self.word(now, ScdpKind::Status, asks),
        };
        word.tuple.dst = self.peers[peer].host;
        word
    }

    /// Returns an offer or a status, which contain no symbol.
    fn word(&mut self, now: Time, kind: ScdpKind, syn: bool) -> Segment {
        let header = match (&self.demand, kind) {
            (Demand::Credit(demand), ScdpKind::Status) => ScdpHeader {
                kind,
                syn,
                pull: demand.used(),
                count: stamp(now),
                ..ScdpHeader::default()
            },
            _ => ScdpHeader {
                kind,
                syn,
                pinned: self.task.pin.index().is_some(),
                ..self.options()
            },
        };
        let mut word = Segment::new(self.task.tuple, self.task.flow, 0, Header::Scdp(header));
        word.path = self.task.pin;
        word
    }

    /// Processes credits of the receiver at `host`. Returns `false` if they are invalid.
    pub(crate) fn on_credit(&mut self, now: Time, host: HostId, header: &CreditHeader) -> bool {
        let Some(peer) = self.peer(host) else {
            return false;
        };
        // Credits that left before the receiver was done are valid, but request nothing.
        if self.demand.is_done(peer) {
            return true;
        }
        self.count_hold_ups(now);
        let blocks = self.task.object.blocks();
        let Demand::Credit(demand) = &mut self.demand else {
            return false;
        };
        if !demand.pull(peer, header, blocks) {
            return false;
        }
        self.hear(now, peer);
        // The answer is queued after `hear`, because `hear` removes the probes of this receiver.
        if header.probe {
            self.probes.push_back(Probe { peer, asks: false });
        }
        if self.peers.len() > 1 {
            self.peers[peer].fin = header.fin;
            self.fin = self.all_said_fin();
        } else {
            // With a single receiver FIN only selects the class, so FIN in an old pull causes no error.
            self.fin = header.fin;
        }
        true
    }

    /// Returns the class of the next symbol. The class depends on the bytes sent by all senders of the object.
    /// The sender assumes that every sender of the object has sent the same number of bytes.
    #[inline]
    pub(crate) fn class(&self, config: &ScdpConfig) -> u8 {
        // The answer to a pull with FIN ends the session, so it has the highest class, like pushed symbols.
        // While symbols remain to be pushed, the next symbol is usually a pushed symbol.
        if self.below || self.fin || self.pushed < self.window {
            return self.class_of_push(config);
        }
        let senders = u64::from(self.task.share.of);
        config.demotion.class(self.stats.payload_sent * senders)
    }

    /// Returns the class of pushed symbols.
    #[inline]
    const fn class_of_push(&self, config: &ScdpConfig) -> u8 {
        match self.below {
            false => 0,
            true => config.demotion.classes(),
        }
    }

    /// Returns the block of a pushed symbol. The loop is short, because a window rarely extends beyond the first block.
    fn block_of(&self, number: u32) -> u32 {
        let mut before = 0;
        let mut pushes = self.task.object.pushes(self.task.share, self.window);
        let block = pushes.find(|(_, count)| {
            before += count;
            before > number
        });
        // The blocks cover the whole window, and `to_push` is never larger, so a block is always found.
        block.map_or(0, |(block, _)| block)
    }

    /// Returns the next symbol of a block, or `None` if the block has no more identifiers.
    fn send(&mut self, now: Time, block: u32, syn: bool, priority: u8) -> Option<Segment> {
        let object = self.task.object;
        let touched = block as usize + 1;
        if self.sent.len() < touched {
            self.sent.resize(touched, 0);
        }
        let esi = self.task.share.identifier(self.sent[block as usize]);
        if esi >= MAX_ESI {
            return None;
        }
        self.sent[block as usize] += 1;
        self.moved_at = now;
        let payload = object.payload(block, esi);
        self.stats.payload_sent += u64::from(payload);
        // SCDP never retransmits a symbol. This field counts repair symbols instead.
        self.stats.retransmissions += u32::from(esi >= object.source_symbols(block));
        self.waits_since = now;
        let options = match &mut self.demand {
            Demand::Credit(demand) => ScdpHeader {
                pull: demand.on_sent(block),
                count: stamp(now),
                ..ScdpHeader::default()
            },
            _ if syn => self.options(),
            _ => ScdpHeader::default(),
        };
        let (kind, syn) = match self.uses_credits() {
            true => (ScdpKind::Credited, false),
            false => (ScdpKind::Symbol, syn),
        };
        Some(Segment {
            tuple: self.task.tuple,
            flow: self.task.flow,
            payload,
            ecn: self.ecn,
            priority,
            path: self.task.pin,
            rank: 0,
            trimmable: true,
            condition: Condition::Whole,
            header: Header::Scdp(ScdpHeader {
                kind,
                syn,
                pinned: self.task.pin != PathPin::NONE,
                block,
                esi,
                ..options
            }),
        })
    }

    /// Returns the options that describe the object.
    fn options(&self) -> ScdpHeader {
        let object = self.task.object;
        ScdpHeader {
            count: self.window,
            length: object.length(),
            blocks: object.blocks(),
            symbol: object.symbol(),
            senders: self.task.share.of,
            share: self.task.share.index,
            ..ScdpHeader::default()
        }
    }

    /// Returns the position of the receiver at `host`.
    /// A single receiver needs no search, because the addresses of the session identify it.
    #[inline]
    fn peer(&self, host: HostId) -> Option<usize> {
        if self.peers.len() == 1 {
            return Some(0);
        }
        self.peers.iter().position(|peer| peer.host == host)
    }

    /// Processes a pull of the receiver at `host`. Returns `false` if it is invalid.
    pub(crate) fn on_pull(
        &mut self,
        now: Time,
        host: HostId,
        header: &ScdpHeader,
        config: &ScdpConfig,
    ) -> bool {
        let object = self.task.object;
        let Some(peer) = self.peer(host) else {
            return false;
        };
        if header.block >= object.blocks() || header.blocks > object.blocks() {
            return false;
        }
        // A pull that left before the receiver was done is valid, but requests nothing.
        if self.demand.is_done(peer) {
            return true;
        }
        self.hear(now, peer);
        // A receiver has at most a window of pending symbols, and may request a block again from the start.
        let most = object
            .source_symbols(header.block)
            .saturating_add(config.overhead)
            .saturating_add(self.window);
        let Some(owes_more) = self.demand.pull(peer, header, most) else {
            return false;
        };
        if self.peers.len() > 1 {
            self.peers[peer].fin = header.fin;
            self.fin = self.all_said_fin();
        } else if owes_more {
            // A pull without new requests may be an old pull, so FIN in it does not count.
            self.fin = header.fin;
        }
        true
    }

    #[inline]
    fn all_said_fin(&self) -> bool {
        let mut peers = self.peers.iter().enumerate();
        peers.all(|(number, peer)| peer.fin || self.demand.is_done(number))
    }

    /// Records that the receiver at `host` has the whole object. Returns whether this ends the session.
    pub(crate) fn on_done(&mut self, now: Time, host: HostId) -> bool {
        let Some(peer) = self.peer(host) else {
            return false;
        };
        self.hear(now, peer);
        self.delivered = true;
        self.release_peer(peer);
        self.is_over()
    }

    /// Records that a receiver needs no more symbols.
    fn release_peer(&mut self, peer: usize) {
        self.demand.finish(peer);
        self.fin = self.all_said_fin();
    }

    /// Returns whether the session can end: all receivers are done or dropped, or the quorum is done.
    pub(crate) fn is_over(&self) -> bool {
        let done = self.demand.done();
        match self.task.stragglers.map(|stragglers| stragglers.policy) {
            // Dropped receivers count as done in `demand`, but not for the quorum.
            Some(StragglerPolicy::Quorum(quorum)) => {
                done == self.peers.len() || done - self.dropped() >= usize::from(quorum)
            }
            _ => done == self.peers.len(),
        }
    }

    /// Returns the number of dropped receivers.
    fn dropped(&self) -> usize {
        self.peers.iter().filter(|peer| peer.dropped).count()
    }

    /// Returns the number of receivers that may still be dropped as stragglers.
    fn dispensable(&self, policy: StragglerPolicy) -> usize {
        match policy {
            StragglerPolicy::Wait => 0,
            StragglerPolicy::Drop => self.peers.len(),
            StragglerPolicy::Quorum(quorum) => {
                let left = self.peers.len() - self.dropped();
                // If the quorum cannot be reached, no further receiver is dropped.
                left.saturating_sub(usize::from(quorum))
            }
        }
    }

    /// Returns the time at which receivers that do not pull will count as stragglers.
    #[inline]
    fn straggling_at(&self) -> Option<Time> {
        let after = self.task.stragglers?.after;
        let unknown =
            |(number, peer): (usize, &Peer)| !self.demand.is_done(number) && !peer.reported;
        let any = self.peers.iter().enumerate().any(unknown);
        any.then(|| self.moved_at.saturating_add(after))
    }

    /// Returns the receivers that have delayed the others for too long and were not reported before.
    /// Drops the reported receivers, as far as the policy allows.
    pub(crate) fn find_stragglers(&mut self, now: Time) -> Vec<Straggler> {
        let Some(stragglers) = self.task.stragglers else {
            return Vec::new();
        };
        if self.can_send() || self.straggling_at().is_none_or(|at| at > now) {
            return Vec::new();
        }
        // The next check is due one full waiting time later.
        self.moved_at = now;
        let peers = 0..self.peers.len();
        if peers.clone().all(|peer| self.demand.holds_up(peer)) {
            // No receiver waits for another, so the cause may be the loss of all pulls or all symbols.
            return Vec::new();
        }
        let slow: Vec<usize> = peers
            .filter(|&peer| !self.peers[peer].reported && self.demand.holds_up(peer))
            .collect();
        let dispensable = self.dispensable(stragglers.policy);
        // If only some stragglers may be dropped, the order of the application's list decides.
        for (number, &peer) in slow.iter().enumerate() {
            self.peers[peer].reported = true;
            if number < dispensable {
                self.peers[peer].dropped = true;
                self.release_peer(peer);
            }
        }
        let straggler = |peer: usize| Straggler {
            receiver: self.peers[peer].host,
            dropped: self.peers[peer].dropped,
        };
        slow.into_iter().map(straggler).collect()
    }

    /// Adds the time since the last symbol to the receivers that the others wait for.
    fn count_hold_ups(&mut self, now: Time) {
        if self.peers.len() < 2 || self.can_send() {
            return;
        }
        let since = self.moved_at.max(self.held_at);
        self.held_at = now;
        // If no receiver waits for another, the network or this host is the limit.
        if (0..self.peers.len()).all(|peer| self.demand.holds_up(peer)) {
            return;
        }
        for (number, peer) in self.peers.iter_mut().enumerate() {
            if self.demand.holds_up(number) {
                peer.held += now.since(since);
            }
        }
    }

    /// Returns the time for which other receivers have waited for the receiver at `host`.
    pub(crate) fn held_up_by(&self, host: HostId) -> Duration {
        let peer = self.peers.iter().find(|peer| peer.host == host);
        peer.map_or(Duration::ZERO, |peer| peer.held)
    }

    /// Returns the receivers that are not done when the session ends.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = Straggler> {
        let open = |number: &usize| !self.demand.is_done(*number);
        (0..self.peers.len()).filter(open).map(|peer| Straggler {
            receiver: self.peers[peer].host,
            dropped: true,
        })
    }

    #[inline]
    fn hear(&mut self, now: Time, peer: usize) {
        self.heard = true;
        // With one receiver, `self.heard` contains the same information, and the list is not accessed.
        if self.peers.len() > 1 {
            self.peers[peer].heard = true;
        }
        self.timeouts = 0;
        self.probes.retain(|probe| probe.peer != peer);
        if self.peers.len() == 1 || !self.uses_credits() {
            self.waits_since = now;
        }
        // In a group in credit mode, requests from other receivers must not restart this timeout.
        // If they did, the receiver for which all others wait would never get a probe.
    }

    /// Returns the time of the next timeout or straggler check.
    /// Returns `None` if the sender has a packet to send or waits for its application.
    #[inline]
    pub(crate) fn deadline(&self, config: &ScdpConfig) -> Option<Time> {
        if self.closed || self.can_send() || self.is_starved() {
            return None;
        }
        let overdue = self.overdue_at(config);
        Some(self.straggling_at().map_or(overdue, |at| at.min(overdue)))
    }

    #[inline]
    fn overdue_at(&self, config: &ScdpConfig) -> Time {
        let span = config.backed_off(self.timeouts);
        self.waits_since.saturating_add(span)
    }

    /// Processes an expired timer. If no receiver has answered in time, all symbols or all pulls may be lost.
    /// After a timeout, each receiver that is not done gets one more symbol. Returns `false` if the session has failed.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &ScdpConfig) -> bool {
        if self.can_send() || self.is_starved() || self.overdue_at(config) > now {
            return true;
        }
        self.stats.timeouts += 1;
        self.timeouts += 1;
        if self.uses_credits() {
            // An answer to a probe does not show that the session makes progress.
            // In paper mode a probe is a symbol, and `send` restarts the timer.
            self.waits_since = now;
        }
        let open = (0..self.peers.len()).filter(|&peer| !self.demand.is_done(peer));
        // All receivers must answer, even if a packet of another receiver arrives first.
        let probes = open.map(|peer| Probe { peer, asks: true });
        self.probes.extend(probes);
        self.timeouts <= config.max_timeouts
    }
}

impl Sending for Sender {
    fn flow(&self) -> FlowId {
        self.task.flow
    }

    fn stats(&self) -> FlowStats {
        self.stats
    }

    fn tuples(&self) -> impl Iterator<Item = FiveTuple> {
        let tuple = self.task.tuple;
        self.peers.iter().map(move |peer| FiveTuple {
            dst: peer.host,
            ..tuple
        })
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn close(&mut self) {
        // The large parts of the session's state are freed now. Its small parts stay until the time-wait ends.
        self.closed = true;
        self.sent = Vec::new();
        self.demand = Demand::new(0);
        self.probes = VecDeque::new();
    }

    fn timer_at(&mut self) -> &mut Time {
        &mut self.timer_at
    }
}
