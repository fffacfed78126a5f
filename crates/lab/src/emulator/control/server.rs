//! Control server of a running lab: commands send requests to this server, and the server answers them.

use super::message::{LinkChange, Reply, Request};
use super::socket;
use crate::emulator::status::Status;
use crate::emulator::tracker::TrackedFlows;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// Maximum time that a command may need to send its request.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// Operations on the lab's network that commands can request.
pub trait Orders {
    /// Returns the status of the lab; `None` after the end of the lab.
    fn status(&self) -> Option<Status>;
    /// Returns the flows of programs, from index `from` in the list of ended flows.
    /// Returns `None` if the lab has ended.
    fn flows(&self, from: u64) -> Option<TrackedFlows>;
    /// Changes a link. Returns a text with the link's new state, or the reason why the link did not change.
    fn change_link(&self, link: &str, change: LinkChange) -> Result<String, String>;
}

/// Access of commands to the namespaces of the hosts.
pub trait HostAccess {
    /// Returns the number of a host and its namespaces, in the order in which they must be entered.
    ///
    /// # Errors
    /// A text for the user, if the host does not exist.
    fn access(&self, host: &str) -> Result<(u32, Vec<OwnedFd>), String>;
    /// Returns whether the first namespace is a user namespace.
    fn has_users(&self) -> bool;
}

/// Answers commands until a command requests the end of the lab.
///
/// # Errors
/// The socket fails.
pub fn serve(
    listener: &UnixListener,
    orders: &impl Orders,
    hosts: &impl HostAccess,
) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        // A command that disconnects or sends an invalid request must not end the lab.
        if socket::is_same_user(&stream) && answer_command(&stream, orders, hosts).unwrap_or(false)
        {
            return Ok(());
        }
    }
}

/// Answers one command. Returns whether the command ends the lab.
fn answer_command(
    stream: &UnixStream,
    orders: &impl Orders,
    hosts: &impl HostAccess,
) -> io::Result<bool> {
    stream.set_read_timeout(Some(COMMAND_TIMEOUT))?;
    stream.set_write_timeout(Some(COMMAND_TIMEOUT))?;
    let mut files = Vec::new();
    let request = socket::read_request(stream)?;
    let ended = || Reply::Refused("the lab has ended".to_owned());
    let reply = match &request {
        Request::Status => orders
            .status()
            .map_or_else(ended, |status| Reply::Status(Box::new(status))),
        Request::Flows(from) => orders.flows(*from).map_or_else(ended, Reply::Flows),
        Request::Enter(host) => match hosts.access(host) {
            Ok((host, namespaces)) => {
                files = namespaces;
                let has_users = hosts.has_users();
                Reply::Access { host, has_users }
            }
            Err(why) => Reply::Refused(why),
        },
        Request::Link { link, change } => match orders.change_link(link, *change) {
            Ok(words) => Reply::Done(words),
            Err(why) => Reply::Refused(why),
        },
        Request::Down => Reply::Done("the lab has ended".to_owned()),
    };
    socket::send_reply(stream, &reply, &files)?;
    Ok(request == Request::Down)
}
