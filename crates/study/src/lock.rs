//! Locks on a shared file system. A lock is a file that one process creates exclusively.
//! The process that holds the lock, the holder, rewrites the file at intervals (heartbeat).
//!
//! A lock is stale if its file has not been written for [`LOCK_TIMEOUT`], or if its process is known to have ended.
//! A process that wants a stale lock first creates a claim, again exclusively.
//! A claim is a file whose name contains the mark of the stale holder.
//! After the claim, the process renames its own lock over the stale lock.
//! If a holder is halted for longer than [`LOCK_TIMEOUT`], two processes may believe that they hold the lock.
//! Locks may therefore only prevent duplicate work.

use crate::clock::Clock;
use crate::error::Error;
use crate::holder::{Holder, now};
use crate::layout::STALE_END;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tailcut_record::write_whole;

/// Time without a heartbeat after which another process may take the lock over.
/// NFS clients may cache the time of a file for up to a minute.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval of heartbeats.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// Lock that this process holds. The lock is released when the value is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    mark: String,
    ended: Arc<(Mutex<bool>, Condvar)>,
    beating: Option<JoinHandle<()>>,
}

/// Result of an attempt to take a lock.
#[derive(Debug)]
pub(crate) enum LockAttempt {
    /// This process has the lock.
    Acquired(Lock),
    /// A different process has the lock. The holder is `None` if the file does not contain it yet.
    HeldBy(Option<Holder>),
}

/// Contents and age of a lock's file.
#[derive(PartialEq, Debug)]
pub(crate) struct LockFile {
    /// Holder. `None` if the file does not contain it yet.
    pub holder: Option<Holder>,
    /// Time since the last heartbeat.
    pub silent: Duration,
}

impl LockFile {
    /// Reads a lock's file. Returns `None` if there is no file.
    ///
    /// # Errors
    /// A failed system call.
    pub fn at(path: &Path, clock: &Clock) -> Result<Option<Self>, Error> {
        // The file is opened even if only its time is needed.
        // An NFS client reads the time from the server only when it opens the file.
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        let mut bytes = Vec::new();
        let written = file
            .read_to_end(&mut bytes)
            .and_then(|_| file.metadata()?.modified());
        let written = match written {
            Ok(written) => written,
            // The file was removed on the server while it was open here.
            Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle => return Ok(None),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        Ok(Some(Self {
            holder: serde_json::from_slice(&bytes).ok(),
            silent: clock.since(written),
        }))
    }

    /// Returns whether the lock may be taken over: the holder has ended, or has been silent for too long.
    pub fn is_stale(&self) -> bool {
        self.silent > LOCK_TIMEOUT || self.holder.as_ref().is_some_and(Holder::has_ended)
    }

    /// Returns whether the holder is the process with the number `ended`. This process has ended.
    fn is_of(&self, ended: Option<u32>) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|holder| Some(holder.pid) == ended && holder.is_here())
    }
}

impl Lock {
    /// Takes the lock at `path` if it is free or stale.
    ///
    /// # Errors
    /// A failed system call.
    pub fn take(path: &Path, clock: &Clock) -> Result<LockAttempt, Error> {
        Self::take_after(path, clock, None)
    }

    /// Takes the lock like [`Lock::take`].
    /// Also takes the lock from the process `ended` of this machine. This process has certainly ended.
    ///
    /// # Errors
    /// A failed system call.
    pub fn take_after(
        path: &Path,
        clock: &Clock,
        ended: Option<u32>,
    ) -> Result<LockAttempt, Error> {
        loop {
            let holder = Holder::this();
            if create(path, &holder)? {
                return Self::held(path, holder).map(LockAttempt::Acquired);
            }
            let Some(seen) = LockFile::at(path, clock)? else {
                // The lock was released in the meantime.
                continue;
            };
            if !seen.is_stale() && !seen.is_of(ended) {
                return Ok(LockAttempt::HeldBy(seen.holder));
            }
            let claim = claim_of(path, seen.holder.as_ref());
            if create(&claim, &Holder::this())? {
                let taken = Self::replace(path, seen.holder.as_ref());
                let _ = fs::remove_file(&claim);
                return taken;
            }
            match LockFile::at(&claim, clock)? {
                // The process that claimed the lock ended before it took the lock.
                Some(claimed) if claimed.is_stale() => {
                    let _ = fs::remove_file(&claim);
                }
                Some(claimed) => return Ok(LockAttempt::HeldBy(claimed.holder)),
                None => {}
            }
        }
    }

    /// Replaces the stale lock of the holder `before`. This process must have the claim to this lock.
    fn replace(path: &Path, before: Option<&Holder>) -> Result<LockAttempt, Error> {
        let there = holder_at(path);
        if there.as_ref().map(|holder| &holder.mark) != before.map(|b| &b.mark) {
            // Another process claimed the lock earlier, and has the lock now.
            return Ok(LockAttempt::HeldBy(there));
        }
        let holder = Holder::this();
        write_whole(path, &encoded(&holder))?;
        Self::held(path, holder).map(LockAttempt::Acquired)
    }

    /// Returns the lock whose file this process has just written, and starts its heartbeat.
    /// Releases the lock if the heartbeat cannot start.
    fn held(path: &Path, holder: Holder) -> Result<Self, Error> {
        let mut lock = Self {
            path: path.to_owned(),
            mark: holder.mark.clone(),
            ended: Arc::default(),
            beating: None,
        };
        let (path, ended) = (path.to_owned(), Arc::clone(&lock.ended));
        let beat = move || beat(&path, holder, &ended);
        let started = thread::Builder::new().spawn(beat);
        lock.beating = Some(started.map_err(Error::io("start a thread for", &lock.path))?);
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let (ended, released) = &*self.ended;
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        released.notify_all();
        if let Some(beating) = self.beating.take() {
            let _ = beating.join();
        }
        // If another process has taken the lock over, the file belongs to that process.
        if holder_at(&self.path).is_some_and(|holder| holder.mark == self.mark) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates the file of a lock or of a claim. Returns `false` if the file already exists.
fn create(path: &Path, holder: &Holder) -> Result<bool, Error> {
    let mut file = match File::options().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(Error::io("write", path)(error)),
    };
    let written = file
        .write_all(&encoded(holder))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        let _ = fs::remove_file(path);
        return Err(Error::io("write", path)(error));
    }
    Ok(true)
}

/// Rewrites a lock's file at intervals, until the lock is released.
fn beat(path: &Path, mut holder: Holder, ended: &(Mutex<bool>, Condvar)) {
    let (ended, released) = ended;
    let mut is_over = ended.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        let waited = released.wait_timeout(is_over, HEARTBEAT);
        is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !*is_over {
            holder.heartbeat = now();
            // Other processes see a failed heartbeat only as a longer interval. The next heartbeat may succeed.
            let _ = write_again(path, &holder);
        }
    }
}

/// Writes a holder's heartbeat, if the lock still belongs to this holder.
fn write_again(path: &Path, holder: &Holder) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let there: Option<Holder> = serde_json::from_slice(&bytes).ok();
    if there.is_some_and(|there| there.mark != holder.mark) {
        return Ok(());
    }
    // The text has the same length as before, so that no reader sees a part of it.
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&encoded(holder))?;
    file.sync_all()
}

/// Returns the path of the claim file for the stale lock of `holder`.
fn claim_of(path: &Path, holder: Option<&Holder>) -> PathBuf {
    let mark = holder.map_or("unknown", |holder| &holder.mark);
    // The mark comes from a file, so it may contain characters that have a meaning in a path, such as `/`.
    let plain: String = mark.chars().filter(char::is_ascii_alphanumeric).collect();
    path.with_extension(format!("{plain}{STALE_END}"))
}

fn holder_at(path: &Path) -> Option<Holder> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn encoded(holder: &Holder) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(holder).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::time::SystemTime;

    /// Writes the lock file of a process on another machine. The last heartbeat was `silent` ago.
    fn of_another(path: &Path, silent: Duration) -> Holder {
        let holder = Holder {
            host: "elsewhere".to_owned(),
            pid: 1,
            pids_of: "another boot".to_owned(),
            ..Holder::this()
        };
        fs::write(path, encoded(&holder)).expect("a lock");
        let file = File::options().write(true).open(path).expect("a lock");
        file.set_modified(SystemTime::now() - silent)
            .expect("a time");
        holder
    }

    fn place() -> (tempfile::TempDir, PathBuf, Clock) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.lock");
        let clock = Clock::of(dir.path().to_owned());
        (dir, path, clock)
    }

    fn is_mine(taken: &LockAttempt) -> bool {
        matches!(taken, LockAttempt::Acquired(_))
    }

    #[test]
    fn a_lock_is_held_until_it_is_given_back() {
        let (dir, path, clock) = place();
        let LockAttempt::Acquired(lock) = Lock::take(&path, &clock).expect("a lock") else {
            panic!("no process holds the lock, so this process gets it");
        };
        let LockAttempt::HeldBy(Some(holder)) = Lock::take(&path, &clock).expect("no lock") else {
            panic!("this process already holds the lock");
        };
        assert_eq!(holder.pid, std::process::id());
        drop(lock);
        assert!(is_mine(&Lock::take(&path, &clock).expect("a lock")));
        let left = fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(left, 0, "no file of the locks is left");
    }

    #[test]
    fn a_holder_that_is_silent_for_a_minute_loses_it() {
        let (_dir, path, clock) = place();
        for (silent, taken) in [(50, false), (61, true)] {
            let holder = of_another(&path, Duration::from_secs(silent));
            match Lock::take(&path, &clock).expect("an answer") {
                LockAttempt::Acquired(_) => assert!(taken),
                LockAttempt::HeldBy(by) => assert!(!taken && by == Some(holder)),
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_holder_whose_process_has_ended_here_loses_it_at_once() {
        let (_dir, path, clock) = place();
        let mut child = std::process::Command::new("true")
            .spawn()
            .expect("a process");
        let holder = Holder {
            pid: child.id(),
            ..Holder::this()
        };
        child.wait().expect("its end");
        fs::write(&path, encoded(&holder)).expect("a lock");
        let taken = Lock::take(&path, &clock).expect("a lock");
        // On other systems, the running processes are unknown.
        assert!(is_mine(&taken) || holder.pids_of.is_empty());
    }

    #[test]
    fn of_many_that_take_a_stale_lock_over_one_has_it() {
        for _ in 0..20 {
            let (dir, path, clock) = place();
            of_another(&path, Duration::from_secs(61));
            let (start, end) = (Barrier::new(8), Barrier::new(8));
            let taken: Vec<bool> = thread::scope(|scope| {
                let takers = (0..8).map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let taken = Lock::take(&path, &clock).expect("an answer");
                        // No thread releases the lock before all threads have tried to take it.
                        end.wait();
                        is_mine(&taken)
                    })
                });
                let takers: Vec<_> = takers.collect();
                takers
                    .into_iter()
                    .map(|one| one.join().expect("no panic"))
                    .collect()
            });
            assert_eq!(taken.iter().filter(|mine| **mine).count(), 1);
            assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 0);
        }
    }

    #[test]
    fn a_claim_holds_others_off_until_who_made_it_is_silent_too() {
        let (dir, path, clock) = place();
        let stale = of_another(&path, Duration::from_secs(61));
        let claim = claim_of(&path, Some(&stale));
        let by = of_another(&claim, Duration::from_secs(5));
        let LockAttempt::HeldBy(Some(holder)) = Lock::take(&path, &clock).expect("an answer")
        else {
            panic!("another process has the claim to the lock");
        };
        assert_eq!(holder.mark, by.mark);
        of_another(&claim, Duration::from_secs(61));
        assert!(is_mine(&Lock::take(&path, &clock).expect("a lock")));
        let left = fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(
            left, 0,
            "the files of the lock and of the claim are removed"
        );
    }

    #[test]
    fn a_heartbeat_is_written_over_the_one_before_and_never_over_another_holder() {
        let (_dir, path, clock) = place();
        let mut holder = of_another(&path, Duration::from_secs(30));
        holder.heartbeat = now();
        write_again(&path, &holder).expect("a beat");
        let seen = LockFile::at(&path, &clock)
            .expect("a lock")
            .expect("a lock");
        assert!(seen.silent < Duration::from_secs(10), "{seen:?}");
        let later = of_another(&path, Duration::ZERO);
        write_again(&path, &holder).expect("no beat");
        assert_eq!(holder_at(&path), Some(later));
    }
}
