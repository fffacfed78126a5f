//! Queue of values. Threads and tasks can wait for the next value.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Queue of values, with the tasks that wait for the next value.
#[derive(Debug)]
pub(super) struct Mailbox<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    values: VecDeque<T>,
    is_closed: bool,
    wakers: Vec<Waker>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                values: VecDeque::new(),
                is_closed: false,
                wakers: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }
}

impl<T> Mailbox<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Each change of the state is a single step. So the state is valid even if another thread has panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a value, and wakes all threads and tasks that wait.
    pub(super) fn put(&self, value: T) {
        self.change(|state| state.values.push_back(value));
    }

    /// Closes the queue. No further value may be added.
    pub(super) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    fn change(&self, change: impl FnOnce(&mut State<T>)) {
        let mut state = self.state();
        change(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        // The lock is released first. Otherwise the woken thread would have to wait for it.
        drop(state);
        // Several threads may wait, and all of them must see that the queue is closed.
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for the next value. Returns `None` if the queue is closed and empty.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(value) = state.values.pop_front() {
                return Some(value);
            }
            if state.is_closed {
                return None;
            }
            // A wake-up may have no cause, or another thread may have taken the value.
            // So the loop checks the state again.
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Async form of [`Self::take`]: polls for the next value.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.state();
        if let Some(value) = state.values.pop_front() {
            return Poll::Ready(Some(value));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        let waker = context.waker();
        // A task may poll several times between two values. If each poll added a waker, the list would grow.
        if !state.wakers.iter().any(|other| other.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[test]
    fn a_thread_waits_for_a_value_and_for_the_end() {
        let mailbox = Arc::new(Mailbox::default());
        let waits = Arc::clone(&mailbox);
        let thread = std::thread::spawn(move || [waits.take(), waits.take(), waits.take()]);
        mailbox.put(1);
        mailbox.put(2);
        mailbox.close();
        assert_eq!(thread.join().expect("a thread"), [Some(1), Some(2), None]);
    }

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_woken_once_for_all_its_polls() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let context = Context::from_waker(&waker);
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.poll(&context), Poll::Pending);
        assert_eq!(mailbox.poll(&context), Poll::Pending);
        mailbox.put(5);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(mailbox.poll(&context), Poll::Ready(Some(5)));
        mailbox.close();
        assert_eq!(mailbox.poll(&context), Poll::Ready(None));
    }
}
