//! One session at its sender (SCDP paper, section IV-C, Algorithm 1).

use super::common::header::{CreditHeader, MAX_ESI, ScdpHeader, ScdpKind};
use super::common::object::Object;
use super::config::{Mode, ScdpConfig};
use super::credit::control::stamp;
use super::credit::demand::CreditDemand;
use super::demand::Demand;
use crate::{
    Condition, Ecn, FlowStats, Header, PathPin, Segment, Share, Straggler, StragglerPolicy,
    Stragglers,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, HostId, Time};

/// What a session is, as its application gave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) flow: FlowId,
    pub(crate) tuple: FiveTuple,
    pub(crate) object: Object,
    pub(crate) pin: PathPin,
    /// The symbols that are this host's to send.
    pub(crate) share: Share,
    /// What happens to receivers that hold the others up; `None` with one receiver.
    pub(crate) stragglers: Option<Stragglers>,
}

/// A receiver to which something is sent that it has not asked for.
#[derive(Clone, Copy, Debug)]
struct Probe {
    peer: usize,
    /// Under credits: whether it is to answer.
    asks: bool,
}

/// One receiver of a session.
#[derive(Clone, Copy, Debug)]
struct Peer {
    host: HostId,
    /// Of several: whether anything came from it; if not, it may know nothing of the session.
    heard: bool,
    /// Of several: whether its last pull had FIN.
    fin: bool,
    /// Whether the application knows that it holds the others up.
    reported: bool,
    /// Whether it was left out for that.
    dropped: bool,
}

#[derive(Debug)]
pub(crate) struct Sender {
    task: Task,
    /// Symbols to push, how many of them can be by now, and how many have been.
    window: u32,
    to_push: u32,
    pushed: u32,
    /// Blocks, from the first, that the application has handed over.
    ready: u32,
    /// Whether all symbols go below all classes.
    below: bool,
    /// By block: symbols sent. Blocks not touched yet are left out.
    sent: Vec<u32>,
    peers: Vec<Peer>,
    demand: Demand,
    /// The ECN field of symbols.
    ecn: Ecn,
    /// Under credits: whether the object has been offered to all receivers at once.
    offered: bool,
    /// Under credits: receivers to tell how much was sent, or to offer the object again. Else
    /// receivers to send a symbol without a pull, each by itself: after timeouts. One that has left the
    /// group since its last word was lost is reached too.
    probes: VecDeque<Probe>,
    /// Whether every receiver that is not done has sent FIN.
    fin: bool,
    /// Whether anything came from any receiver.
    heard: bool,
    /// Whether some receiver has everything.
    pub(crate) delivered: bool,
    waits_since: Time,
    /// When something was last sent, or a receiver was last found to hold the others up.
    moved_at: Time,
    timeouts: u32,
    pub(crate) stats: FlowStats,
    /// The class in which the session waits for its turn to send, if it does.
    pub(crate) queued: Option<u8>,
    /// When the earliest entry of this session in the timer queue is due.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    /// A session with `receivers`, of whom there is one at least, and with a window of `most` symbols.
    pub(crate) fn new(now: Time, task: Task, receivers: &[HostId], most: u32, mode: Mode) -> Self {
        let peers = receivers.iter().map(|&host| Peer {
            host,
            heard: false,
            fin: false,
            reported: false,
            dropped: false,
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

    /// The application has handed over the first `bytes` bytes and no more: whole blocks are sent.
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

    /// What is sent from now on goes below all classes, or not.
    pub(crate) fn set_below(&mut self, below: bool) {
        self.below = below;
    }

    /// Whether it waits for its application only.
    fn is_starved(&self) -> bool {
        self.ready < self.task.object.blocks()
    }

    /// Addresses as this host sends, of each receiver by itself.
    pub(crate) fn tuples(&self) -> impl Iterator<Item = FiveTuple> {
        let tuple = self.task.tuple;
        self.peers.iter().map(move |peer| FiveTuple {
            dst: peer.host,
            ..tuple
        })
    }

    /// Whether there is something that may be sent now.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        !self.closed
            && ((self.uses_credits() && !self.offered)
                || self.pushed < self.to_push
                || !self.probes.is_empty()
                || self.demand.is_due())
    }

    /// The next symbol: of the window, else what is owed.
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
            // With other senders a receiver may have the block before this one has pushed its part.
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
        let block = self.demand.first_wanted(peer).min(last);
        let host = self.peers[peer].host;
        let heard = match self.peers.len() {
            1 => self.heard,
            _ => self.peers[peer].heard,
        };
        let mut probe = self.send(now, block, !heard, class)?;
        probe.tuple.dst = host;
        Some(probe)
    }

    /// Whether receivers give credits.
    #[inline]
    const fn uses_credits(&self) -> bool {
        matches!(self.demand, Demand::Credit(_))
    }

    /// A word to one receiver: the offer again if it was never heard, else how much was sent.
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

    /// A header without a symbol.
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

    /// Credits of the receiver at `host`. Says whether they make sense.
    pub(crate) fn on_credit(&mut self, now: Time, host: HostId, header: &CreditHeader) -> bool {
        let Some(peer) = self.peer(host) else {
            return false;
        };
        if self.demand.is_done(peer) {
            return true;
        }
        let blocks = self.task.object.blocks();
        let Demand::Credit(demand) = &mut self.demand else {
            return false;
        };
        if !demand.pull(peer, header, blocks) {
            return false;
        }
        self.hear(now, peer);
        if header.probe {
            self.probes.push_back(Probe { peer, asks: false });
        }
        if self.peers.len() > 1 {
            self.peers[peer].fin = header.fin;
            self.fin = self.all_said_fin();
        } else {
            self.fin = header.fin;
        }
        true
    }

    /// The class of its next symbol: by what all senders of the object have sent, each as much as this one.
    #[inline]
    pub(crate) fn class(&self, config: &ScdpConfig) -> u8 {
        if self.below || self.fin || self.pushed < self.window {
            return self.class_of_push(config);
        }
        let senders = u64::from(self.task.share.of);
        config.demotion.class(self.stats.payload_sent * senders)
    }

    /// The class of pushed symbols.
    #[inline]
    const fn class_of_push(&self, config: &ScdpConfig) -> u8 {
        match self.below {
            false => 0,
            true => config.demotion.classes(),
        }
    }

    /// The block of a pushed symbol. The window rarely reaches beyond the first one.
    fn block_of(&self, number: u32) -> u32 {
        let mut before = 0;
        let mut pushes = self.task.object.pushes(self.task.share, self.window);
        let block = pushes.find(|(_, count)| {
            before += count;
            before > number
        });
        block.map_or(0, |(block, _)| block)
    }

    /// The next symbol of a block; `None` when the block has no more.
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

    /// The options of an object.
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

    /// The receiver at `host`. With one, whoever has the session's addresses is it.
    #[inline]
    fn peer(&self, host: HostId) -> Option<usize> {
        if self.peers.len() == 1 {
            return Some(0);
        }
        self.peers.iter().position(|peer| peer.host == host)
    }

    /// A pull of the receiver at `host`. Says whether it makes sense.
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
        if self.demand.is_done(peer) {
            return true;
        }
        self.hear(now, peer);
        // A receiver has at most a window on its way, and may ask for a block again from the start.
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
            self.fin = header.fin;
        }
        true
    }

    #[inline]
    fn all_said_fin(&self) -> bool {
        let mut peers = self.peers.iter().enumerate();
        peers.all(|(number, peer)| peer.fin || self.demand.is_done(number))
    }

    /// The receiver at `host` has everything. Says whether the session has ended with that.
    pub(crate) fn on_done(&mut self, now: Time, host: HostId) -> bool {
        let Some(peer) = self.peer(host) else {
            return false;
        };
        self.hear(now, peer);
        self.delivered = true;
        self.release_peer(peer);
        self.is_over()
    }

    /// A receiver waits for nothing more.
    fn release_peer(&mut self, peer: usize) {
        self.demand.finish(peer);
        self.fin = self.all_said_fin();
    }

    /// Whether all receivers are done or left out, or as many are done as there must be.
    pub(crate) fn is_over(&self) -> bool {
        let done = self.demand.done();
        match self.task.stragglers.map(|stragglers| stragglers.policy) {
            Some(StragglerPolicy::Quorum(quorum)) => {
                done == self.peers.len() || done - self.dropped() >= usize::from(quorum)
            }
            _ => done == self.peers.len(),
        }
    }

    /// Receivers that were left out.
    fn dropped(&self) -> usize {
        self.peers.iter().filter(|peer| peer.dropped).count()
    }

    /// How many receivers may still be left out for holding the others up.
    fn dispensable(&self, policy: StragglerPolicy) -> usize {
        match policy {
            StragglerPolicy::Wait => 0,
            StragglerPolicy::Drop => self.peers.len(),
            StragglerPolicy::Quorum(quorum) => {
                let left = self.peers.len() - self.dropped();
                left.saturating_sub(usize::from(quorum))
            }
        }
    }

    /// When receivers that do not pull are stragglers.
    #[inline]
    fn straggling_at(&self) -> Option<Time> {
        let after = self.task.stragglers?.after;
        let unknown =
            |(number, peer): (usize, &Peer)| !self.demand.is_done(number) && !peer.reported;
        let any = self.peers.iter().enumerate().any(unknown);
        any.then(|| self.moved_at.saturating_add(after))
    }

    /// The receivers that have held the others up for too long by now, to be reported; those that the
    /// policy can do without are left out.
    pub(crate) fn find_stragglers(&mut self, now: Time) -> Vec<Straggler> {
        let Some(stragglers) = self.task.stragglers else {
            return Vec::new();
        };
        if self.can_send() || self.straggling_at().is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.moved_at = now;
        let peers = 0..self.peers.len();
        if peers.clone().all(|peer| self.demand.holds_up(peer)) {
            // Nobody is held up: all pulls may be lost, or all symbols.
            return Vec::new();
        }
        let slow: Vec<usize> = peers
            .filter(|&peer| !self.peers[peer].reported && self.demand.holds_up(peer))
            .collect();
        let dispensable = self.dispensable(stragglers.policy);
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

    /// Receivers that are not done: the session ends without them.
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
        if self.peers.len() > 1 {
            self.peers[peer].heard = true;
        }
        self.timeouts = 0;
        self.probes.retain(|probe| probe.peer != peer);
        if self.peers.len() == 1 || !self.uses_credits() {
            self.waits_since = now;
        }
        // Else others may ask again and again, and the one that all wait for never hears a word.
    }

    /// When the sender stops waiting, or takes receivers for stragglers; `None` while it has something
    /// to send.
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

    /// The timer has expired. If that is because nothing is heard, all symbols or all pulls may be lost,
    /// so one symbol more is sent to each receiver
    /// that is not done. Says whether the session goes on.
    pub(crate) fn on_timeout(&mut self, now: Time, config: &ScdpConfig) -> bool {
        if self.can_send() || self.is_starved() || self.overdue_at(config) > now {
            return true;
        }
        self.stats.timeouts += 1;
        self.timeouts += 1;
        if self.uses_credits() {
            // Answers to probes are no sign that all goes well.
            self.waits_since = now;
        }
        let open = (0..self.peers.len()).filter(|&peer| !self.demand.is_done(peer));
        // Each is to answer, also if another one is heard before its turn.
        let probes = open.map(|peer| Probe { peer, asks: true });
        self.probes.extend(probes);
        self.timeouts <= config.max_timeouts
    }

    /// The session has ended: gives back what is large.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.sent = Vec::new();
        self.demand = Demand::new(0);
        self.probes = VecDeque::new();
    }
}
