//! Changes of links during a run.

use super::Fabric;
use crate::links::{LinkError, LinkState, LossRate, Lossy};
use crate::network::{LOSSY, NOWHERE};
use crate::observer::Observer;
use crate::port::{PortClass, PortId};
use crate::topology::Routes;
use alloc::vec::Vec;
use tailcut_units::{Duration, HostId, Rate, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// Returns the current state of a link; `None` if the link does not exist.
    pub fn link(&self, link: PortId) -> Option<LinkState> {
        let port = self.network.ports.get(link.0 as usize)?;
        let class = self.network.class(port);
        Some(LinkState {
            is_up: self.network.far_ends[link.0 as usize] != NOWHERE,
            rate: class.rate,
            delay: Duration::from_ps(class.delay_ps),
            loss: self.loss(link),
        })
    }

    fn loss(&self, link: PortId) -> LossRate {
        let lossy = self.network.lossy.get(&link.0);
        lossy.map_or(LossRate::NONE, |lossy| lossy.rate)
    }

    /// Returns the number of packets that a link has lost at random so far.
    pub fn link_losses(&self, link: PortId) -> u64 {
        self.network
            .lossy
            .get(&link.0)
            .map_or(0, |lossy| lossy.lost)
    }

    /// Returns the sum of the present rates of a host's uplinks; `None` if the host does not exist. A link that is down
    /// keeps its rate.
    pub fn host_rate(&self, host: HostId) -> Option<Rate> {
        let uplinks = self.uplinks.get(host.0 as usize)?.all();
        Rate::from_bps(uplinks.map(|port| self.network.rate(port).as_bps()).sum())
    }

    /// Sets the state of a link from `now` on. Call it when [`advance`](Fabric::advance) has reached `now`.
    ///
    /// A link loses a packet if it is down at the packet's arrival time. So packets on a link that goes down
    /// are lost, except those that arrive after it is up again. The random loss of a link works in the same
    /// way. Switches continue to send into the link until routing is updated ([`Fabric::route_around`]).
    ///
    /// # Errors
    /// The link does not exist, or the rate and delay of its port cannot change.
    pub fn set_link(&mut self, now: Time, link: PortId, state: LinkState) -> Result<(), LinkError> {
        let now = self.now.max(now);
        let before = self.link(link).ok_or(LinkError::Unknown(link))?;
        let number = link.0;
        let port = &self.network.ports[number as usize];
        let class = self.network.class(port);
        if (before.rate, before.delay) != (state.rate, state.delay) {
            // Packets at this port already have arrival times, which a new rate or delay would make wrong.
            if class.drop_tail.is_some() {
                return Err(LinkError::Settled(link));
            }
            self.change_class(now, number, state);
        }
        if (before.is_up, before.loss) != (state.is_up, state.loss) {
            self.change_end(number, state);
        }
        Ok(())
    }

    /// Applies a change of the far end: the link goes down or up, or its loss rate changes.
    fn change_end(&mut self, number: u32, state: LinkState) {
        // While a link is down, its real end is stored here, because the network has `NOWHERE` in its place.
        let was_down = self.links.far_ends.remove(&number);
        let far_end = was_down.unwrap_or_else(|| self.network.far_end(number));
        // The entry stays after the loss has ended, so that its count and its random stream continue.
        if let Some(lossy) = self.network.lossy.get_mut(&number) {
            lossy.rate = state.loss;
        } else if state.loss > LossRate::NONE {
            let lossy = Lossy::new(self.links.seed, number, far_end, state.loss);
            self.network.lossy.insert(number, lossy);
        }
        self.network.far_ends[number as usize] = match state.is_up {
            false => {
                self.links.far_ends.insert(number, far_end);
                NOWHERE
            }
            true if state.loss > LossRate::NONE => LOSSY,
            true => far_end,
        };
    }

    fn change_class(&mut self, now: Time, number: u32, state: LinkState) {
        let port = &self.network.ports[number as usize];
        let class = *self.network.class(port);
        let is_busy = port.busy_until_ps > now.as_ps();
        if is_busy && class.rate != state.rate {
            self.links.rate_changes(number, port, class.rate);
        }
        let delay_ps = state.delay.as_ps();
        let mut is_behind = class.is_behind;
        // Later packets must not overtake packets that are still on the link.
        if delay_ps < class.delay_ps {
            let last = &mut self.links.last_arrival_ps;
            let arrives = port.busy_until_ps.saturating_add(class.delay_ps);
            let entry = last.entry(number).or_default();
            *entry = (*entry).max(arrives);
            is_behind = true;
        }
        let before = class.drain;
        let class = PortClass {
            is_behind,
            ..class.changed(state.rate, state.delay)
        };
        if let Some(phantom) = self.network.phantoms.get_mut(number as usize) {
            phantom.drain_changes(now.as_ps(), before, class.drain);
        }
        let rate_changes = self.network.rate(number) != state.rate;
        let class = self.network.class_number(class);
        self.network.ports[number as usize].class = class;
        if rate_changes && let Some(chooser) = &mut self.chooser {
            chooser.rate_changes(number, state.rate);
        }
    }

    /// Marks a link whose delay became shorter as normal again: no earlier packet can be overtaken any more.
    #[cold]
    pub(super) fn caught_up(&mut self, number: u32) {
        let port = &self.network.ports[number as usize];
        let class = PortClass {
            is_behind: false,
            ..*self.network.class(port)
        };
        let class = self.network.class_number(class);
        self.network.ports[number as usize].class = class;
    }

    /// Updates routing: after this call, switches and hosts only use links for which `is_up` returns `true`,
    /// along shortest paths.
    pub fn route_around(&mut self, routes: &Routes, is_up: impl Fn(PortId) -> bool) {
        let hosts = self.uplinks.iter().flat_map(|uplinks| uplinks.all());
        let down: Vec<u32> = hosts.filter(|&port| !is_up(PortId(port))).collect();
        self.bonds.down = down;
        let forwarding = routes.avoiding(is_up);
        for (switch, forwarding) in self.network.switches.iter_mut().zip(forwarding) {
            switch.forwarding = forwarding;
        }
    }
}
