//! Time limit for each part of an answer's body.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Detector of a body that stops.
pub(crate) struct StallTimer {
    /// Longest time until the next part.
    time: Duration,
    /// Timer that runs while the next part is awaited.
    timer: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    /// Creates a detector for parts that follow each other within `time`.
    pub const fn after(time: Duration) -> Self {
        Self { time, timer: None }
    }

    /// Records that a part has arrived.
    pub fn moved(&mut self) {
        self.timer = None;
    }

    /// Ready when no part has arrived for too long.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let time = self.time;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        timer.as_mut().poll(cx)
    }
}
