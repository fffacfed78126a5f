//! Members of a multicast group: a check to the group before the first slab shows which receivers
//! hear it. A receiver without progress gets another check.

use super::line::Line;
use crate::driver::Hearers;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Number of checks that are sent, and time to wait for an answer to each.
const ASKS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Number of checks sent, and time of the last one.
#[derive(Clone, Copy, Debug)]
struct Asked {
    count: u32,
    at: Instant,
}

/// Next step for a receiver that has not answered.
enum Next {
    Ask(Asked),
    Wait,
    GiveUp,
}

impl Asked {
    fn next(asked: Option<Self>) -> Next {
        let at = Instant::now();
        match asked {
            None => Next::Ask(Self { count: 1, at }),
            Some(asked) if asked.at.elapsed() < PAUSE => Next::Wait,
            Some(Self { count, .. }) if count < ASKS => Next::Ask(Self {
                count: count + 1,
                at,
            }),
            Some(_) => Next::GiveUp,
        }
    }
}

/// Multicast group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) address: SocketAddr,
    hearers: Option<Hearers>,
    asked: Option<Asked>,
    /// Receivers that hear the group. `None`: not known yet.
    members: Option<Vec<SocketAddr>>,
    /// Members without progress that get checks again.
    doubts: HashMap<SocketAddr, Asked>,
    /// Receivers that do not hear the group and have not been reported yet.
    deaf: Vec<SocketAddr>,
}

impl Group {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            hearers: None,
            asked: None,
            members: None,
            doubts: HashMap::new(),
            deaf: Vec::new(),
        }
    }

    fn ask(&mut self, line: &Line<'_>) {
        self.hearers = Some(line.endpoint().ask_group(self.address));
    }

    fn has_answered(&self, peer: SocketAddr) -> bool {
        self.hearers.as_ref().is_some_and(|all| all.has(peer))
    }

    /// Returns whether a receiver hears the group.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.members.as_ref().is_some_and(|all| all.contains(&peer))
    }

    /// Returns whether it is known which of the receivers hear the group. Sends a check if not.
    pub(super) fn settle(&mut self, line: &Line<'_>, peers: &[SocketAddr]) -> bool {
        if self.members.is_some() {
            return true;
        }
        let is_whole = peers.iter().all(|peer| self.has_answered(*peer));
        match Asked::next(self.asked) {
            _ if is_whole => {}
            Next::Ask(asked) => {
                self.asked = Some(asked);
                self.ask(line);
                return false;
            }
            Next::Wait => return false,
            Next::GiveUp => {}
        }
        let (members, deaf) = peers.iter().partition(|peer| self.has_answered(**peer));
        self.members = Some(members);
        self.deaf = deaf;
        true
    }

    /// Checks a member without progress. Returns whether it still hears the group.
    pub(super) fn doubt(&mut self, line: &Line<'_>, peer: SocketAddr) -> Doubt {
        let asked = self.doubts.get(&peer).copied();
        if asked.is_some() && self.has_answered(peer) {
            self.doubts.remove(&peer);
            return Doubt::Hears;
        }
        match Asked::next(asked) {
            Next::Ask(next) => {
                if let (None, Some(hearers)) = (asked, &self.hearers) {
                    hearers.forget(peer);
                }
                self.doubts.insert(peer, next);
                self.ask(line);
                Doubt::Open
            }
            Next::Wait => Doubt::Open,
            Next::GiveUp => {
                self.doubts.remove(&peer);
                if let Some(members) = &mut self.members {
                    members.retain(|member| *member != peer);
                }
                self.deaf.push(peer);
                Doubt::Deaf
            }
        }
    }

    /// Returns the receivers that do not hear the group. Each receiver is returned once.
    pub(super) fn take_deaf(&mut self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.deaf)
    }
}

/// State of the check of a member without progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// A check was sent, and an answer may still arrive.
    Open,
    /// The member has answered.
    Hears,
    /// The member has not answered any check.
    Deaf,
}
