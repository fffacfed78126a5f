//! Driver that moves packets between a fabric and its hosts and advances the time.

use tailcut_fabric::{Delivery, Dropped, Fabric, LinkError, Observer, Output};
use tailcut_units::Time;

/// Environment of a driver: a fabric, the hosts at the fabric, and the clock.
pub trait World {
    /// Type of the packets' payload.
    type Body: Clone;
    /// Type of the observer of the fabric.
    type Watch: Observer<Self::Body>;

    /// Returns the fabric that the driver moves.
    fn fabric(&mut self) -> &mut Fabric<Self::Body, Self::Watch>;

    /// Returns the present time. Successive results never decrease.
    fn now(&mut self) -> Time;

    /// Waits until a time, or until a host sends a packet. May return early.
    fn wait(&mut self, until: Time);

    /// Applies the link failures and repairs that are due. Returns whether at least one was due.
    ///
    /// # Errors
    /// A link does not exist, or the link cannot change in this way.
    fn change_links(&mut self, now: Time) -> Result<bool, LinkError>;

    /// Executes one action of the hosts that is due, such as sending a packet. Returns whether an action was due.
    fn act(&mut self, now: Time) -> bool;

    /// Delivers a packet to its destination host.
    fn deliver(&mut self, now: Time, delivery: Delivery<Self::Body>);

    /// Handles a packet that the fabric has dropped.
    fn dropped(&mut self, dropped: Dropped<Self::Body>);

    /// Returns the earliest known time at which a link changes or a host acts.
    /// Actions that a packet triggers are not included.
    fn next(&self) -> Time;

    /// Returns the time of the next action of a host's NIC, such as sending a packet when its link becomes free.
    /// Returns [`Time::MAX`] if the NIC has no action.
    /// The driver executes a departure at exactly the returned time, and the fabric does not advance beyond it before.
    fn next_departure(&self) -> Time {
        Time::MAX
    }

    /// Executes the NIC action that is due first.
    /// `now` is the time at which the action is due, even if the clock shows a later time.
    fn depart(&mut self, _now: Time) {}

    /// Returns the time at which the run ends; [`Time::MAX`] if the end is not known yet.
    fn end(&self) -> Time;
}

/// Moves packets until the run ends. Returns the time at which it ends.
///
/// # Errors
/// A link change is not possible.
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

/// Executes one action that is due, and returns whether an action was due.
/// If several actions are due at the same instant, packets arrive first.
/// After the packets, NICs send packets, links change, and hosts act, in this order.
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
