//! Driver of one flow over its connections. The flow's task moves bytes when a connection or a timer wakes it.
//! Calls of the application also move bytes immediately, if the connections accept them.

mod orders;
mod pump;

use crate::clock;
use crate::connection::{Connecting, Connection, Slot};
use crate::counters::Counters;
use crate::error::again;
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

/// Largest number of bytes of a flow that wait until the application reads them.
/// The same limit holds for bytes that the application wrote and that wait for the faster connection.
const BUFFER: usize = 65_536;

/// Services that a flow needs from its connector or listener.
pub(crate) trait Host: Send {
    /// Starts to open one of the flow's two connections.
    fn open(&mut self, leg: Leg) -> Connecting;
    /// Records whether the target supports RepNet.
    fn learn(&mut self, capable: bool);
    /// Records whether a connection was established. The driver also reports connections that failed by themselves.
    fn outcome(&mut self, established: bool);
    /// Returns whether the budget allows another second connection.
    fn may_rejoin(&mut self) -> bool;
    /// Stores the ticket that identifies the flow. Only servers do this.
    fn remember(&mut self, _: Ticket) {}
    /// Records that the flow has ended.
    fn bury(&mut self);
}

/// State that all flows of a connector or a listener share.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub counters: Counters,
    pub lingering: Lingering,
    pub leg_deadline: Duration,
    pub archive_cap: u64,
}

/// Flow in a mutex. The application and the flow's task share it.
pub(crate) struct Shared(Mutex<Core>);

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the task of a flow. The task ends when the flow's last connection ends.
    pub async fn drive(self: Arc<Self>) {
        std::future::poll_fn(|cx| self.lock().poll_drive(cx)).await;
    }
}

#[derive(Default)]
struct Wakers {
    reader: Option<Waker>,
    writer: Option<Waker>,
    opener: Option<Waker>,
    /// Waker of the flow's task.
    driver: Option<Waker>,
}

#[derive(Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: Option<Time>,
}

/// State of the flow that the application sees.
#[derive(Default)]
struct AppState {
    inbound: VecDeque<u8>,
    end: bool,
    opened: bool,
    ended: bool,
    failure: Option<io::Error>,
    /// Whether a connection has accepted the end of the sending direction.
    end_sent: bool,
    /// Whether the application has dropped the flow.
    dropped: bool,
    nodelay: bool,
}

/// State of a flow.
pub(crate) struct Core {
    flow: Flow,
    slots: [Slot; 2],
    /// Error of each connection that failed.
    errors: [Option<io::Error>; 2],
    log: Log,
    /// Comparison of the bytes of both connections in RepFlow, while both may deliver bytes.
    check: Option<Box<PrefixCheck>>,
    app: AppState,
    wakers: Wakers,
    timer: Timer,
    host: Box<dyn Host>,
    around: Surroundings,
    /// Runtime of the flow's task.
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
    /// Creates the state. Call it on the runtime of the flow's task.
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
            app: AppState {
                nodelay: true,
                ..AppState::default()
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

    // Methods that add connections to a server's flow.

    /// Stores the ticket that identifies the flow at its listener.
    pub fn remember(&mut self, ticket: Ticket) {
        self.host.remember(ticket);
    }

    /// Adds the first connection of an accepted flow.
    pub fn first_leg(&mut self, leg: Leg, connection: Connection) {
        self.around.counters.0.legs_opened.up();
        self.slots[leg as usize] = Slot::Open(connection);
        self.run_commands();
    }

    /// Adds the second connection. Returns it if the flow accepts no second connection.
    pub fn join(&mut self, leg: Leg, connection: Connection) -> Option<Connection> {
        if !self.flow.joined(clock::now(), leg) {
            return Some(connection);
        }
        self.around.counters.0.legs_opened.up();
        self.slots[leg as usize] = Slot::Open(connection);
        self.run_commands();
        self.pump_now();
        None
    }

    /// Adds a connection that rejoins the flow. The caller has checked it with [`Flow::stands_at`].
    pub fn rejoin(&mut self, leg: Leg, rejoin: &Rejoin, connection: Connection) {
        let now = clock::now();
        self.check = Some(Box::default());
        self.counted.rejoining = true;
        // The old connection is dropped here. The `Reset` command below only counts it, and must not drop the new one.
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
                // `Settled` would remove the check. The check now belongs to the bytes of the new connection.
                Command::Settled => {}
                other => self.perform(other),
            }
        }
        self.around.counters.0.legs_opened.up();
        self.slots[leg as usize] = Slot::Open(connection);
        self.apply_nodelay(leg);
        self.pump_now();
    }

    // Methods that the application calls.

    /// Waits until the flow is open, or until it has failed to open.
    pub fn poll_opened(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.app.opened {
            return Poll::Ready(Ok(()));
        }
        if self.app.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.opener = Some(cx.waker().clone());
        Poll::Pending
    }

    pub fn is_opened(&self) -> bool {
        self.app.opened
    }

    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.app.inbound.is_empty() {
            let was_full = self.app.inbound.len() >= BUFFER;
            let (first, second) = self.app.inbound.as_slices();
            let mut taken = 0;
            for part in [first, second] {
                let count = part.len().min(into.remaining());
                into.put_slice(&part[..count]);
                taken += count;
            }
            self.app.inbound.drain(..taken);
            // A full buffer had stopped the reads from the connections. The connections are read again now.
            if was_full {
                self.wake_driver();
            }
            return Poll::Ready(Ok(()));
        }
        if self.app.end {
            return Poll::Ready(Ok(()));
        }
        if self.app.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.flow.is_finishing() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.app.ended {
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
        self.run_commands();
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

    /// Returns the number of bytes that the application may write now.
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
        if self.app.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ends the sending direction. Waits until a connection has accepted the end.
    pub fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.flow.is_finishing() && !self.app.ended {
            self.flow.finish(clock::now());
            self.run_commands();
            self.pump_now();
        }
        if self.app.end_sent {
            return Poll::Ready(Ok(()));
        }
        if self.app.ended {
            return Poll::Ready(Err(self.failure()));
        }
        self.wakers.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Closes the flow for the application, like closing or resetting a socket.
    pub fn leave(&mut self, by_reset: bool) {
        self.app.dropped = true;
        self.app.inbound = VecDeque::new();
        self.wakers.reader = None;
        self.wakers.writer = None;
        self.wakers.opener = None;
        let now = clock::now();
        if by_reset || !self.app.opened {
            self.flow.abort(now);
        } else {
            self.flow.close(now);
        }
        self.run_commands();
        self.wake_driver();
    }

    pub fn set_nodelay(&mut self, nodelay: bool) {
        self.app.nodelay = nodelay;
        for leg in Leg::ALL {
            self.apply_nodelay(leg);
        }
    }

    pub fn nodelay(&self) -> bool {
        self.app.nodelay
    }

    fn apply_nodelay(&mut self, leg: Leg) {
        let nodelay = self.app.nodelay;
        if let Some(connection) = self.connection(leg) {
            connection.set_nodelay(nodelay);
        }
    }

    /// Returns the local address of a connection that carries bytes.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let found = self.slots.iter().find_map(|slot| match slot {
            Slot::Open(connection) => connection.tcp().local_addr().ok(),
            Slot::Empty | Slot::Connecting(_) | Slot::Draining(_) => None,
        });
        found.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Returns the connection that was faster for most of the received bytes, if the flow had two connections.
    pub fn winner(&self) -> Option<Leg> {
        let second = self.flow.fresh(Leg::Second) > self.flow.fresh(Leg::First);
        let faster = if second { Leg::Second } else { Leg::First };
        self.counted.paired.then_some(faster)
    }

    /// Ends a server's wait for the second connection.
    pub fn stop_waiting(&mut self) {
        self.flow.stop_waiting(clock::now());
        self.run_commands();
        self.wake_driver();
    }

    fn failure(&self) -> io::Error {
        match &self.app.failure {
            Some(failure) => again(failure),
            None => io::ErrorKind::ConnectionReset.into(),
        }
    }

    // Methods that the flow's task calls.

    fn poll_drive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.wakers.driver {
            Some(driver) if driver.will_wake(cx.waker()) => {}
            driver => *driver = Some(cx.waker().clone()),
        }
        loop {
            self.run_commands();
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
        match self.app.ended && over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Polls the timer.
    /// The timer may expire too early, because an event that postpones a timeout does not change the timer.
    /// Each change of a timer has a cost. If the timer expires too early, it is set again.
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
            app, wakers, flow, ..
        } = self;
        let over = app.ended;
        if (over || app.end || !app.inbound.is_empty())
            && let Some(reader) = wakers.reader.take()
        {
            reader.wake();
        }
        let queued = usize::try_from(flow.queued()).unwrap_or(usize::MAX);
        let has_room = !flow.is_held_back() && queued <= BUFFER / 2;
        if (over || app.end_sent || has_room)
            && let Some(writer) = wakers.writer.take()
        {
            writer.wake();
        }
        if (over || app.opened)
            && let Some(opener) = wakers.opener.take()
        {
            opener.wake();
        }
    }
}
