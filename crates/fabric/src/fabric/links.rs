//! Links that change while the network runs.

use super::Fabric;
use crate::links::{LinkError, LinkState, LossRate, Lossy};
use crate::network::{LOSSY, NOWHERE};
use crate::observer::Observer;
use crate::port::{PortClass, PortId};
use crate::topology::Routes;
use alloc::vec::Vec;
use tailcut_units::{Duration, Time};

impl<B: Clone, O: Observer<B>> Fabric<B, O> {
    /// What a link does now; `None` for one that there is not.
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

    /// Packets that a link has lost at random so far.
    pub fn link_losses(&self, link: PortId) -> u64 {
        self.network
            .lossy
            .get(&link.0)
            .map_or(0, |lossy| lossy.lost)
    }

    /// Makes a link what it is from `now` on. Call it when [`advance`](Fabric::advance) has come to `now`.
    ///
    /// Packets that are on the link when it goes down are lost, those that have been sent by then and would
    /// arrive after it is up again are not. So it is with the share of packets that it loses. Switches go on sending into it until routing is told
    /// ([`Fabric::route_around`]).
    ///
    /// # Errors
    /// No such link, or a port whose rate and delay cannot change.
    pub fn set_link(&mut self, now: Time, link: PortId, state: LinkState) -> Result<(), LinkError> {
        let now = self.now.max(now);
        let before = self.link(link).ok_or(LinkError::Unknown(link))?;
        let number = link.0;
        let port = &self.network.ports[number as usize];
        let class = self.network.class(port);
        if (before.rate, before.delay) != (state.rate, state.delay) {
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

    /// A link goes down or comes up, or loses another share of its packets.
    fn change_end(&mut self, number: u32, state: LinkState) {
        let was_down = self.links.far_ends.remove(&number);
        let far_end = was_down.unwrap_or_else(|| self.network.far_end(number));
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
        if delay_ps < class.delay_ps {
            let last = &mut self.links.last_arrival_ps;
            let arrives = port.busy_until_ps.saturating_add(class.delay_ps);
            let entry = last.entry(number).or_default();
            *entry = (*entry).max(arrives);
            is_behind = true;
        }
        let class = PortClass {
            ps_per_byte: state.rate.ps_per_byte().unwrap_or(0),
            rate: state.rate,
            delay_ps,
            is_behind,
            ..class
        };
        let rate_changes = self.network.rate(number) != state.rate;
        let class = self.network.class_number(class);
        self.network.ports[number as usize].class = class;
        if rate_changes && let Some(chooser) = &mut self.chooser {
            chooser.rate_changes(number, state.rate);
        }
    }

    /// The link of a port whose delay became shorter has caught up: its packets need no second look.
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

    /// Routing has noticed which links are down: from now on switches and hosts use those that `is_up`
    /// says, along shortest paths.
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
