//! Moves bytes between a flow's connections and its application.

use super::{BUFFER, Core};
use crate::clock;
use crate::error::{RepNetError, is_local};
use crate::line::{Answer, Line, Read, Slot};
use crate::lingering::discard;
use std::io;
use std::mem::MaybeUninit;
use std::task::{Context, Poll};
use tailcut_transport::repnet::{Leg, LegState, Refusal};
use tailcut_units::Time;
use tokio::io::ReadBuf;

/// Bytes that are read in one go at most.
const READ_BYTES: usize = 16_384;

impl Core {
    /// Moves the bytes that the connections accept, on the application's turn. Room for more bytes later wakes
    /// the task.
    pub(super) fn pump_now(&mut self) {
        let Some(driver) = self.wakers.driver.clone() else {
            return;
        };
        self.pump(&mut Context::from_waker(&driver), clock::now(), false);
        self.wake_if_due();
    }

    /// Wakes the task where there is something for it alone: a timer to set, or its end.
    pub(super) fn wake_if_due(&self) {
        let earlier = match (self.flow.next_timeout(), self.timer.armed) {
            (Some(at), Some(armed)) => at < armed,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if earlier || self.seen.ended {
            self.wake_driver();
        }
    }

    /// `connects`: attempts to connect go on too, which takes the runtime's own thread.
    pub(super) fn pump(&mut self, cx: &mut Context<'_>, now: Time, connects: bool) {
        // A leg without bytes to read wakes the task when bytes come.
        let mut quiet = [false; 2];
        loop {
            let mut moved = false;
            for leg in Leg::ALL {
                match &mut self.slots[leg as usize] {
                    Slot::Empty => continue,
                    Slot::Leaving(tcp) => {
                        if discard(tcp, cx).is_ready() {
                            self.slots[leg as usize] = Slot::Empty;
                        }
                        continue;
                    }
                    Slot::Connecting(_) | Slot::Line(_) => {}
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

    pub(super) fn line(&mut self, leg: Leg) -> Option<&mut Line> {
        match &mut self.slots[leg as usize] {
            Slot::Line(line) => Some(line),
            Slot::Empty | Slot::Connecting(_) | Slot::Leaving(_) => None,
        }
    }

    /// A leg connects, and says its hello. Whether it has moved on.
    fn pump_handshake(
        &mut self,
        cx: &mut Context<'_>,
        now: Time,
        leg: Leg,
        connects: bool,
    ) -> bool {
        let slot = &mut self.slots[leg as usize];
        match slot {
            Slot::Empty | Slot::Leaving(_) => false,
            Slot::Connecting(_) if !connects => false,
            Slot::Connecting(attempt) => {
                let Poll::Ready(connected) = attempt.as_mut().poll(cx) else {
                    return false;
                };
                match connected {
                    Ok(tcp) => {
                        *slot = Slot::Line(Line::new(tcp));
                        self.apply_nodelay(leg);
                        self.around.counters.0.legs_opened.up();
                        self.flow.connected(now, leg);
                    }
                    Err(error) => {
                        *slot = Slot::Empty;
                        self.refuse(now, leg, error, None);
                    }
                }
                self.obey();
                true
            }
            Slot::Line(line) => {
                if line.poll_banner(cx) == Poll::Ready(true) {
                    return true;
                }
                let Poll::Ready(Some(answer)) = line.poll_hello(cx) else {
                    return false;
                };
                let at = || line.tcp().peer_addr();
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
                self.obey();
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

    /// Reads what there is, as far as the application takes it; what another leg brought before is
    /// discarded. Whether there was anything.
    fn pump_read(&mut self, cx: &mut Context<'_>, now: Time, leg: Leg, quiet: &mut bool) -> bool {
        let mut moved = false;
        while self.flow.leg(leg) == LegState::Live {
            let behind = usize::try_from(self.flow.behind(leg)).unwrap_or(usize::MAX);
            let room = match self.seen.dropped {
                true => BUFFER,
                false => BUFFER.saturating_sub(self.seen.inbound.len()),
            };
            let most = behind.saturating_add(room).min(READ_BYTES);
            if most == 0 {
                break;
            }
            let mut scrap = [const { MaybeUninit::uninit() }; READ_BYTES];
            let mut scrap = ReadBuf::uninit(&mut scrap[..most]);
            let Some(line) = self.line(leg) else {
                break;
            };
            let Poll::Ready(read) = line.poll_read(cx, &mut scrap) else {
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
            self.obey();
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
        if !self.seen.dropped {
            self.seen
                .inbound
                .extend(&bytes[bytes.len() - fresh.min(bytes.len())..]);
        }
    }

    /// Gives a leg what it takes. Whether it took anything.
    fn pump_write(&mut self, cx: &mut Context<'_>, now: Time, leg: Leg) -> bool {
        let mut moved = false;
        loop {
            let (from, left) = self.flow.to_send(leg);
            let ends = self.flow.is_to_finish(leg);
            let Slot::Line(line) = &mut self.slots[leg as usize] else {
                break;
            };
            if left > 0 {
                let was_broken = line.is_broken();
                let Poll::Ready(Some(written)) = line.poll_write(cx, self.log.after(from)) else {
                    // Bytes that have come are read before the leg counts as failed.
                    moved |= !was_broken && line.is_broken();
                    break;
                };
                self.flow.sent(leg, written as u64);
            } else if ends {
                // Where the peer has ended too, the connection is closed at once.
                let closes = self.flow.closes_with_its_end(leg) && line.may_end_by_closing();
                if !closes && !self.finish(cx, leg, &mut moved) {
                    break;
                }
                self.seen.end_sent = true;
                self.flow.end_sent(now, leg);
                self.obey();
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
    /// Gives a leg the end of our direction. Whether it took it, or is closed already.
    fn finish(&mut self, cx: &mut Context<'_>, leg: Leg, moved: &mut bool) -> bool {
        let Some(line) = self.line(leg) else {
            return true;
        };
        let was_broken = line.is_broken();
        let taken = line.poll_finish(cx) == Poll::Ready(true);
        *moved |= !was_broken && line.is_broken();
        taken
    }

    /// Gives the legs what the application has just written, which was written at `from`, as far
    /// as they take it at once. Nothing else waits for them.
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
            let Slot::Line(line) = &mut self.slots[leg as usize] else {
                continue;
            };
            match line.poll_write(&mut cx, [bytes, &[]]) {
                Poll::Ready(Some(written)) => self.flow.sent(leg, written as u64),
                // Bytes that have come are read before the leg counts as failed.
                Poll::Ready(None) => driver.wake_by_ref(),
                Poll::Pending => {}
            }
        }
    }
}
