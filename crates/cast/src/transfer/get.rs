//! Download of an object by its root, from several replicas.

use super::error::Error;
use super::fetch::{Fetch, Post, Taken};
use super::holder::Holder;
use super::line::Line;
use super::message::Message;
use super::progress::Event;
use crate::driver::{Endpoint, new_session};
use crate::files::{Hash, Sink};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Downloads slabs from several replicas in parallel, each slab from one of them. A replica that is
/// slow, stops answering or leaves delays the transfer by about the time of one slab.
///
/// # Errors
/// No replica is left, the sink fails, the root does not match, or the user has set `stop`.
pub fn get(
    endpoint: &Endpoint,
    root: Hash,
    replicas: &[SocketAddr],
    sink: &mut dyn Sink,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Result<Taken, Error> {
    let mine = new_session().map_err(Error::System)?;
    let mut line = Line::new(endpoint, stop);
    for &replica in replicas {
        line.say(replica, 0, &Message::Get(mine, root));
    }
    let (first, gone) = first(&mut line, mine, replicas, tell)?;
    let has_answered =
        |peer: &SocketAddr| *peer == first.address || gone.iter().any(|(one, _)| one == peer);
    let unheard = replicas.iter().copied().filter(|one| !has_answered(one));
    let unheard = unheard.collect();
    for (peer, error) in gone {
        tell(Event::Left(peer, error.to_string()));
    }
    let layout = first.offer;
    let is_known = |address: &SocketAddr| replicas.contains(address);
    let mut late = Vec::new();
    let mut fetch = Fetch::new(&mut line, sink, tell, vec![first], Some(root), unheard);
    fetch.run(mine, &mut |line, holders, post| {
        let Post { from, to, message } = post;
        if to != mine || !is_known(&from) || late.contains(&from) {
            return None;
        }
        match message {
            Message::Offer(offer) => {
                late.push(from);
                match layout.agrees(&offer) {
                    false => {
                        line.say(from, offer.from, &Message::Done);
                        let why = format!("{from}: not used: it splits the data into other slabs");
                        Some(Event::Left(from, why))
                    }
                    true => {
                        holders.push(Holder::new(from, offer));
                        Some(Event::Joined(from))
                    }
                }
            }
            Message::Fail(code, why) => {
                let peer = from;
                let error = Error::Peer { peer, code, why };
                Some(Event::Left(from, error.to_string()))
            }
            _ => None,
        }
    })
}

/// Waits for the first replica that offers the object. Returns the replicas that failed before,
/// too.
fn first(
    line: &mut Line<'_>,
    mine: u64,
    replicas: &[SocketAddr],
    tell: &mut dyn FnMut(Event),
) -> Result<(Holder, Vec<(SocketAddr, Error)>), Error> {
    let mut gone: Vec<(SocketAddr, Error)> = Vec::new();
    loop {
        line.check()?;
        let mut moved = false;
        while let Some((from, to, message)) = line.next()? {
            moved = true;
            if to != mine || !replicas.contains(&from) {
                continue;
            }
            match message {
                Message::Offer(offer) => {
                    tell(Event::Joined(from));
                    return Ok((Holder::new(from, offer), gone));
                }
                Message::Fail(code, why) => {
                    let peer = from;
                    gone.push((from, Error::Peer { peer, code, why }));
                }
                _ => {}
            }
        }
        let has_key = line.endpoint().has_key();
        for (peer, failure) in line.lost() {
            let error = Error::Unreachable {
                peer,
                failure,
                has_key,
            };
            gone.push((peer, error));
        }
        let is_gone = |replica: &SocketAddr| gone.iter().any(|(peer, _)| peer == replica);
        if replicas.iter().all(is_gone) {
            let said = gone.into_iter().map(|(_, error)| error);
            return Err(Error::NoReplica(said.collect()));
        }
        if !moved {
            line.sleep();
        }
    }
}
