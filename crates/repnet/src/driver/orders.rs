//! What a flow orders.

use super::Core;
use crate::clock;
use crate::error::RepNetError;
use crate::line::{Line, Slot};
use std::io;
use tailcut_transport::repnet::{Cause, Command, Leg, Reason, Role, State};

impl Core {
    pub(super) fn obey(&mut self) {
        while let Some(command) = self.flow.poll_command() {
            self.perform(command);
        }
        let waits = self.flow.role() == Role::Server && self.flow.state() == State::OneConn;
        if waits != self.counted.waiting {
            let waiting = &self.around.counters.0.waiting;
            if waits {
                waiting.up()
            } else {
                waiting.down()
            }
            self.counted.waiting = waits;
        }
    }

    pub(super) fn perform(&mut self, command: Command) {
        match command {
            Command::Open(leg) => {
                self.slots[leg as usize] = Slot::Connecting(self.host.open(leg));
                self.wake_driver();
            }
            Command::SendHello(preamble) => {
                if let Some(line) = self.line(preamble.leg) {
                    line.say_hello(&preamble);
                }
            }
            Command::Learn(capable) => self.host.learn(capable),
            Command::Outcome(established) => self.host.outcome(established),
            Command::Promote { leg, paired } => {
                self.around.counters.0.legs_established.up();
                self.apply_nodelay(leg);
                if paired {
                    self.around.counters.0.legs_paired.up();
                    self.around
                        .counters
                        .0
                        .bytes_sent_twice
                        .add(self.flow.to_send(leg).1);
                    self.counted.paired = true;
                    if std::mem::take(&mut self.counted.rejoining) {
                        self.around.counters.0.legs_rejoined.up();
                    }
                }
            }
            Command::Deliver => self.seen.opened = true,
            Command::EndOfStream => self.seen.end = true,
            Command::Settled => self.check = None,
            Command::Reset(leg, reason) => self.reset(leg, reason),
            Command::Leave(leg) => {
                self.around.counters.0.dropped_lost.up();
                match (self.flow.role(), self.take_line(leg)) {
                    (Role::Client, Some(line)) => {
                        let tcp = line.into_parts().0;
                        // For a server that ends it by a FIN, and for a process that is killed. A failure here means
                        // a connection that is gone already.
                        let _ = tcp.set_zero_linger();
                        self.slots[leg as usize] = Slot::Leaving(tcp);
                    }
                    // The client has chosen, and discards what comes: one packet instead of a FIN, its
                    // acknowledgement and the client's reset.
                    (Role::Server, Some(line)) => line.reset(),
                    (_, None) => {}
                }
            }
            Command::Close(leg) => drop(self.take_line(leg)),
            Command::Release(leg) => {
                if let Some(line) = self.take_line(leg) {
                    let (tcp, is_finished) = line.into_parts();
                    self.around.lingering.add(&self.runtime, tcp, is_finished);
                }
            }
            Command::MayRejoin(leg) => {
                if self.host.may_rejoin() {
                    self.check = Some(Box::default());
                    self.counted.rejoining = true;
                    self.flow.rejoin(clock::now(), leg);
                }
            }
            Command::NoteDiverged => self.around.counters.0.diverged.up(),
            Command::Fail(cause) => self.fail(cause),
            Command::Bury => self.host.bury(),
            Command::Ended => self.end(),
        }
    }

    fn take_line(&mut self, leg: Leg) -> Option<Line> {
        match std::mem::take(&mut self.slots[leg as usize]) {
            Slot::Line(line) => Some(line),
            Slot::Empty | Slot::Connecting(_) | Slot::Leaving(_) => None,
        }
    }

    fn reset(&mut self, leg: Leg, reason: Reason) {
        let slot = std::mem::take(&mut self.slots[leg as usize]);
        if !matches!(slot, Slot::Empty | Slot::Leaving(_)) {
            self.around.counters.0.dropped(reason);
        }
        self.drop_slot(slot);
    }

    pub(super) fn drop_slot(&self, slot: Slot) {
        match slot {
            Slot::Line(line) => line.reset(),
            Slot::Connecting(attempt) if self.flow.is_by_hello() => drop(attempt),
            Slot::Connecting(attempt) => self.around.lingering.give_up(&self.runtime, attempt),
            Slot::Leaving(leg) => self.around.lingering.add(&self.runtime, leg, false),
            Slot::Empty => {}
        }
    }

    fn fail(&mut self, cause: Cause) {
        let error = match cause {
            Cause::Leg(leg) => match self.errors[leg as usize].take() {
                Some(error) => error,
                None => io::ErrorKind::ConnectionReset.into(),
            },
            Cause::LegDeadline => RepNetError::LegDeadline {
                within: self.around.leg_deadline,
            }
            .into(),
            Cause::ArchiveFull => RepNetError::ArchiveFull {
                cap: self.around.archive_cap,
            }
            .into(),
            Cause::Diverged => RepNetError::Diverged {
                delivered: self.flow.delivered(),
            }
            .into(),
        };
        self.seen.failure = Some(error);
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.counted.ended, true) {
            return;
        }
        let counters = self.around.counters.clone();
        counters.0.live.down();
        if self.counted.paired {
            match self.flow.fresh(Leg::Second) > self.flow.fresh(Leg::First) {
                true => counters.0.won_second.up(),
                false => counters.0.won_first.up(),
            }
        }
        self.seen.ended = true;
        for leg in Leg::ALL {
            let slot = std::mem::take(&mut self.slots[leg as usize]);
            self.drop_slot(slot);
        }
        self.host.bury();
        self.wake();
        self.wake_driver();
    }
}
