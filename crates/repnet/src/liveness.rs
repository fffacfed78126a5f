//! Detection of dead peers: keepalive probes, the timeout for sent bytes, and the limit for idle streams.

use crate::settings::{SettingError, check, timer};
#[cfg(feature = "proxy")]
use crate::values::{ANY, count, some_time, time, time_or_endless};
use socket2::{SockRef, TcpKeepalive};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until};

/// Settings that find dead peers. They hold for each connection of a connector or a listener, plain or replicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "proxy", derive(serde::Deserialize), serde(default))]
pub struct Liveness {
    /// Time without a received packet until the first keepalive probe, 1 s to 32767 s. `None`: no probes.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time_or_endless"))]
    pub keepalive_idle: Option<Duration>,
    /// Time between two keepalive probes, 1 s to 32767 s.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time::<0, ANY, _>"))]
    pub keepalive_interval: Duration,
    /// Number of keepalive probes without an answer after which a connection fails, 1 to 127.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "count::<0, ANY, _, _>"))]
    pub keepalive_probes: u32,
    /// Longest time that sent bytes stay without an acknowledgement (`TCP_USER_TIMEOUT`).
    /// `None`: the time after which keepalive probes find a dead peer, so that both times agree.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "some_time"))]
    pub user_timeout: Option<Duration>,
    /// Time without a byte in either direction after which a stream fails. `None`: no limit.
    #[cfg_attr(feature = "proxy", serde(deserialize_with = "time_or_endless"))]
    pub idle_timeout: Option<Duration>,
}

impl Default for Liveness {
    fn default() -> Self {
        Self {
            keepalive_idle: Some(Duration::from_secs(60)),
            keepalive_interval: Duration::from_secs(10),
            keepalive_probes: 6,
            user_timeout: None,
            idle_timeout: None,
        }
    }
}

impl Liveness {
    /// Checks every setting.
    ///
    /// # Errors
    /// The first setting that is outside its range.
    pub fn validate(&self) -> Result<(), SettingError> {
        let second = Duration::from_secs(1);
        let longest = Duration::from_secs(32_767);
        let seconds = "1 s to 32767 s";
        let idle = self.keepalive_idle.unwrap_or(second);
        check("keepalive_idle", idle, second..=longest, seconds)?;
        let interval = self.keepalive_interval;
        check("keepalive_interval", interval, second..=longest, seconds)?;
        check(
            "keepalive_probes",
            self.keepalive_probes,
            1..=127,
            "1 to 127",
        )?;
        let millisecond = Duration::from_millis(1);
        timer("user_timeout", self.user_timeout.unwrap_or(millisecond))?;
        timer("idle_timeout", self.idle_timeout.unwrap_or(millisecond))
    }

    /// Returns the time after which sent bytes without an acknowledgement end a connection.
    fn user_timeout(&self) -> Option<Duration> {
        let probes = self
            .keepalive_interval
            .saturating_mul(self.keepalive_probes);
        let found = self.keepalive_idle.map(|idle| idle.saturating_add(probes));
        self.user_timeout.or(found)
    }

    /// Sets the options of a connection, or of a listener whose connections inherit them.
    pub(crate) fn apply<'socket>(&self, socket: impl Into<SockRef<'socket>>) {
        let socket = socket.into();
        // The calls fail only if the connection has ended already.
        if let Some(idle) = self.keepalive_idle {
            let keepalive = TcpKeepalive::new()
                .with_time(whole_seconds(idle))
                .with_interval(whole_seconds(self.keepalive_interval))
                .with_retries(self.keepalive_probes);
            let _ = socket.set_tcp_keepalive(&keepalive);
        }
        if let Some(timeout) = self.user_timeout() {
            let _ = socket.set_tcp_user_timeout(Some(timeout));
        }
    }

    /// Returns the timer of a stream. Call it on the runtime of the stream.
    pub(crate) fn idle_timer(&self) -> Option<Box<IdleTimer>> {
        let limit = self.idle_timeout?;
        Some(Box::new(IdleTimer {
            limit,
            moved: Instant::now(),
            sleeps: [None, None],
            runtime: Handle::current(),
        }))
    }
}

/// Returns the time in whole seconds, which the kernel counts in. A part of a second counts as a second.
fn whole_seconds(time: Duration) -> Duration {
    let more = u64::from(time.subsec_nanos() > 0);
    Duration::from_secs(time.as_secs().saturating_add(more))
}

/// Direction of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Timer of a stream that fails if no byte moves in either direction.
pub(crate) struct IdleTimer {
    limit: Duration,
    /// Time at which the last byte moved.
    moved: Instant,
    /// Timers of the two directions, which different tasks may wait for.
    sleeps: [Option<Pin<Box<Sleep>>>; 2],
    runtime: Handle,
}

impl IdleTimer {
    /// Checks the result of a read or a write. While the call waits, the timer may end it with an error.
    pub fn check<T>(
        &mut self,
        cx: &mut Context<'_>,
        direction: Direction,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.moved = Instant::now();
            return result;
        }
        let _entered = self.runtime.enter();
        let [read, write] = &mut self.sleeps;
        let sleep = match direction {
            Direction::Read => read,
            Direction::Write => write,
        };
        let due = self.moved + self.limit;
        let sleep = sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                let error = format!("no byte moved for {} ms", self.limit.as_millis());
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, error)));
            }
            // The other direction, or an earlier call, has moved bytes since the timer was set.
            sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}
