//! Addresses of other ends that change during a transfer.
//!
//! A message with the number of the transfer may come from a new address. Such a message can be an old one that
//! an attacker has copied. So data goes to the new address only after the end there has returned a random number.

use super::channel::{Channel, Post};
use super::message::Message;
use crate::driver::{Route, new_session};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Largest number of addresses that are being validated. Each costs one message.
const MOST: usize = 4;
/// Time for the answer of a new address. A message that is not confirmed fails earlier.
const PATIENCE: Duration = Duration::from_secs(12);

/// Address that is being validated.
#[derive(Clone, Copy, Debug)]
struct Challenged {
    address: SocketAddr,
    /// Session number of the end that has sent from this address.
    number: u64,
    /// Number that the end must return.
    token: u64,
    at: Instant,
}

/// Addresses that are being validated.
#[derive(Default, Debug)]
pub(super) struct Moves(Vec<Challenged>);

impl Moves {
    /// Handles the address of a message from a known end.
    /// `route` is the validated route to the end, and `number` is its session number.
    /// Returns whether the end has a new address. Then `route` leads to the new address.
    pub(super) fn on_post(
        &mut self,
        channel: &mut Channel<'_>,
        post: &Post,
        (route, number): (&mut Route, u64),
    ) -> bool {
        let from = post.from.to;
        if from == route.to {
            if let Message::Challenge(token) = post.message {
                channel.send(*route, number, &Message::Response(token));
            }
            return false;
        }
        self.0.retain(|one| one.at.elapsed() < PATIENCE);
        let mut known = self.0.iter();
        let known = known.position(|one| (one.address, one.number) == (from, number));
        match (known, &post.message) {
            (Some(at), Message::Response(token))
                if self.0.get(at).is_some_and(|one| one.token == *token) =>
            {
                self.0.swap_remove(at);
                let old = std::mem::replace(route, post.from);
                channel.redirect(old.to, *route);
                true
            }
            (None, _) if self.0.len() < MOST && !channel.is_crowded() => {
                // Without a random number, the next message starts the validation.
                if let Ok(token) = new_session() {
                    channel.send(post.from, number, &Message::Challenge(token));
                    self.0.push(Challenged {
                        address: from,
                        number,
                        token,
                        at: Instant::now(),
                    });
                }
                false
            }
            _ => false,
        }
    }
}
