//! Client of a running lab: commands use it to send requests to the lab.

use super::message::{LinkChange, Reply, Request};
use super::socket;
use crate::emulator::status::Status;
use crate::emulator::tracker::TrackedFlows;
use anyhow::{Context, Result, anyhow, bail};
use std::os::fd::OwnedFd;
use tailcut_units::HostId;

/// Connection data of a running lab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lab {
    name: String,
}

/// Access to a host: namespaces that a program must enter so that it runs on the host.
#[derive(Debug)]
pub struct Entered {
    /// Number of the host to which this access belongs.
    pub host: HostId,
    /// Whether the first namespace is a user namespace.
    pub has_users: bool,
    /// Namespaces in the order in which they must be entered.
    pub namespaces: Vec<OwnedFd>,
}

/// Returns the names of this user's running labs.
pub fn names() -> Vec<String> {
    socket::running()
}

/// Returns the running lab with this name. Without a name, returns the only running lab.
///
/// # Errors
/// No lab runs, the name is wrong, or several labs run and no name was given.
pub fn find(name: Option<&str>) -> Result<Lab> {
    let names = names();
    let begin = "start one with tailcut lab up";
    let name = match (name, names.as_slice()) {
        (Some(name), names) if names.iter().any(|other| other == name) => name,
        (Some(name), []) => bail!("--lab: found {name}, but no lab is running; {begin}"),
        (Some(name), names) => bail!("--lab: found {name}; running: {}", names.join(", ")),
        (None, [only]) => only,
        (None, []) => bail!("no lab is running; {begin}"),
        (None, names) => bail!(
            "several labs are running; select one with --lab: {}",
            names.join(", ")
        ),
    };
    Ok(Lab {
        name: name.to_owned(),
    })
}

impl Lab {
    /// Returns the name of the lab.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn request(&self, request: &Request) -> Result<(Reply, Vec<OwnedFd>)> {
        let stream = socket::connect(&self.name)
            .with_context(|| format!("cannot reach the lab {}", self.name))?;
        let gone = || format!("the lab {} does not answer", self.name);
        match socket::request(&stream, request).with_context(gone)? {
            (Reply::Refused(why), _) => Err(anyhow!(why)),
            answer => Ok(answer),
        }
    }

    /// Returns the status of the lab.
    ///
    /// # Errors
    /// The lab has ended.
    pub fn status(&self) -> Result<Status> {
        match self.request(&Request::Status)? {
            (Reply::Status(status), _) => Ok(*status),
            _ => bail!("the lab {} has another version of tailcut", self.name),
        }
    }

    /// Returns the flows that programs have sent since the start of the lab.
    /// Also returns the number of flows that were not recorded.
    ///
    /// # Errors
    /// The lab has ended.
    pub fn flows(&self) -> Result<TrackedFlows> {
        let mut all = TrackedFlows::default();
        let mut from = 0;
        loop {
            let (Reply::Flows(part), _) = self.request(&Request::Flows(from))? else {
                bail!("the lab {} has another version of tailcut", self.name);
            };
            all.flows.extend(part.flows);
            (all.forgotten, all.not_followed) = (part.forgotten, part.not_followed);
            match part.next {
                Some(next) => from = next,
                None => return Ok(all),
            }
        }
    }

    /// Returns the access to a host.
    ///
    /// # Errors
    /// The host does not exist, or the lab has ended.
    pub fn enter(&self, host: &str) -> Result<Entered> {
        match self.request(&Request::Enter(host.to_owned()))? {
            (Reply::Access { host, has_users }, namespaces) => Ok(Entered {
                host: HostId(host),
                has_users,
                namespaces,
            }),
            _ => bail!("the lab {} has another version of tailcut", self.name),
        }
    }

    /// Changes a link. Returns a text that describes the link's new state.
    ///
    /// # Errors
    /// The link does not exist, the change is not possible, or the lab has ended.
    pub fn change_link(&self, link: &str, change: LinkChange) -> Result<String> {
        let link = link.to_owned();
        self.done(&Request::Link { link, change })
    }

    /// Ends the lab.
    ///
    /// # Errors
    /// The lab has already ended.
    pub fn down(&self) -> Result<String> {
        self.done(&Request::Down)
    }

    fn done(&self, request: &Request) -> Result<String> {
        match self.request(request)? {
            (Reply::Done(words), _) => Ok(words),
            _ => bail!("the lab {} has another version of tailcut", self.name),
        }
    }
}
