//! Load balancers by name: the part of a design's name after `@`.

use super::config::LoadBalancerConfig;
use super::own::{BuildBalancer, LoadBalancer};
use crate::Bonding;
use alloc::sync::Arc;
use tailcut_units::parameter::{Parameter, Values};

/// Unit of traffic that is kept on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// A flow.
    Flow,
    /// A flowlet: packets of a flow without a gap between them.
    Flowlet,
    /// A packet. Switches choose.
    Packet,
    /// A packet. The sender chooses.
    Sender,
}

/// Function that configures the switches of a run from the values of the parameters.
pub type BuildConfig = Arc<dyn Fn(&Values) -> LoadBalancerConfig + Send + Sync>;

/// A load balancer that a design's name can have after `@`.
#[derive(Clone)]
pub struct NamedBalancer {
    /// Name: a lowercase letter, then lowercase letters, digits and `-`.
    pub name: &'static str,
    /// One line for `tailcut list designs`.
    pub summary: &'static str,
    /// Paper; empty if there is none.
    pub source: &'static str,
    /// Unit of traffic that is kept on one path.
    pub choice: Choice,
    /// Whether the path is chosen during a flow's handshake, so that designs without a handshake cannot use
    /// it.
    pub needs_handshake: bool,
    /// Whether each host must have exactly one link, because switches identify a host by one switch.
    pub single_homed: bool,
    /// Keys of the section of its name.
    pub parameters: &'static [Parameter],
    /// Configuration of the switches.
    pub build: BuildConfig,
}

impl NamedBalancer {
    /// Returns a load balancer without parameters that suits all designs and networks.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        choice: Choice,
        build: impl Fn(&Values) -> LoadBalancerConfig + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            summary,
            source: "",
            choice,
            needs_handshake: false,
            single_homed: false,
            parameters: &[],
            build: Arc::new(build),
        }
    }

    /// Returns a load balancer that `build` makes for each switch, from the switch's number.
    pub fn custom<L: LoadBalancer + 'static>(
        name: &'static str,
        summary: &'static str,
        choice: Choice,
        build: impl Fn(u32) -> L + Send + Sync + 'static,
    ) -> Self {
        let build = BuildBalancer::new(build);
        Self::new(name, summary, choice, move |_| {
            LoadBalancerConfig::Custom(build.clone())
        })
    }

    /// Returns the use of several links by a host: packet by packet if packets of a flow can overtake each
    /// other anyway.
    pub const fn bonding(&self) -> Bonding {
        match self.choice {
            Choice::Packet | Choice::Sender => Bonding::FreeFirst,
            Choice::Flow | Choice::Flowlet => Bonding::ByFlow,
        }
    }
}
