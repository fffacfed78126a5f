//! A running lab, from a command's side.

use super::message::{LinkChange, Reply, Request};
use super::socket;
use crate::emulator::status::Status;
use crate::emulator::tracker::TrackedFlows;
use anyhow::{Context, Result, anyhow, bail};
use std::os::fd::OwnedFd;
use tailcut_units::HostId;

/// A lab that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lab {
    name: String,
}

/// The way into a host.
#[derive(Debug)]
pub struct Entered {
    /// The host.
    pub host: HostId,
    /// Whether the first of the namespaces is of users.
    pub has_users: bool,
    /// The namespaces, in the order in which they are entered.
    pub namespaces: Vec<OwnedFd>,
}

/// The names of this user's labs.
pub fn names() -> Vec<String> {
    socket::running()
}

/// The lab that a command is for: the named one, or the only one that runs.
///
/// # Errors
/// There is none, or there are several and none was named.
pub fn find(name: Option<&str>) -> Result<Lab> {
    let names = names();
    let begin = "tailcut lab up begins one";
    let name = match (name, names.as_slice()) {
        (Some(name), names) if names.iter().any(|other| other == name) => name,
        (Some(name), []) => bail!("--lab: found {name}, and no lab runs; {begin}"),
        (Some(name), names) => bail!("--lab: found {name}; running: {}", names.join(", ")),
        (None, [only]) => only,
        (None, []) => bail!("no lab runs; {begin}"),
        (None, names) => bail!("several labs run; say which by --lab: {}", names.join(", ")),
    };
    Ok(Lab {
        name: name.to_owned(),
    })
}

impl Lab {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: &Request) -> Result<(Reply, Vec<OwnedFd>)> {
        let stream = socket::connect(&self.name)
            .with_context(|| format!("cannot reach the lab {}", self.name))?;
        let gone = || format!("the lab {} does not answer", self.name);
        match socket::ask(&stream, request).with_context(gone)? {
            (Reply::Refused(why), _) => Err(anyhow!(why)),
            answer => Ok(answer),
        }
    }

    /// How it is.
    ///
    /// # Errors
    /// It has gone.
    pub fn status(&self) -> Result<Status> {
        match self.ask(&Request::Status)? {
            (Reply::Status(status), _) => Ok(*status),
            _ => bail!("the lab {} is of another version", self.name),
        }
    }

    /// The flows that programs have sent so far, and how many were forgotten or not followed.
    ///
    /// # Errors
    /// It has gone.
    pub fn flows(&self) -> Result<TrackedFlows> {
        let mut all = TrackedFlows::default();
        let mut from = 0;
        loop {
            let (Reply::Flows(part), _) = self.ask(&Request::Flows(from))? else {
                bail!("the lab {} is of another version", self.name);
            };
            all.flows.extend(part.flows);
            (all.forgotten, all.not_followed) = (part.forgotten, part.not_followed);
            match part.next {
                Some(next) => from = next,
                None => return Ok(all),
            }
        }
    }

    /// The way into a host.
    ///
    /// # Errors
    /// There is no such host, or the lab has gone.
    pub fn enter(&self, host: &str) -> Result<Entered> {
        match self.ask(&Request::Enter(host.to_owned()))? {
            (Reply::Way { host, has_users }, namespaces) => Ok(Entered {
                host: HostId(host),
                has_users,
                namespaces,
            }),
            _ => bail!("the lab {} is of another version", self.name),
        }
    }

    /// Changes a link.
    ///
    /// # Errors
    /// There is no such link, it cannot be so, or the lab has gone.
    pub fn change_link(&self, link: &str, change: LinkChange) -> Result<String> {
        let link = link.to_owned();
        self.done(&Request::Link { link, change })
    }

    /// Ends it.
    ///
    /// # Errors
    /// It has gone.
    pub fn down(&self) -> Result<String> {
        self.done(&Request::Down)
    }

    fn done(&self, request: &Request) -> Result<String> {
        match self.ask(request)? {
            (Reply::Done(words), _) => Ok(words),
            _ => bail!("the lab {} is of another version", self.name),
        }
    }
}
