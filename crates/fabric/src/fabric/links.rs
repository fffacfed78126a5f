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
    /// Returns the current state of a link, or `None` if the link does not exist.
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

    /// Returns the sum of the current rates of a host's uplinks, or `None` if the host does not exist.
    /// The rate of a link that is down is included.
    pub fn host_rate(&self, host: HostId) -> Option<Rate> {
        let uplinks = self.uplinks.get(host.0 as usize)?.all();
        Rate::from_bps(uplinks.map(|port| self.network.rate(port).as_bps()).sum())
    }

    /// Sets the state of a link from time `now`.
    /// Before the caller sets the state, [`advance`](Fabric::advance) must have reached `now`.
    ///
    /// A packet is lost if its link is down at the packet's arrival time.
    /// If a link fails while packets are on it, only packets that arrive after the repair survive.
    /// Random loss is also decided at the arrival time.
    /// Switches continue to send packets into a failed link until routing is updated ([`Fabric::route_around`]).
    ///
    /// # Errors
    /// The link does not exist, or the rate and delay of its port are fixed.
    pub fn set_link(&mut self, now: Time, link: PortId, state: LinkState) -> Result<(), LinkError> {
        let now = self.now.max(now);
        let before = self.link(link).ok_or(LinkError::Unknown(link))?;
        let number = link.0;
        let port = &self.network.ports[number as usize];
        let class = self.network.class(port);
        if (before.rate, before.delay) != (state.rate, state.delay) {
            // A port with one event per packet has already computed the arrival times of its packets.
            // A new rate or delay would make the times wrong.
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

    /// Changes the far end of a link: the link fails or is repaired, or its loss rate changes.
    fn change_end(&mut self, number: u32, state: LinkState) {
        // While a link is down, `far_ends` of the network contains `NOWHERE`, and the real end is stored here.
        let was_down = self.links.far_ends.remove(&number);
        let far_end = was_down.unwrap_or_else(|| self.network.far_end(number));
        // The entry is kept when the loss ends, so that the count of losses and the random stream can continue.
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
        // Packets with the shorter delay must not overtake packets that are still on the link.
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

    /// Ends the special treatment of a link whose delay became shorter, when all earlier packets have arrived.
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

    /// Updates routing. After this call, switches and hosts only use links for which `is_up` returns `true`.
    /// Packets take shortest paths over the links that are up.
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
