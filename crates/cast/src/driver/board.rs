//! How far the receivers of an object are.

use super::outcome::Failure;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What has become of a receiver of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It has not answered yet.
    Asked,
    /// It receives.
    Receiving,
    /// It receives, and the others wait for it.
    Straggling,
    /// It has the whole object.
    Done,
    /// It gets nothing more: the others had waited for it too long.
    Dropped,
    /// It has not got the object, and why.
    Failed(Failure),
}

impl Stage {
    /// Whether nothing more comes of it.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Dropped | Self::Failed(_))
    }
}

/// How far one receiver is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The receiver.
    pub to: SocketAddr,
    /// Bytes that it has whole, from the first on, as far as the sender knows.
    pub bytes: u64,
    /// What has become of it.
    pub stage: Stage,
    /// Symbols on their way to it that have arrived or that it takes for lost, as far as it has said.
    pub settled: u32,
    /// Of them, those that it takes for lost.
    pub lost: u32,
}

/// How far all of them are; the same for every clone.
#[derive(Clone, Debug)]
pub(super) struct Board(Arc<Mutex<Vec<Progress>>>);

impl Board {
    pub(super) fn new(to: &[SocketAddr]) -> Self {
        let progress = |to: &SocketAddr| Progress {
            to: *to,
            bytes: 0,
            stage: Stage::Asked,
            settled: 0,
            lost: 0,
        };
        Self(Arc::new(Mutex::new(to.iter().map(progress).collect())))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy.
    pub(super) fn read(&self) -> Vec<Progress> {
        self.lock().clone()
    }

    /// Receiver number `at` has `bytes` bytes, or as many as before. What is over stays so, and one that
    /// straggles does so until it has more.
    pub(super) fn set(&self, at: usize, bytes: Option<u64>, stage: Stage) {
        let mut all = self.lock();
        let Some(one) = all.get_mut(at).filter(|one| !one.stage.is_over()) else {
            return;
        };
        let more = bytes.is_some_and(|bytes| bytes > one.bytes);
        if one.stage != Stage::Straggling || stage != Stage::Receiving || more {
            one.stage = stage;
        }
        one.bytes = bytes.unwrap_or(one.bytes);
    }

    /// Receiver number `at` says of so many symbols that they have arrived or are lost, and of how many of
    /// these that they are lost.
    pub(super) fn count(&self, at: usize, settled: u32, lost: u32) {
        if let Some(one) = self.lock().get_mut(at) {
            one.settled = settled.max(one.settled);
            one.lost = lost.max(one.lost);
        }
    }

    /// Receivers that have not got the object, and why the first of them has not.
    pub(super) fn missed(&self) -> (usize, Option<Failure>) {
        let all = self.lock();
        let missed = all.iter().filter(|one| one.stage != Stage::Done);
        let reasons = missed.clone().filter_map(|one| match one.stage {
            Stage::Failed(failure) => Some(failure),
            _ => None,
        });
        (missed.clone().count(), { reasons }.next())
    }

    /// How many receivers there are.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Those of whom nothing is known yet have failed.
    pub(super) fn fail(&self, failure: Failure) {
        let mut all = self.lock();
        for one in all.iter_mut().filter(|one| !one.stage.is_over()) {
            one.stage = Stage::Failed(failure);
        }
    }
}
