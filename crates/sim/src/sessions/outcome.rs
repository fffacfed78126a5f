//! Results of storage sessions: events of their transfers, converted to rows.

use super::{FlowRole, Role, Sessions};
use crate::application::{Desk, transfer_index};
use tailcut_record::{SessionEnd, SessionRecord, Straggling};
use tailcut_transport::{Event, FlowStats, Receipt, Straggler};
use tailcut_units::{Bytes, HostId, Time};

impl Sessions {
    /// Handles a transport's event of a flow.
    pub(super) fn on_event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        let now = desk.now();
        let flow = event.flow();
        let FlowRole {
            session,
            role,
            first_row,
        } = self.flow_roles[transfer_index(flow)];
        if let Event::Late(_) = event {
            // A late symbol can arrive after the end of the session, but the session's row still exists.
            let mut rows = self.rows[first_row..].iter_mut();
            let receiver = rows.find(|row| row.session == session && row.receiver == host);
            if let Some(row) = receiver {
                row.late += 1;
            }
            return;
        }
        match role {
            Role::Unicast(number) => {
                desk.recorder().event(now, event);
                match event {
                    Event::Completed(_) => self.unicast_completed(now, session, number),
                    Event::Failed(..) => self.unicast_failed(session, number),
                    _ => {}
                }
            }
            Role::Multicast => self.multicast_event(now, host, event),
            Role::Receiver => match event {
                Event::Received(_, receipt) => self.received(session, 0, receipt),
                Event::Completed(_) => {
                    desk.recorder().event(now, event);
                    self.completed(session, 0, now);
                    self.one_end_closed(session, desk);
                }
                Event::Failed(..) => {
                    self.failed(session, 0);
                    self.one_end_closed(session, desk);
                }
                _ => {}
            },
            Role::Sender => {
                let (Event::Closed(_, stats) | Event::Failed(_, stats)) = event else {
                    return;
                };
                let Some(running) = self.running.get_mut(&session) else {
                    return;
                };
                running.cost.add(stats);
                running.cost.copies = 1;
                self.one_end_closed(session, desk);
            }
        }
    }

    /// Handles the end of one sender or receiver of a transfer from several senders.
    fn one_end_closed(&mut self, session: u32, desk: &mut Desk<'_>) {
        let Some(running) = self.running.get_mut(&session) else {
            return;
        };
        running.open -= 1;
        if running.open == 0 {
            let closed = Event::Closed(running.collected, running.cost);
            let now = desk.now();
            desk.recorder().event(now, closed);
            self.running.remove(&session);
        }
    }

    /// Handles the end of a separate flow. The flow's receiver has all data.
    fn unicast_completed(&mut self, now: Time, session: u32, number: usize) {
        let Some(running) = self.running.get_mut(&session) else {
            return;
        };
        running.open -= 1;
        let over = running.open == 0;
        if let Some(chain) = &mut running.chain {
            chain.arrived[number] = Some(now);
            let done = chain.arrived.iter().take_while(|at| at.is_some()).count();
            let over = done == chain.servers.len();
            for receiver in 0..done {
                self.completed(session, receiver, now);
            }
            if over {
                self.running.remove(&session);
            }
            return;
        }
        // A read of several blocks is complete when its last block is complete.
        if over || running.receivers > 1 {
            self.completed(session, number, now);
        }
        if over {
            self.running.remove(&session);
        }
    }

    fn row(&mut self, session: u32, receiver: usize) -> Option<&mut SessionRecord> {
        let running = self.running.get(&session)?;
        self.rows.get_mut(running.first_row + receiver)
    }

    /// Records that a receiver has all data. Only the first report counts.
    fn completed(&mut self, session: u32, receiver: usize, now: Time) {
        if let Some(row) = self.row(session, receiver) {
            row.completion.get_or_insert(now.since(row.start));
            row.end = SessionEnd::Whole;
        }
    }

    /// Records that the transfer to a receiver failed.
    fn failed(&mut self, session: u32, receiver: usize) {
        if let Some(row) = self.row(session, receiver)
            && row.completion.is_none()
        {
            row.end = SessionEnd::Failed;
        }
    }

    /// Records that a flow failed. The receiver of the flow gets no more data.
    /// In a chain, the servers after this receiver also get no more data.
    fn unicast_failed(&mut self, session: u32, number: usize) {
        let Some(running) = self.running.get(&session) else {
            return;
        };
        let last = match running.chain {
            Some(_) => running.receivers,
            None => number + 1,
        };
        for receiver in number..last {
            self.failed(session, receiver);
        }
    }

    fn received(&mut self, session: u32, receiver: usize, receipt: Receipt) {
        if let Some(row) = self.row(session, receiver) {
            row.symbols += receipt.symbols;
            row.in_vain += receipt.in_vain;
            let missing = row.bytes.0.saturating_sub(receipt.bytes);
            row.missing = (missing > 0).then_some(Bytes(missing));
        }
    }

    /// Handles an event of the transfer to a group. The event contains the number of the transfer's first flow.
    fn multicast_event(&mut self, now: Time, host: HostId, event: Event) {
        let session = self.flow_roles[transfer_index(event.flow())].session;
        let Some(running) = self.running.get(&session) else {
            return;
        };
        let rows = running.first_row..running.first_row + running.receivers;
        let receiver_at =
            |rows: &[SessionRecord], host: HostId| rows.iter().position(|row| row.receiver == host);
        let rows = &mut self.rows[rows];
        match event {
            Event::Received(_, receipt) => {
                if let Some(receiver) = receiver_at(rows, host) {
                    self.received(session, receiver, receipt);
                }
            }
            Event::Completed(_) => {
                if let Some(receiver) = receiver_at(rows, host) {
                    self.completed(session, receiver, now);
                }
            }
            Event::Straggling(_, Straggler { receiver, dropped }) => {
                let at = receiver_at(rows, receiver);
                // A receiver that has all data is not a straggler.
                // The sender may not have received the last message of a receiver that has all data.
                if let Some(row) = at.and_then(|at| rows.get_mut(at))
                    && row.completion.is_none()
                {
                    row.straggling = if dropped {
                        Straggling::LeftOut
                    } else {
                        Straggling::Reported
                    };
                }
            }
            Event::Closed(..) | Event::Failed(..) => {
                if matches!(event, Event::Failed(..)) {
                    let open = rows.iter_mut().filter(|row| row.completion.is_none());
                    open.for_each(|row| row.end = SessionEnd::Failed);
                }
                self.running.remove(&session);
            }
            Event::Established(_)
            | Event::Arrived(..)
            | Event::Block(..)
            | Event::Opened(..)
            | Event::Late(_)
            | Event::Copy(..) => {}
        }
    }

    /// Returns the rows of all sessions.
    /// For unfinished transfers at the end of the run, the function also records the costs of finished senders.
    pub(super) fn outcome(self, desk: &mut Desk<'_>) -> Vec<SessionRecord> {
        for running in self.running.values() {
            if running.cost != FlowStats::default() {
                desk.recorder().cut_off(running.collected, running.cost);
            }
        }
        self.rows
    }
}
