//! What moves packets and time between a fabric and the hosts around it.

use tailcut_fabric::{Delivery, Dropped, Fabric, LinkError, Observer, Output};
use tailcut_units::Time;

/// A fabric, the hosts around it, and their clock.
pub trait World {
    /// What packets carry.
    type Body: Clone;
    /// What looks on at the fabric.
    type Watch: Observer<Self::Body>;

    /// The network.
    fn fabric(&mut self) -> &mut Fabric<Self::Body, Self::Watch>;

    /// The time now. It never goes back.
    fn now(&mut self) -> Time;

    /// Waits until a time, or until a host has something for the network; may wake early.
    fn wait(&mut self, until: Time);

    /// Changes links that fail or come back by now; false where none does.
    ///
    /// # Errors
    /// A link that there is not, or that cannot change so.
    fn change_links(&mut self, now: Time) -> Result<bool, LinkError>;

    /// Does one thing that is due at the hosts, such as sending a packet; false where nothing is due.
    fn act(&mut self, now: Time) -> bool;

    /// A packet has reached its host.
    fn deliver(&mut self, now: Time, delivery: Delivery<Self::Body>);

    /// A packet will reach no host.
    fn dropped(&mut self, dropped: Dropped<Self::Body>);

    /// When links or hosts do something next by themselves, as far as is known.
    fn next(&self) -> Time;

    /// When a host's NIC next has something to do at an exact time, such as handing over a packet when its
    /// link is free; [`Time::MAX`]: never. The network goes no further before that is done.
    fn next_departure(&self) -> Time {
        Time::MAX
    }

    /// Does what is due at the NIC that is due first. `now` is that time, be the clock as late as it may.
    fn depart(&mut self, _now: Time) {}

    /// When the run is over, as far as is known.
    fn end(&self) -> Time;
}

/// Moves packets until the run is over, and gives the time.
///
/// # Errors
/// A link that fails and cannot.
pub fn drive(world: &mut impl World) -> Result<Time, LinkError> {
    let mut now = world.now();
    loop {
        while step(world, now.min(world.end()))? {
            now = world.now().max(now);
        }
        let end = world.end();
        if now >= end {
            return Ok(end);
        }
        let next = world.fabric().next_timeout().unwrap_or(Time::MAX);
        let next = next.min(world.next()).min(world.next_departure()).min(end);
        if next > now {
            world.wait(next);
        }
        now = world.now().max(now);
    }
}

/// Does one thing that is due, in the order of things at one instant: packets arrive, NICs hand packets over,
/// links change, hosts act. False when there is none.
fn step(world: &mut impl World, now: Time) -> Result<bool, LinkError> {
    let departure = world.next_departure();
    match world.fabric().advance(now.min(departure)) {
        Some(Output::Delivered(delivery)) => world.deliver(now, delivery),
        Some(Output::Dropped(dropped)) => world.dropped(dropped),
        None if departure <= now => world.depart(departure),
        None => return Ok(world.change_links(now)? || world.act(now)),
    }
    Ok(true)
}
