//! Members of a multicast group. Before the first slab, checks are sent to the group.
//! A receiver that answers receives from the group, so it is a member.
//! Later, a member without progress gets more checks.

use super::channel::Channel;
use crate::driver::GroupListeners;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Largest number of checks to a receiver that has not answered.
const ASKS: u32 = 4;
/// Time to wait for the answer to a check.
/// With a shorter time or fewer checks, a few lost packets would exclude a member.
const PAUSE: Duration = Duration::from_millis(500);

/// Number of checks that were sent, and the time of the last one.
#[derive(Clone, Copy, Debug)]
struct ChecksSent {
    count: u32,
    at: Instant,
}

/// Next step for a receiver that has not answered a check.
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

/// Multicast group of a transfer, and its members.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) address: SocketAddr,
    listeners: Option<GroupListeners>,
    sent: Option<ChecksSent>,
    /// Receivers that receive from the group. `None` until the checks have ended.
    members: Option<Vec<SocketAddr>>,
    /// Checks to members without progress, by the address of the member.
    rechecks: HashMap<SocketAddr, ChecksSent>,
    /// Receivers that do not receive from the group. [`Self::take_deaf`] has not returned them yet.
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

    /// Returns whether a receiver is a member: it receives from the group.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.members.as_ref().is_some_and(|all| all.contains(&peer))
    }

    /// Returns whether the members of the group are known. If they are not known, sends the next check when it is due.
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

    /// Tests whether a member without progress still receives from the group.
    pub(super) fn recheck(&mut self, channel: &Channel<'_>, peer: SocketAddr) -> Recheck {
        let sent = self.rechecks.get(&peer).copied();
        if sent.is_some() && self.has_answered(peer) {
            self.rechecks.remove(&peer);
            return Recheck::Hears;
        }
        match ChecksSent::next(sent) {
            Next::Send(next) => {
                // An answer to an earlier check must not count as an answer to this check.
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

    /// Returns the receivers that do not receive from the group. Each receiver is returned only once.
    pub(super) fn take_deaf(&mut self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.deaf)
    }
}

/// Result of the checks to a member without progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Recheck {
    /// A check was sent. An answer may still arrive.
    Open,
    /// The member has answered, so it receives from the group.
    Hears,
    /// The member has not answered any of the checks.
    Deaf,
}
