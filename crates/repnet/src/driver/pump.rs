//! Movement of bytes between a flow's connections and its application.

use super::{BUFFER, Core};
use crate::clock;
use crate::connection::{Answer, Connection, Read, Slot};
use crate::error::{RepNetError, is_local};
use crate::lingering::discard;
use std::io;
use std::mem::MaybeUninit;
use std::task::{Context, Poll};
use tailcut_transport::repnet::{Leg, LegState, Refusal};
use tailcut_units::Time;
use tokio::io::ReadBuf;

/// Largest number of bytes in one read.
const READ_BYTES: usize = 16_384;

impl Core {
    /// Moves the bytes that the connections accept now, during a call of the application.
    /// If a connection accepts more bytes later, it wakes the task.
    pub(super) fn pump_now(&mut self) {
        let Some(driver) = self.wakers.driver.clone() else {
            return;
        };
        self.pump(&mut Context::from_waker(&driver), clock::now(), false);
        self.wake_if_due();
    }

    /// Wakes the flow's task if a timer must be set or if the flow ends. Only the task can do this.
    pub(super) fn wake_if_due(&self) {
        let earlier = match (self.flow.next_timeout(), self.timer.armed) {
            (Some(at), Some(armed)) => at < armed,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if earlier || self.app.ended {
            self.wake_driver();
        }
    }

    /// Moves all bytes that can be moved now.
    /// If `connects` is true, also continues attempts to connect. This is possible only on a thread of the runtime.
    pub(super) fn pump(&mut self, cx: &mut Context<'_>, now: Time, connects: bool) {
        // A connection that has no bytes to read is not read again in this call. It wakes the task when bytes arrive.
        let mut quiet = [false; 2];
        loop {
            let mut moved = false;
            for leg in Leg::ALL {
                match &mut self.slots[leg as usize] {
                    Slot::Empty => continue,
                    Slot::Draining(tcp) => {
                        if discard(tcp, cx).is_ready() {
                            self.slots[leg as usize] = Slot::Empty;
                        }
                        continue;
                    }
                    Slot::Connecting(_) | Slot::Open(_) => {}
                }
                moved |= self.pump_handshake(cx, now, leg, connects);
                if !quiet[leg as usize] {
                    moved |= self.pump_read(cx, now, leg, &mut quiet[leg as usize]);
                }
                moved |= self.pump_write(cx, now, leg);
            }
            if !moved {
                break;
            }
        }
        self.log.forget(self.flow.keep_from());
        self.wake();
    }

    pub(super) fn connection(&mut self, leg: Leg) -> Option<&mut Connection> {
        match &mut self.slots[leg as usize] {
            Slot::Open(connection) => Some(connection),
            Slot::Empty | Slot::Connecting(_) | Slot::Draining(_) => None,
        }
    }

    /// Continues to connect, and continues the hello. Returns whether there was progress.
    fn pump_handshake(
        &mut self,
        cx: &mut Context<'_>,
        now: Time,
        leg: Leg,
        connects: bool,
    ) -> bool {
        let slot = &mut self.slots[leg as usize];
        match slot {
            Slot::Empty | Slot::Draining(_) => false,
            Slot::Connecting(_) if !connects => false,
            Slot::Connecting(attempt) => {
                let Poll::Ready(connected) = attempt.as_mut().poll(cx) else {
                    return false;
                };
                match connected {
                    Ok(tcp) => {
                        *slot = Slot::Open(Connection::new(tcp));
                        self.apply_nodelay(leg);
                        self.around.counters.0.legs_opened.up();
                        self.flow.connected(now, leg);
                    }
                    Err(error) => {
                        *slot = Slot::Empty;
                        self.refuse(now, leg, error, None);
                    }
                }
                self.run_commands();
                true
            }
            Slot::Open(connection) => {
                if connection.poll_banner(cx) == Poll::Ready(true) {
                    return true;
                }
                let Poll::Ready(Some(answer)) = connection.poll_hello(cx) else {
                    return false;
                };
                let at = || connection.tcp().peer_addr();
                let hello = |found: String| match at() {
                    Ok(at) => RepNetError::Hello { at, found }.into(),
                    Err(error) => error,
                };
                match answer {
                    Answer::Banner(banner) => {
                        self.flow.banner(now, leg, &banner);
                        if self.flow.leg(leg) != LegState::Live {
                            let what = format!("the banner {:?}", banner.status);
                            self.errors[leg as usize] = Some(hello(what));
                        }
                    }
                    Answer::Foreign(what) => {
                        let error = hello(format!("something else ({what})"));
                        self.refuse(now, leg, error, Some(Refusal::Foreign));
                    }
                    Answer::Silent => {
                        let error = hello("an end of stream".to_owned());
                        self.refuse(now, leg, error, Some(Refusal::Silent));
                    }
                    Answer::Failed(error) => self.refuse(now, leg, error, None),
                }
                self.run_commands();
                true
            }
        }
    }

    fn refuse(&mut self, now: Time, leg: Leg, error: io::Error, kind: Option<Refusal>) {
        let kind = kind.unwrap_or(match is_local(&error) {
            true => Refusal::Local,
            false => Refusal::Failed,
        });
        self.errors[leg as usize] = Some(error);
        self.flow.refused(now, leg, kind);
    }

    /// Reads the available bytes of a connection, up to the free space of the application's buffer.
    /// Bytes that the other connection has already delivered are discarded. Returns whether bytes were read.
    fn pump_read(&mut self, cx: &mut Context<'_>, now: Time, leg: Leg, quiet: &mut bool) -> bool {
        let mut moved = false;
        while self.flow.leg(leg) == LegState::Live {
            let behind = usize::try_from(self.flow.behind(leg)).unwrap_or(usize::MAX);
            let room = match self.app.dropped {
                true => BUFFER,
                false => BUFFER.saturating_sub(self.app.inbound.len()),
            };
            let most = behind.saturating_add(room).min(READ_BYTES);
            if most == 0 {
                break;
            }
            let mut scrap = [const { MaybeUninit::uninit() }; READ_BYTES];
            let mut scrap = ReadBuf::uninit(&mut scrap[..most]);
            let Some(connection) = self.connection(leg) else {
                break;
            };
            let Poll::Ready(read) = connection.poll_read(cx, &mut scrap) else {
                *quiet = true;
                break;
            };
            moved = true;
            match read {
                Read::Some => self.take(now, leg, scrap.filled()),
                Read::End => self.flow.end_received(now, leg),
                Read::Failed(error) => {
                    self.errors[leg as usize] = Some(error);
                    self.flow.failed(now, leg);
                }
            }
            self.run_commands();
        }
        moved
    }

    fn take(&mut self, now: Time, leg: Leg, bytes: &[u8]) {
        let differs = self.check.as_mut().map(|check| check.add(leg, bytes));
        if let Some(Err(_)) = differs {
            return self.flow.diverged(now, leg);
        }
        let fresh = self.flow.received(now, leg, bytes.len() as u64);
        let fresh = usize::try_from(fresh).unwrap_or(usize::MAX);
        if !self.app.dropped {
            self.app
                .inbound
                .extend(&bytes[bytes.len() - fresh.min(bytes.len())..]);
        }
    }

    /// Writes as many bytes to a connection as it accepts. Returns whether it accepted bytes.
    fn pump_write(&mut self, cx: &mut Context<'_>, now: Time, leg: Leg) -> bool {
        let mut moved = false;
        loop {
            let (from, left) = self.flow.to_send(leg);
            let ends = self.flow.is_to_finish(leg);
            let Slot::Open(connection) = &mut self.slots[leg as usize] else {
                break;
            };
            if left > 0 {
                let was_broken = connection.is_broken();
                let Poll::Ready(Some(written)) = connection.poll_write(cx, self.log.after(from))
                else {
                    // The connection counts as failed only after all received bytes were read.
                    moved |= !was_broken && connection.is_broken();
                    break;
                };
                self.flow.sent(leg, written as u64);
            } else if ends {
                // If the peer has sent its FIN too, the connection is closed immediately.
                let closes = self.flow.closes_with_its_end(leg) && connection.may_end_by_closing();
                if !closes && !self.finish(cx, leg, &mut moved) {
                    break;
                }
                self.app.end_sent = true;
                self.flow.end_sent(now, leg);
                self.run_commands();
                if closes && !self.finish(cx, leg, &mut moved) {
                    break;
                }
            } else {
                break;
            }
            moved = true;
        }
        moved
    }
    /// Sends a FIN on a connection. Returns whether the FIN was sent, or the connection was closed before.
    fn finish(&mut self, cx: &mut Context<'_>, leg: Leg, moved: &mut bool) -> bool {
        let Some(connection) = self.connection(leg) else {
            return true;
        };
        let was_broken = connection.is_broken();
        let taken = connection.poll_finish(cx) == Poll::Ready(true);
        *moved |= !was_broken && connection.is_broken();
        taken
    }

    /// Writes the bytes that the application has just written at position `from` to the connections.
    /// Only bytes that the connections accept immediately are written.
    /// Connections that still have older bytes to send are skipped.
    pub(super) fn write_now(&mut self, from: u64, bytes: &[u8]) {
        let Some(driver) = self.wakers.driver.clone() else {
            return;
        };
        let mut cx = Context::from_waker(&driver);
        for leg in Leg::ALL {
            let (sent, left) = self.flow.to_send(leg);
            if sent != from || left == 0 {
                continue;
            }
            let Slot::Open(connection) = &mut self.slots[leg as usize] else {
                continue;
            };
            match connection.poll_write(&mut cx, [bytes, &[]]) {
                Poll::Ready(Some(written)) => self.flow.sent(leg, written as u64),
                // The connection counts as failed only after all received bytes were read.
                Poll::Ready(None) => driver.wake_by_ref(),
                Poll::Pending => {}
            }
        }
    }
}
