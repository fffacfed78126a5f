//! Members of a multicast group. Before the first slab, checks to the group show which receivers are
//! members: they receive from the group and answer. Later, a member without progress gets more checks.

use super::channel::Channel;
use crate::driver::GroupListeners;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Largest number of checks to a receiver that does not answer.
const ASKS: u32 = 4;
/// Time to wait for an answer to each check. With fewer or faster checks, the loss of a few packets would
/// exclude a member.
const PAUSE: Duration = Duration::from_millis(500);

/// Number of checks that were sent, and time of the last one.
#[derive(Clone, Copy, Debug)]
struct ChecksSent {
    count: u32,
    at: Instant,
}

/// Next step for a receiver that has not answered.
enum Next {
    Send(ChecksSent),
    Wait,
    GiveUp,
}

impl ChecksSent {
    fn next(sent: Option<Self>) -> Next {
        let at = Instant::now();
        match sent {
            None => Next::Send(Self { count: 1, at }),
            Some(sent) if sent.at.elapsed() < PAUSE => Next::Wait,
            Some(Self { count, .. }) if count < ASKS => Next::Send(Self {
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
    listeners: Option<GroupListeners>,
    sent: Option<ChecksSent>,
    /// Receivers that receive from the group. `None`: the checks have not ended yet.
    members: Option<Vec<SocketAddr>>,
    /// Checks that were sent because of members without progress.
    rechecks: HashMap<SocketAddr, ChecksSent>,
    /// Receivers that do not receive from the group, and that [`Self::take_deaf`] has not returned yet.
    deaf: Vec<SocketAddr>,
}

impl Group {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            listeners: None,
            sent: None,
            members: None,
            rechecks: HashMap::new(),
            deaf: Vec::new(),
        }
    }

    fn send_check(&mut self, channel: &Channel<'_>) {
        self.listeners = Some(channel.endpoint().check_group(self.address));
    }

    fn has_answered(&self, peer: SocketAddr) -> bool {
        self.listeners.as_ref().is_some_and(|all| all.has(peer))
    }

    /// Returns whether a receiver receives from the group.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.members.as_ref().is_some_and(|all| all.contains(&peer))
    }

    /// Returns whether it is known which receivers are members of the group. If not, sends a check when one
    /// is due.
    pub(super) fn settle(&mut self, channel: &Channel<'_>, peers: &[SocketAddr]) -> bool {
        if self.members.is_some() {
            return true;
        }
        let is_whole = peers.iter().all(|peer| self.has_answered(*peer));
        match ChecksSent::next(self.sent) {
            _ if is_whole => {}
            Next::Send(sent) => {
                self.sent = Some(sent);
                self.send_check(channel);
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

    /// Checks whether a member without progress still receives from the group.
    pub(super) fn recheck(&mut self, channel: &Channel<'_>, peer: SocketAddr) -> Recheck {
        let sent = self.rechecks.get(&peer).copied();
        if sent.is_some() && self.has_answered(peer) {
            self.rechecks.remove(&peer);
            return Recheck::Hears;
        }
        match ChecksSent::next(sent) {
            Next::Send(next) => {
                // The answer to an earlier check must not count.
                if let (None, Some(listeners)) = (sent, &self.listeners) {
                    listeners.forget(peer);
                }
                self.rechecks.insert(peer, next);
                self.send_check(channel);
                Recheck::Open
            }
            Next::Wait => Recheck::Open,
            Next::GiveUp => {
                self.rechecks.remove(&peer);
                if let Some(members) = &mut self.members {
                    members.retain(|member| *member != peer);
                }
                self.deaf.push(peer);
                Recheck::Deaf
            }
        }
    }

    /// Returns the receivers that do not receive from the group. Each receiver is returned once.
    pub(super) fn take_deaf(&mut self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.deaf)
    }
}

/// State of the check of a member without progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recheck {
    /// A check was sent, and an answer may still arrive.
    Open,
    /// The member has answered.
    Hears,
    /// The member has not answered any check.
    Deaf,
}
