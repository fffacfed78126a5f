//! Locks that hold on a shared file system: a file that is created exclusively, and whose holder writes
//! into it again and again.
//!
//! A lock whose file has not been written for [`SILENCE`] is stale, and so is one whose process is known
//! to have ended. Who wants it claims it with a file named after the stale holder, again created
//! exclusively, and renames a lock of its own over the stale one. Two processes may still believe that they
//! hold one lock, after one of them was halted for longer than [`SILENCE`]: nothing may depend on a lock but
//! that work is not done twice.

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

/// A lock that has been silent for longer is taken over. Clients of NFS may know a file's time as it was
/// up to a minute ago.
pub const SILENCE: Duration = Duration::from_secs(60);

/// How often a holder says that it goes on.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    mark: String,
    ended: Arc<(Mutex<bool>, Condvar)>,
    beating: Option<JoinHandle<()>>,
}

/// What became of the wish for a lock.
#[derive(Debug)]
pub(crate) enum Taken {
    /// This process has it.
    Mine(Lock),
    /// Somebody else has it; `None` where the lock does not say yet who.
    Theirs(Option<Holder>),
}

/// A lock's file as it was read.
#[derive(PartialEq, Debug)]
pub(crate) struct Seen {
    /// Who has it; `None` where the file does not say yet.
    pub holder: Option<Holder>,
    /// Since when nothing has been heard.
    pub silent: Duration,
}

impl Seen {
    /// A lock's file; `None` where there is none.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn at(path: &Path, clock: &Clock) -> Result<Option<Self>, Error> {
        // On NFS a file's time is fresh once the file has been opened.
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
            // It was removed on the server while it was open here.
            Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle => return Ok(None),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        Ok(Some(Self {
            holder: serde_json::from_slice(&bytes).ok(),
            silent: clock.since(written),
        }))
    }

    /// Whether its holder is no longer there.
    pub fn is_stale(&self) -> bool {
        self.silent > SILENCE || self.holder.as_ref().is_some_and(Holder::has_ended)
    }

    /// Whether this process had it, which has ended since.
    fn is_of(&self, ended: Option<u32>) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|holder| Some(holder.pid) == ended && holder.is_here())
    }
}

impl Lock {
    /// Takes the lock at `path`, unless somebody else has it who is not silent.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn take(path: &Path, clock: &Clock) -> Result<Taken, Error> {
        Self::take_after(path, clock, None)
    }

    /// [`Lock::take`] by somebody who knows that a process of this machine has ended.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn take_after(path: &Path, clock: &Clock, ended: Option<u32>) -> Result<Taken, Error> {
        loop {
            let holder = Holder::this();
            if create(path, &holder)? {
                return Self::held(path, holder).map(Taken::Mine);
            }
            let Some(seen) = Seen::at(path, clock)? else {
                // It was given back meanwhile.
                continue;
            };
            if !seen.is_stale() && !seen.is_of(ended) {
                return Ok(Taken::Theirs(seen.holder));
            }
            let claim = claim_of(path, seen.holder.as_ref());
            if create(&claim, &Holder::this())? {
                let taken = Self::replace(path, seen.holder.as_ref());
                let _ = fs::remove_file(&claim);
                return taken;
            }
            match Seen::at(&claim, clock)? {
                // Whoever claimed it has ended before it was theirs.
                Some(claimed) if claimed.is_stale() => {
                    let _ = fs::remove_file(&claim);
                }
                Some(claimed) => return Ok(Taken::Theirs(claimed.holder)),
                None => {}
            }
        }
    }

    /// Puts a lock over the stale one of `before`, which this process alone has claimed.
    fn replace(path: &Path, before: Option<&Holder>) -> Result<Taken, Error> {
        let there = holder_at(path);
        if there.as_ref().map(|holder| &holder.mark) != before.map(|b| &b.mark) {
            // Somebody else had claimed it before, and has it now.
            return Ok(Taken::Theirs(there));
        }
        let holder = Holder::this();
        write_whole(path, &encoded(&holder))?;
        Self::held(path, holder).map(Taken::Mine)
    }

    /// A lock whose file is there. It is given back where it cannot be kept.
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
        let (ended, told) = &*self.ended;
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        told.notify_all();
        if let Some(beating) = self.beating.take() {
            let _ = beating.join();
        }
        // Somebody who has taken it over meanwhile keeps it.
        if holder_at(&self.path).is_some_and(|holder| holder.mark == self.mark) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates the file of a lock, or of a claim to one; `false` where there is one.
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

/// Writes into a lock's file now and then, until that has ended.
fn beat(path: &Path, mut holder: Holder, ended: &(Mutex<bool>, Condvar)) {
    let (ended, told) = ended;
    let mut is_over = ended.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        let waited = told.wait_timeout(is_over, HEARTBEAT);
        is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !*is_over {
            holder.heartbeat = now();
            // A beat that fails is a silence: the next one may be heard.
            let _ = write_again(path, &holder);
        }
    }
}

/// Writes a holder's heartbeat, where the lock is still its own.
fn write_again(path: &Path, holder: &Holder) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let there: Option<Holder> = serde_json::from_slice(&bytes).ok();
    if there.is_some_and(|there| there.mark != holder.mark) {
        return Ok(());
    }
    // The text is as long as before, so that nobody reads a part of it.
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&encoded(holder))?;
    file.sync_all()
}

/// The file that claims the stale lock of a holder.
fn claim_of(path: &Path, holder: Option<&Holder>) -> PathBuf {
    let mark = holder.map_or("unknown", |holder| &holder.mark);
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

    /// A lock of another machine, last written so long ago.
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

    fn is_mine(taken: &Taken) -> bool {
        matches!(taken, Taken::Mine(_))
    }

    #[test]
    fn a_lock_is_held_until_it_is_given_back() {
        let (dir, path, clock) = place();
        let Taken::Mine(lock) = Lock::take(&path, &clock).expect("a lock") else {
            panic!("nobody had it");
        };
        let Taken::Theirs(Some(holder)) = Lock::take(&path, &clock).expect("no lock") else {
            panic!("somebody has it");
        };
        assert_eq!(holder.pid, std::process::id());
        drop(lock);
        assert!(is_mine(&Lock::take(&path, &clock).expect("a lock")));
        let left = fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(left, 0, "nothing is left of any of them");
    }

    #[test]
    fn a_holder_that_is_silent_for_a_minute_loses_it() {
        let (_dir, path, clock) = place();
        for (silent, taken) in [(50, false), (61, true)] {
            let holder = of_another(&path, Duration::from_secs(silent));
            match Lock::take(&path, &clock).expect("an answer") {
                Taken::Mine(_) => assert!(taken),
                Taken::Theirs(by) => assert!(!taken && by == Some(holder)),
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
        // Elsewhere nothing says which processes there are.
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
                        // Nobody gives it back before all have tried.
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
        let Taken::Theirs(Some(holder)) = Lock::take(&path, &clock).expect("an answer") else {
            panic!("somebody is about to take it");
        };
        assert_eq!(holder.mark, by.mark);
        of_another(&claim, Duration::from_secs(61));
        assert!(is_mine(&Lock::take(&path, &clock).expect("a lock")));
        let left = fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(left, 0, "the claim is gone, too");
    }

    #[test]
    fn a_heartbeat_is_written_over_the_one_before_and_never_over_another_holder() {
        let (_dir, path, clock) = place();
        let mut holder = of_another(&path, Duration::from_secs(30));
        holder.heartbeat = now();
        write_again(&path, &holder).expect("a beat");
        let seen = Seen::at(&path, &clock).expect("a lock").expect("a lock");
        assert!(seen.silent < Duration::from_secs(10), "{seen:?}");
        let later = of_another(&path, Duration::ZERO);
        write_again(&path, &holder).expect("no beat");
        assert_eq!(holder_at(&path), Some(later));
    }
}
