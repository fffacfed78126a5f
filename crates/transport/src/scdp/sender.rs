//! One session at its sender (SCDP paper, section IV-C, Algorithm 1).

use super::config::ScdpConfig;
use super::demand::Demand;
use super::header::{MAX_ESI, ScdpHeader, ScdpKind};
use super::object::Object;
use crate::{Condition, Ecn, FlowStats, Header, PathPin, Segment};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, Time};

/// What a session is, as its application gave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) flow: FlowId,
    pub(crate) tuple: FiveTuple,
    pub(crate) object: Object,
    pub(crate) pin: PathPin,
}

#[derive(Debug)]
pub(crate) struct Sender {
    task: Task,
    /// Symbols to push, and how many of them have been.
    window: u32,
    pushed: u32,
    /// By block: the next symbol's identifier. Blocks not touched yet are left out.
    next_esi: Vec<u32>,
    demand: Demand,
    /// Blocks of which symbols are owed.
    owed: VecDeque<u32>,
    /// Symbols to send without a pull: after timeouts.
    extra: u32,
    /// The block that the receiver asked for last, and whether with FIN.
    asked: u32,
    fin: bool,
    heard: bool,
    waits_since: Time,
    timeouts: u32,
    pub(crate) stats: FlowStats,
    /// Whether the session is among those that have something to send.
    pub(crate) queued: bool,
    /// When the earliest entry of this session in the timer queue is due.
    pub(crate) timer_at: Time,
    pub(crate) closed: bool,
}

impl Sender {
    pub(crate) fn new(now: Time, task: Task, config: &ScdpConfig) -> Self {
        Self {
            window: u64::from(config.initial_window).min(task.object.symbols()) as u32,
            task,
            pushed: 0,
            next_esi: Vec::new(),
            demand: Demand::new(1),
            owed: VecDeque::new(),
            extra: 0,
            asked: 0,
            fin: false,
            heard: false,
            waits_since: now,
            timeouts: 0,
            stats: FlowStats {
                copies: 1,
                ..FlowStats::default()
            },
            queued: false,
            timer_at: Time::MAX,
            closed: false,
        }
    }

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// Whether there is something that may be sent now.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        !self.closed && (self.pushed < self.window || self.extra > 0 || !self.owed.is_empty())
    }

    /// The next symbol: of the window, else what is owed.
    pub(crate) fn transmit(&mut self, now: Time, config: &ScdpConfig) -> Option<Segment> {
        if self.closed {
            return None;
        }
        if self.pushed < self.window {
            let index = u64::from(self.pushed);
            self.pushed += 1;
            return self.send(now, self.block_of(index), true, 0);
        }
        let class = if self.fin {
            0
        } else {
            config.demotion.class(self.stats.payload_sent)
        };
        while let Some(&block) = self.owed.front() {
            if self.demand.answer(block) {
                return self.send(now, block, false, class);
            }
            self.owed.pop_front();
        }
        if self.extra > 0 {
            self.extra -= 1;
            return self.send(now, self.asked, !self.heard, class);
        }
        None
    }

    /// The block of a pushed symbol. The window rarely reaches beyond the first one.
    fn block_of(&self, index: u64) -> u32 {
        let object = &self.task.object;
        let mut block = 0;
        while object.first_index(block + 1) <= index {
            block += 1;
        }
        block
    }

    /// The next symbol of a block; `None` when the block has no more.
    fn send(&mut self, now: Time, block: u32, syn: bool, priority: u8) -> Option<Segment> {
        let object = self.task.object;
        let touched = block as usize + 1;
        if self.next_esi.len() < touched {
            self.next_esi.resize(touched, 0);
        }
        let esi = self.next_esi[block as usize];
        if esi >= MAX_ESI {
            return None;
        }
        self.next_esi[block as usize] = esi + 1;
        let payload = object.payload(block, esi);
        self.stats.payload_sent += u64::from(payload);
        self.stats.retransmissions += u32::from(esi >= object.source_symbols(block));
        self.waits_since = now;
        let options = ScdpHeader {
            window: self.window,
            length: object.length(),
            blocks: object.blocks(),
            symbol: object.symbol(),
            ..ScdpHeader::default()
        };
        Some(Segment {
            tuple: self.task.tuple,
            flow: self.task.flow,
            payload,
            ecn: Ecn::NotCapable,
            priority,
            path: self.task.pin,
            rank: 0,
            trimmable: true,
            condition: Condition::Whole,
            header: Header::Scdp(ScdpHeader {
                kind: ScdpKind::Symbol,
                syn,
                pinned: self.task.pin != PathPin::NONE,
                block,
                esi,
                ..if syn { options } else { ScdpHeader::default() }
            }),
        })
    }

    /// A pull. Says whether it makes sense.
    pub(crate) fn on_pull(&mut self, now: Time, header: &ScdpHeader, config: &ScdpConfig) -> bool {
        let object = self.task.object;
        if header.block >= object.blocks() {
            return false;
        }
        self.hear(now);
        // A receiver has at most a window on its way, and may ask for a block again from the start.
        let most = object
            .source_symbols(header.block)
            .saturating_add(config.overhead)
            .saturating_add(self.window);
        let owed = self.demand.pull(0, header.block, header.pull, most);
        if owed > 0 {
            self.owed.push_back(header.block);
            self.asked = header.block;
            self.fin = header.fin;
        }
        true
    }

    /// The receiver has everything. Says whether no receiver is left.
    pub(crate) fn on_done(&mut self, now: Time) -> bool {
        self.hear(now);
        self.demand.finish(0)
    }

    fn hear(&mut self, now: Time) {
        self.heard = true;
        self.timeouts = 0;
        self.extra = 0;
        self.waits_since = now;
    }

    /// When the sender stops waiting; `None` while it has something to send.
    #[inline]
    pub(crate) fn deadline(&self, config: &ScdpConfig) -> Option<Time> {
        if self.closed || self.can_send() {
            return None;
        }
        let span = config.backed_off(self.timeouts);
        Some(self.waits_since.saturating_add(span))
    }

    /// The timer has expired: all symbols or all pulls may be lost, so one symbol more is sent. Says
    /// whether the session goes on.
    pub(crate) fn on_timeout(&mut self, config: &ScdpConfig) -> bool {
        self.stats.timeouts += 1;
        self.timeouts += 1;
        self.extra += 1;
        self.timeouts <= config.max_timeouts
    }

    /// The session has ended: gives back what is large.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.next_esi = Vec::new();
        self.demand = Demand::new(1);
        self.owed = VecDeque::new();
    }
}
