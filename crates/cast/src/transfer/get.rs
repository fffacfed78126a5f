//! Download of data from several replicas. The root identifies the data.

use super::channel::Channel;
use super::error::Error;
use super::fetch::{Fetch, State, Taken};
use super::holder::{Holder, Unheard};
use super::message::{Code, Message};
use super::progress::Event;
use crate::driver::{Endpoint, new_session};
use crate::files::{Hash, Sink};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Downloads slabs from several replicas in parallel. Each slab comes from one replica.
/// If a replica becomes slow, stops answering or leaves, the transfer takes longer by about the time of one slab.
///
/// # Errors
/// No replica is left, the sink has failed, the root does not match, or the user has set `stop`.
pub fn get(
    endpoint: &Endpoint,
    root: Hash,
    replicas: &[SocketAddr],
    sink: &mut dyn Sink,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Event),
) -> Result<Taken, Error> {
    let mine = new_session().map_err(Error::System)?;
    let mut channel = Channel::new(endpoint, stop);
    for &replica in replicas {
        channel.greet(replica, &Message::Get(mine, root));
    }
    let mut unheard: Vec<Unheard> = replicas.iter().copied().map(Unheard::now).collect();
    let (first, gone) = first(&mut channel, (mine, root), &mut unheard, notify)?;
    for (peer, error) in gone {
        notify(Event::left(peer, &error));
    }
    let layout = first.offer;
    let is_known = |address: &SocketAddr| replicas.contains(address);
    let mut state = State::new(mine, vec![first], Some(root), unheard);
    let mut fetch = Fetch {
        channel: &mut channel,
        sink,
        notify,
        state: &mut state,
    };
    fetch.run(&mut |channel, holders, post| {
        let from = post.from.to;
        if post.to != mine || !is_known(&from) {
            channel.deny(&post);
            return None;
        }
        match post.message {
            // The offer of a replica may arrive twice, but the replica must be added only once.
            Message::Offer(_) if holders.iter().any(|one| one.address() == from) => None,
            Message::Offer(offer) => {
                match layout.agrees(&offer) {
                    false => {
                        // The replica will not be used. This message ends its session.
                        channel.send(from, offer.from, &Message::Done);
                        let why = format!("{from}: not used: it splits the data into other slabs");
                        let (peer, code) = (from, Code::Refused);
                        Some(Event::Left { peer, code, why })
                    }
                    true => {
                        holders.push(Holder::new(from.into(), post.process, offer));
                        Some(Event::Joined(from))
                    }
                }
            }
            Message::Fail(code, why) => {
                let peer = from;
                let error = Error::Peer { peer, code, why };
                Some(Event::left(from, &error))
            }
            _ => None,
        }
    })
}

/// Waits for the first replica that offers the data.
/// Returns this replica, and the replicas that failed before it answered.
fn first(
    channel: &mut Channel<'_>,
    (mine, root): (u64, Hash),
    unheard: &mut Vec<Unheard>,
    notify: &mut dyn FnMut(Event),
) -> Result<(Holder, Vec<(SocketAddr, Error)>), Error> {
    let mut gone: Vec<(SocketAddr, Error)> = Vec::new();
    loop {
        channel.check()?;
        let mut moved = false;
        while let Some(post) = channel.next()? {
            moved = true;
            let from = post.from.to;
            if post.to != mine || !unheard.iter().any(|one| one.address == from) {
                channel.deny(&post);
                continue;
            }
            match post.message {
                Message::Offer(offer) => {
                    notify(Event::Joined(from));
                    unheard.retain(|one| one.address != from);
                    return Ok((Holder::new(from.into(), post.process, offer), gone));
                }
                Message::Fail(code, why) => {
                    let peer = from;
                    unheard.retain(|one| one.address != from);
                    gone.push((from, Error::Peer { peer, code, why }));
                }
                _ => {}
            }
        }
        let has_key = channel.endpoint().has_key();
        for (peer, failure) in channel.lost() {
            let error = Error::Unreachable {
                peer,
                failure,
                has_key,
            };
            // Several messages to one replica may fail.
            if unheard.iter().any(|one| one.address == peer) {
                unheard.retain(|one| one.address != peer);
                gone.push((peer, error));
            }
        }
        for replica in unheard.iter_mut() {
            replica.ask_again(channel, mine, root);
        }
        if unheard.is_empty() {
            let said = gone.into_iter().map(|(_, error)| error);
            return Err(Error::NoReplica(said.collect()));
        }
        if !moved {
            channel.sleep();
        }
    }
}
