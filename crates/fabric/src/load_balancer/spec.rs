//! Load balancers by name. The name is the part of a design's name after `@`.

use super::config::LoadBalancerConfig;
use super::own::{BuildBalancer, LoadBalancer};
use crate::Bonding;
use alloc::sync::Arc;
use tailcut_units::parameter::{Parameter, Values};

/// Unit of traffic that stays on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// All packets of a flow use one path.
    Flow,
    /// Packets of a flow without a gap between them (a flowlet) use one path.
    Flowlet,
    /// Each packet has its own path, which the switches choose.
    Packet,
    /// Each packet has its own path, which the sender chooses.
    Sender,
}

/// Function that configures the switches of a run from the values of the parameters.
pub type BuildConfig = Arc<dyn Fn(&Values) -> LoadBalancerConfig + Send + Sync>;

/// A load balancer that a design's name can have after `@`.
#[derive(Clone)]
pub struct NamedBalancer {
    /// Name: a lowercase letter, then lowercase letters, digits and `-`.
    pub name: &'static str,
    /// Description for `tailcut list designs`, in one line.
    pub summary: &'static str,
    /// Paper that describes the load balancer. Empty if there is no paper.
    pub source: &'static str,
    /// Unit of traffic that stays on one path.
    pub choice: Choice,
    /// Whether the path is chosen during the handshake of a flow.
    /// If the path is chosen during the handshake, designs without a handshake cannot use this load balancer.
    pub needs_handshake: bool,
    /// Whether each host must have exactly one link. The switches identify a host by the switch of its only link.
    pub single_homed: bool,
    /// Keys that the load balancer adds to scenarios, in the section with its name.
    pub parameters: &'static [Parameter],
    /// Function that returns the configuration of the switches.
    pub build: BuildConfig,
}

impl NamedBalancer {
    /// Returns a load balancer that has no parameters and works with all designs and networks.
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

    /// Returns a custom load balancer. `build` builds one for each switch, from the number of the switch.
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

    /// Returns the rule by which a host with several links chooses a link.
    /// If packets of a flow can overtake each other anyway, the host chooses a link for each packet.
    pub const fn bonding(&self) -> Bonding {
        match self.choice {
            Choice::Packet | Choice::Sender => Bonding::FreeFirst,
            Choice::Flow | Choice::Flowlet => Bonding::ByFlow,
        }
    }
}
