//! A running lab, from its own side.

use super::message::{LinkChange, Reply, Request};
use super::socket;
use crate::emulator::status::Status;
use crate::emulator::tracker::TrackedFlows;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// How long a command may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(2);

/// What carries out what concerns the network.
pub trait Orders {
    /// How the lab is; `None` when it has ended.
    fn status(&self) -> Option<Status>;
    /// The flows of programs from a place among those that have ended; `None` when the lab has ended.
    fn flows(&self, from: u64) -> Option<TrackedFlows>;
    /// Changes a link; in words what it is now, or why it is not changed.
    fn change_link(&self, link: &str, change: LinkChange) -> Result<String, String>;
}

/// What leads into hosts.
pub trait Ways {
    /// The number of a host and its namespaces, in the order in which they are entered.
    ///
    /// # Errors
    /// There is no such host, in words.
    fn way(&self, host: &str) -> Result<(u32, Vec<OwnedFd>), String>;
    /// Whether the first of the namespaces is of users.
    fn has_users(&self) -> bool;
}

/// Answers commands until one says that the lab shall end.
///
/// # Errors
/// The socket fails.
pub fn serve(listener: &UnixListener, orders: &impl Orders, ways: &impl Ways) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        // A command that goes away or talks nonsense does no harm.
        if socket::is_same_user(&stream) && converse(&stream, orders, ways).unwrap_or(false) {
            return Ok(());
        }
    }
}

/// Answers one command; true when the lab shall end.
fn converse(stream: &UnixStream, orders: &impl Orders, ways: &impl Ways) -> io::Result<bool> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut files = Vec::new();
    let request = socket::asked(stream)?;
    let ended = || Reply::Refused("the lab has ended".to_owned());
    let reply = match &request {
        Request::Status => orders
            .status()
            .map_or_else(ended, |status| Reply::Status(Box::new(status))),
        Request::Flows(from) => orders.flows(*from).map_or_else(ended, Reply::Flows),
        Request::Enter(host) => match ways.way(host) {
            Ok((host, namespaces)) => {
                files = namespaces;
                let has_users = ways.has_users();
                Reply::Way { host, has_users }
            }
            Err(why) => Reply::Refused(why),
        },
        Request::Link { link, change } => match orders.change_link(link, *change) {
            Ok(words) => Reply::Done(words),
            Err(why) => Reply::Refused(why),
        },
        Request::Down => Reply::Done("the lab has ended".to_owned()),
    };
    socket::answer(stream, &reply, &files)?;
    Ok(request == Request::Down)
}
