//! Drives one flow over its connections. A task polls it whenever a connection or a timer wakes
//! it; the application's calls move bytes at once where the connections take them.

mod orders;
mod pump;

use crate::clock;
use crate::counters::Counters;
use crate::error::again;
use crate::line::{Connecting, Line, Slot};
use crate::lingering::Lingering;
use crate::log::Log;
use crate::prefix_check::PrefixCheck;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tailcut_transport::repnet::{Command, Flow, Leg, LegState, Mode, Rejoin, Role, Ticket};
use tailcut_units::Time;
use tokio::io::ReadBuf;
use tokio::runtime::Handle;
use tokio::time::Sleep;

/// Bytes that wait for the application to read them, and bytes of the application that wait for
/// the faster leg: at most, on each flow.
const BUFFER: usize = 65_536;

/// Services that a flow needs from its connector or listener.
pub(crate) trait Host: Send {
    /// Starts to connect a leg.
    fn open(&mut self, leg: Leg) -> Connecting;
    /// The target is known to speak RepNet, or not to.
    fn learn(&mut self, capable: bool);
    /// A leg was established, or failed by itself.
    fn outcome(&mut self, established: bool);
    /// Whether the budget has room for another second leg.
    fn may_rejoin(&mut self) -> bool;
    /// Server: remembers the ticket that names the flow.
    fn remember(&mut self, _: Ticket) {}
    /// The flow has ended.
    fn bury(&mut self);
}

/// What all flows of a connector or a listener share.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub counters: Counters,
    pub lingering: Lingering,
    pub leg_deadline: Duration,
    pub archive_cap: u64,
}

/// A flow that its application and its task share.
pub(crate) struct Shared(Mutex<Core>);

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task of a flow: ends with its last connection.
    pub async fn drive(self: Arc<Self>) {
        std::future::poll_fn(|cx| self.lock().poll_drive(cx)).await;
    }
}

#[derive(Default)]
struct Wakers {
    reader: Option<Waker>,
    writer: Option<Waker>,
    opener: Option<Waker>,
    /// The task's own.
    driver: Option<Waker>,
}

#[derive(Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: Option<Time>,
}

/// Changes that the application sees next.
#[derive(Default)]
struct Seen {
    inbound: VecDeque<u8>,
    end: bool,
    opened: bool,
    ended: bool,
    failure: Option<io::Error>,
    /// A leg was given the end of our direction.
    end_sent: bool,
    /// The application has dropped the flow.
    dropped: bool,
    nodelay: bool,
}

/// A flow's state.
pub(crate) struct Core {
    flow: Flow,
    slots: [Slot; 2],
    /// What each leg failed of.
    errors: [Option<io::Error>; 2],
    log: Log,
    /// RepFlow, while both legs may bring bytes.
    check: Option<Box<PrefixCheck>>,
    seen: Seen,
    wakers: Wakers,
    timer: Timer,
    host: Box<dyn Host>,
    around: Surroundings,
    /// Where its task runs.
    runtime: Handle,
    counted: Counted,
}

#[derive(Default)]
struct Counted {
    waiting: bool,
    paired: bool,
    rejoining: bool,
    ended: bool,
}

impl Core {
    /// To be called on the runtime that the flow's task will run on.
    pub fn new(flow: Flow, host: Box<dyn Host>, around: Surroundings) -> Self {
        let counters = &around.counters.0;
        counters.live.up();
        match flow.role() {
            Role::Client => counters.opened.up(),
            Role::Server => counters.accepted.up(),
        }
        let check = (flow.mode() == Mode::RepFlow).then(Box::default);
        Self {
            flow,
            slots: Default::default(),
            errors: Default::default(),
            log: Log::default(),
            check,
            seen: Seen {
                nodelay: true,
                ..Seen::default()
            },
            wakers: Wakers::default(),
            timer: Timer::default(),
            host,
            around,
            runtime: Handle::current(),
            counted: Counted::default(),
        }
    }

    pub fn share(self) -> Arc<Shared> {
        Arc::new(Shared(Mutex::new(self)))
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    // The server's legs.

    /// By what the flow is known to its listener.
    pub fn remember(&mut self, ticket: Ticket) {
        self.host.remember(ticket);
    }

    /// The first leg of a flow that was accepted.
    pub fn first_leg(&mut self, leg: Leg, line: Line) {
        self.around.counters.0.legs_opened.up();
        self.slots[leg as usize] = Slot::Line(line);
        self.obey();
    }

    /// The second leg has come. Gives it back if the flow takes none.
    pub fn join(&mut self, leg: Leg, line: Line) -> Option<Line> {
        if !self.flow.joined(clock::now(), leg) {
            return Some(line);
        }
        self.around.counters.0.legs_opened.up();
        self.slots[leg as usize] = Slot::Line(line);
        self.obey();
        self.pump_now();
        None
    }

    /// A leg rejoins; the caller has asked [`Flow::stands_at`].
    pub fn rejoin(&mut self, leg: Leg, rejoin: &Rejoin, line: Line) {
        let now = clock::now();
        self.check = Some(Box::default());
        self.counted.rejoining = true;
        // The old leg of this slot is dropped first, not the new one.
        let old = std::mem::take(&mut self.slots[leg as usize]);
        self.drop_slot(old);
        self.flow.rejoined(now, leg, rejoin);
        let mut replaced = Vec::new();
        while let Some(command) = self.flow.poll_command() {
            replaced.push(command);
        }
        for command in replaced {
            match command {
                Command::Reset(its, reason) if its == leg => {
                    self.around.counters.0.dropped(reason);
                }
                // The check applies to later bytes.
                Command::Settled => {}
                other => self.perform(other),
            }
        }
        self.around.counters.0.legs_opened.up();
        self.slots[leg as usize] = Slot::Line(line);
        self.apply_nodelay(leg);
        self.pump_now();
    }

    // The application.

    /// Ready when the flow is open, or has failed before.
    pub fn poll_opened(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.seen.opened {
            return Poll::Ready(Ok(()));
        }
        if self.seen.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.opener = Some(cx.waker().clone());
        Poll::Pending
    }

    pub fn is_opened(&self) -> bool {
        self.seen.opened
    }

    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.seen.inbound.is_empty() {
            let was_full = self.seen.inbound.len() >= BUFFER;
            let (first, second) = self.seen.inbound.as_slices();
            let mut taken = 0;
            for part in [first, second] {
                let count = part.len().min(into.remaining());
                into.put_slice(&part[..count]);
                taken += count;
            }
            self.seen.inbound.drain(..taken);
            // The legs were held back.
            if was_full {
                self.wake_driver();
            }
            return Poll::Ready(Ok(()));
        }
        if self.seen.end {
            return Poll::Ready(Ok(()));
        }
        if self.seen.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.flow.is_finishing() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.seen.ended {
            return Poll::Ready(Err(self.failure()));
        }
        if self.room() == 0 {
            self.pump_now();
        }
        let count = self.room().min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            self.wakers.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let bytes = &bytes[..count];
        let live = Leg::ALL
            .iter()
            .filter(|leg| self.flow.leg(**leg) == LegState::Live);
        if live.count() == 2 {
            self.around.counters.0.bytes_sent_twice.add(count as u64);
        }
        let nothing_waits = self.log.is_empty() && self.flow.keep_from() == self.flow.written();
        let from = self.flow.written();
        self.flow.write(clock::now(), count as u64);
        self.obey();
        if nothing_waits {
            self.write_now(from, bytes);
        }
        let given = self.flow.keep_from().saturating_sub(from);
        let given = usize::try_from(given).map_or(count, |given| given.min(count));
        self.log.extend(from + given as u64, &bytes[given..]);
        match self.log.is_empty() {
            true => self.wake_if_due(),
            false => self.pump_now(),
        }
        Poll::Ready(Ok(count))
    }

    /// Bytes that the application may write now.
    fn room(&self) -> usize {
        if self.flow.is_held_back() {
            return 0;
        }
        let queued = usize::try_from(self.flow.queued()).unwrap_or(usize::MAX);
        BUFFER.saturating_sub(queued)
    }

    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.flow.queued() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.pump_now();
        if self.flow.queued() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.seen.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends the application's direction; ready when a leg was given it.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.flow.is_finishing() && !self.seen.ended {
            self.flow.finish(clock::now());
            self.obey();
            self.pump_now();
        }
        if self.seen.end_sent {
            return Poll::Ready(Ok(()));
        }
        if self.seen.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The application gives the flow up, as by closing a socket, or by resetting it.
    pub fn leave(&mut self, by_reset: bool) {
        self.seen.dropped = true;
        self.seen.inbound = VecDeque::new();
        self.wakers.reader = None;
        self.wakers.writer = None;
        self.wakers.opener = None;
        let now = clock::now();
        if by_reset || !self.seen.opened {
            self.flow.abort(now);
        } else {
            self.flow.close(now);
        }
        self.obey();
        self.wake_driver();
    }

    pub fn set_nodelay(&mut self, nodelay: bool) {
        self.seen.nodelay = nodelay;
        for leg in Leg::ALL {
            self.apply_nodelay(leg);
        }
    }

    pub fn nodelay(&self) -> bool {
        self.seen.nodelay
    }

    fn apply_nodelay(&mut self, leg: Leg) {
        let nodelay = self.seen.nodelay;
        if let Some(line) = self.line(leg) {
            line.set_nodelay(nodelay);
        }
    }

    /// The address that a leg that carries bytes is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let found = self.slots.iter().find_map(|slot| match slot {
            Slot::Line(line) => line.tcp().local_addr().ok(),
            Slot::Empty | Slot::Connecting(_) | Slot::Leaving(_) => None,
        });
        found.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Server: nothing comes any more.
    pub fn stop_waiting(&mut self) {
        self.flow.stop_waiting(clock::now());
        self.obey();
        self.wake_driver();
    }

    fn failure(&self) -> io::Error {
        match &self.seen.failure {
            Some(failure) => again(failure),
            None => io::ErrorKind::ConnectionReset.into(),
        }
    }

    // The task.

    fn poll_drive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.wakers.driver {
            Some(driver) if driver.will_wake(cx.waker()) => {}
            driver => *driver = Some(cx.waker().clone()),
        }
        loop {
            self.obey();
            let now = clock::now();
            self.pump(cx, now, true);
            let Some(at) = self.flow.next_timeout() else {
                break;
            };
            if at <= now {
                self.flow.on_timeout(now);
                continue;
            }
            if self.poll_timer(cx, at).is_pending() {
                break;
            }
        }
        let over = self.slots.iter().all(|slot| matches!(slot, Slot::Empty));
        match self.seen.ended && over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// A timer that rings too early is set anew: it is put off for nothing that happens.
    fn poll_timer(&mut self, cx: &mut Context<'_>, at: Time) -> Poll<()> {
        let timer = &mut self.timer;
        let sleep = match &mut timer.sleep {
            Some(sleep) => {
                if timer.armed.is_none_or(|armed| at < armed) {
                    sleep.as_mut().reset(clock::instant(at));
                    timer.armed = Some(at);
                }
                sleep
            }
            none => {
                timer.armed = Some(at);
                none.insert(Box::pin(tokio::time::sleep_until(clock::instant(at))))
            }
        };
        let rings = sleep.as_mut().poll(cx);
        if rings.is_ready() {
            timer.armed = None;
        }
        rings
    }

    fn wake_driver(&self) {
        if let Some(driver) = &self.wakers.driver {
            driver.wake_by_ref();
        }
    }

    /// Wakes the tasks that can now continue.
    fn wake(&mut self) {
        let Self {
            seen, wakers, flow, ..
        } = self;
        let over = seen.ended;
        if (over || seen.end || !seen.inbound.is_empty())
            && let Some(reader) = wakers.reader.take()
        {
            reader.wake();
        }
        let queued = usize::try_from(flow.queued()).unwrap_or(usize::MAX);
        let has_room = !flow.is_held_back() && queued <= BUFFER / 2;
        if (over || seen.end_sent || has_room)
            && let Some(writer) = wakers.writer.take()
        {
            writer.wake();
        }
        if (over || seen.opened)
            && let Some(opener) = wakers.opener.take()
        {
            opener.wake();
        }
    }
}
