//! Time for which a request waits for its own client: for a part of its body, or until it takes a part of its answer.
//! A guard ends such a request if another client waits for a worker.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;
use tokio::time::Instant;

/// Answer that can be ended while its client does not take it.
pub(crate) trait EndAnswer: Send + Sync {
    /// Ends the answer, if it still waits for its client.
    fn end(&self);
}

/// Time since which a request waits, in milliseconds after a common start, plus one. 0: it does not wait.
#[derive(Debug, Default)]
struct Since(AtomicU64);

/// State of a request that may wait for its client.
pub(crate) struct ClientWait {
    began: Instant,
    upload: Since,
    answer: Since,
    is_refused: AtomicBool,
    /// Task that waits for a part of the body.
    uploading: Mutex<Option<Waker>>,
    /// Answer, after it has begun.
    answering: OnceLock<Weak<dyn EndAnswer>>,
}

impl Default for ClientWait {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            upload: Since::default(),
            answer: Since::default(),
            is_refused: AtomicBool::new(false),
            uploading: Mutex::new(None),
            answering: OnceLock::new(),
        }
    }
}

impl ClientWait {
    fn uploading(&self) -> MutexGuard<'_, Option<Waker>> {
        self.uploading
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, since: &Since) {
        let age = self.began.elapsed().as_millis();
        let age = u64::try_from(age).unwrap_or(u64::MAX);
        since.0.store(age.saturating_add(1), Relaxed);
    }

    /// Records that the client has to send a part of the body. `waker` belongs to the task that waits for the part.
    /// Returns `true` if the request was ended in favour of another client.
    #[cfg(any(feature = "gateway", feature = "guard"))]
    pub fn awaits_upload(&self, waker: &Waker) -> bool {
        let mut uploading = self.uploading();
        *uploading = Some(waker.clone());
        drop(uploading);
        // Only the first call of several starts the time.
        if self.upload.0.load(Relaxed) == 0 {
            self.start(&self.upload);
        }
        self.is_refused.load(Relaxed)
    }

    /// Records that a part of the body has arrived.
    #[cfg(any(feature = "gateway", feature = "guard"))]
    pub fn uploaded(&self) {
        self.upload.0.store(0, Relaxed);
    }

    /// Records that the answer has begun.
    pub fn answered(&self, answer: Weak<dyn EndAnswer>) {
        // The value is set once, since a request has one answer.
        let _ = self.answering.set(answer);
    }

    /// Records that the client has to take a part of the answer.
    pub fn awaits_taking(&self) {
        self.start(&self.answer);
    }

    /// Records that the client has taken a part of the answer.
    pub fn taken(&self) {
        self.answer.0.store(0, Relaxed);
    }

    /// Returns the time since which the request waits for its client; `None`: it does not wait for its client.
    fn since(&self) -> Option<Instant> {
        // Client and service may send in turns after the answer has begun, so the body does not count then.
        let since = match self.answering.get() {
            Some(_) => &self.answer,
            None => &self.upload,
        };
        let since = since.0.load(Relaxed).checked_sub(1)?;
        Some(self.began + Duration::from_millis(since))
    }

    /// Returns the same time, if the request waits for `time` or longer.
    pub fn stuck_since(&self, time: Duration) -> Option<Instant> {
        self.since().filter(|since| since.elapsed() >= time)
    }

    /// Ends the request.
    pub fn end(&self) {
        match self.answering.get() {
            Some(answer) => {
                if let Some(answer) = answer.upgrade() {
                    answer.end();
                }
            }
            None => {
                self.is_refused.store(true, Relaxed);
                let waker = self.uploading().take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
        }
    }
}

impl std::fmt::Debug for ClientWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientWait")
            .field("since", &self.since())
            .finish_non_exhaustive()
    }
}
