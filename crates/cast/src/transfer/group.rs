//! Which receivers hear a multicast group: they are asked before the first slab, and again where one of
//! them gets nothing.

use super::line::Line;
use crate::driver::Hearers;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How often a group is asked, and how long an answer may take.
const ASKS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// How often somebody was asked, and when the last time.
#[derive(Clone, Copy, Debug)]
struct Asked {
    count: u32,
    at: Instant,
}

/// What is done next about somebody who has not answered.
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

/// A group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) address: SocketAddr,
    hearers: Option<Hearers>,
    asked: Option<Asked>,
    /// Those who hear it, once that is known.
    members: Option<Vec<SocketAddr>>,
    /// Members that get nothing, and are asked again.
    doubts: HashMap<SocketAddr, Asked>,
    /// Receivers that do not hear it, and of whom nobody has been told yet.
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

    /// Whether a receiver hears the group.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.members.as_ref().is_some_and(|all| all.contains(&peer))
    }

    /// Says whether it is known which of the receivers hear the group, and asks if not.
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

    /// A member gets nothing. Says whether it turns out not to hear the group any more.
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

    /// Receivers that do not hear the group, each once.
    pub(super) fn take_deaf(&mut self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.deaf)
    }
}

/// What is known of a member that gets nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// It was asked, and may answer.
    Open,
    /// It has answered.
    Hears,
    /// It has not.
    Deaf,
}
