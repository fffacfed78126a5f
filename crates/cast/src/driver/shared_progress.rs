//! Progress of an object at each receiver.

use super::outcome::Failure;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailcut_units::Duration;

/// State of the transfer to one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The receiver has not answered yet.
    Offered,
    /// The receiver is receiving the object.
    Receiving,
    /// The receiver is so slow that the other receivers wait for it.
    Straggling,
    /// The receiver has the whole object.
    Done,
    /// The sender has given up this receiver, because the other receivers have waited for it too long.
    Dropped,
    /// The transfer to the receiver has failed for this reason.
    Failed(Failure),
}

impl Stage {
    /// Returns whether the state is final.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Dropped | Self::Failed(_))
    }
}

/// Progress of the transfer to one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Number of bytes before the first gap in the object, as the receiver has last reported.
    pub bytes: u64,
    /// State of the transfer to the receiver.
    pub stage: Stage,
    /// Number of symbols that the receiver has reported as arrived or lost.
    pub settled: u32,
    /// Number of symbols that the receiver has reported as lost. `settled` includes them.
    pub lost: u32,
    /// Time for which the other receivers of the object have waited for this receiver.
    pub held: Duration,
}

/// Progress of all receivers of an object. Clones share the data.
#[derive(Clone, Debug)]
pub(super) struct SharedProgress(Arc<Mutex<Vec<Progress>>>);

impl SharedProgress {
    /// Returns whether any packet of the receiver with the index `at` has arrived.
    pub(super) fn was_heard(&self, at: usize) -> bool {
        let progress = self.read();
        progress
            .get(at)
            .is_some_and(|one| one.stage != Stage::Offered)
    }

    pub(super) fn new(to: &[SocketAddr]) -> Self {
        let progress = |to: &SocketAddr| Progress {
            to: *to,
            bytes: 0,
            stage: Stage::Offered,
            settled: 0,
            lost: 0,
            held: Duration::ZERO,
        };
        Self(Arc::new(Mutex::new(to.iter().map(progress).collect())))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the progress of all receivers.
    pub(super) fn read(&self) -> Vec<Progress> {
        self.lock().clone()
    }

    /// Sets the state of the receiver with index `at`, and its number of bytes if `bytes` is given.
    /// A final state never changes. A straggling receiver keeps this state until its number of bytes grows.
    pub(super) fn set(&self, at: usize, bytes: Option<u64>, stage: Stage) {
        let mut all = self.lock();
        let Some(one) = all.get_mut(at).filter(|one| !one.stage.is_over()) else {
            return;
        };
        let more = bytes.is_some_and(|bytes| bytes > one.bytes);
        if one.stage != Stage::Straggling || stage != Stage::Receiving || more {
            one.stage = stage;
        }
        // The number of bytes may become smaller. After a restart, the receiver gets the object from its beginning.
        one.bytes = bytes.unwrap_or(one.bytes);
    }

    /// Stores two numbers of symbols for the receiver with index `at`.
    /// `settled` symbols were reported as arrived or lost. `lost` symbols were reported as lost.
    /// Reports may arrive out of order, so smaller numbers are ignored.
    pub(super) fn count(&self, at: usize, settled: u32, lost: u32) {
        if let Some(one) = self.lock().get_mut(at) {
            one.settled = settled.max(one.settled);
            one.lost = lost.max(one.lost);
        }
    }

    /// Stores the time for which other receivers have waited for the receiver with index `at`.
    pub(super) fn hold(&self, at: usize, held: Duration) {
        if let Some(one) = self.lock().get_mut(at) {
            one.held = held;
        }
    }

    /// Returns the number of receivers without the whole object, and the failure of the first receiver that has failed.
    pub(super) fn missed(&self) -> (usize, Option<Failure>) {
        let all = self.lock();
        let missed = all.iter().filter(|one| one.stage != Stage::Done);
        let reasons = missed.clone().filter_map(|one| match one.stage {
            Stage::Failed(failure) => Some(failure),
            _ => None,
        });
        // `{ reasons }` is a temporary value, so that `next` may change it.
        (missed.clone().count(), { reasons }.next())
    }

    /// Returns the number of receivers.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Marks all receivers without a final state as failed.
    pub(super) fn fail(&self, failure: Failure) {
        let mut all = self.lock();
        for one in all.iter_mut().filter(|one| !one.stage.is_over()) {
            one.stage = Stage::Failed(failure);
        }
    }
}
