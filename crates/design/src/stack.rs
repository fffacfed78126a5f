//! Names of stacks: `[replication+]design[@load balancer]`.

use crate::design::Design;
use crate::register::Registered;
use crate::replication::{REPLICATIONS, Replication, replication};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use tailcut_fabric::load_balancer::NamedBalancer;

/// Combination of a replication, a design and a load balancer. Examples are `tcp`, `repflow+dctcp` and `dctcp@spray`.
///
/// Missing parts have defaults: no replication, TCP NewReno, and the design's default load balancer.
/// The name `repsyn` is therefore RepSYN over TCP. `ndp+` is another name of `ndp-plus`.
#[derive(Clone, Copy)]
pub struct Stack {
    /// Replication of mice or requests.
    pub replication: Replication,
    /// Design: the transport of the hosts, and the queues of the switch ports.
    pub design: &'static Design,
    /// Load balancer, by which switches choose among equal-cost paths.
    pub balancer: &'static NamedBalancer,
}

/// Error for a name that is not a stack.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "design '{name}': found '{part}'; allowed here: {}{}",
    allowed.join(", "),
    why.map_or_else(String::new, |why| format!(" ({why})"))
)]
pub struct UnknownDesign {
    /// Complete name of the stack.
    pub name: String,
    /// Unknown part of the name.
    pub part: String,
    /// Names that are allowed in place of the unknown part.
    pub allowed: Vec<&'static str>,
    /// Reason why a known part is not allowed in this place.
    pub why: Option<&'static str>,
}

impl Stack {
    fn names(&self) -> (Replication, &'static str, &'static str) {
        (self.replication, self.design.name, self.balancer.name)
    }
}

/// Compares the names of the parts. Names are unique, so equal names mean equal parts.
impl PartialEq for Stack {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names()
    }
}

impl Eq for Stack {}

impl Hash for Stack {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stack({self})")
    }
}

/// Returns the names of the designs that a replication can use.
fn replicable(replication: Replication) -> Vec<&'static str> {
    let designs = Design::all().into_iter();
    let designs = designs.filter(|design| design.carries(replication));
    designs.map(|design| design.name).collect()
}

fn replications() -> impl Iterator<Item = &'static str> {
    REPLICATIONS.iter().map(|one| one.name)
}

impl FromStr for Stack {
    type Err = UnknownDesign;

    fn from_str(name: &str) -> Result<Self, UnknownDesign> {
        let unknown = |part: &str, allowed: Vec<&'static str>| UnknownDesign {
            name: name.to_owned(),
            part: part.to_owned(),
            allowed,
            why: None,
        };
        let (stack, switches) = match name.split_once('@') {
            None => (name, None),
            Some((stack, switches)) => (stack, Some(switches)),
        };
        // `ndp+` is replaced before the split at `+`.
        // If `ndp+` stayed, the split would find a replication `ndp` and an empty design.
        let stack = if stack == "ndp+" { "ndp-plus" } else { stack };
        let (replication, carrier) = match stack.split_once('+') {
            Some((layer, carrier)) => {
                let layer =
                    replication(layer).ok_or_else(|| unknown(layer, replications().collect()))?;
                (layer, carrier)
            }
            None => match replication(stack) {
                Some(replication) => (replication, replication.usual_design()),
                None => (Replication::None, stack),
            },
        };
        let design = Design::named(carrier)
            .filter(|design| design.carries(replication))
            .ok_or_else(|| {
                let layers = replications().filter(|_| !stack.contains('+'));
                unknown(carrier, layers.chain(replicable(replication)).collect())
            })?;
        let switches = switches.unwrap_or(design.balancer);
        let balancer = NamedBalancer::named(switches);
        let why = balancer.and_then(|balancer| design.obstacle(balancer));
        let balancer = balancer.filter(|_| why.is_none()).ok_or_else(|| {
            let balancers = NamedBalancer::all().into_iter();
            let fit = balancers.filter(|balancer| design.obstacle(balancer).is_none());
            UnknownDesign {
                why,
                ..unknown(switches, fit.map(|balancer| balancer.name).collect())
            }
        })?;
        Ok(Self {
            replication,
            design,
            balancer,
        })
    }
}

impl fmt::Display for Stack {
    /// Writes the shortest name of this stack.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (design, balancer) = (self.design.name, self.balancer.name);
        let layer = REPLICATIONS
            .iter()
            .find(|one| one.value == self.replication);
        match layer {
            None => f.write_str(design)?,
            Some(layer) if design == self.replication.usual_design() => f.write_str(layer.name)?,
            Some(layer) => write!(f, "{}+{design}", layer.name)?,
        }
        match balancer == self.design.balancer {
            true => Ok(()),
            false => write!(f, "@{balancer}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_parts_out_is_completed_and_printed_short_again() {
        for (given, printed) in [
            ("tcp", "tcp"),
            ("repsyn", "repsyn"),
            ("repsyn+tcp", "repsyn"),
            ("repflow+dctcp", "repflow+dctcp"),
            ("dctcp@spray", "dctcp@spray"),
            ("repflow@ecmp", "repflow"),
            ("cubic@ecmp", "cubic"),
            ("pfabric@spray", "pfabric@spray"),
            ("repflow+pias", "repflow+pias"),
            ("ndp", "ndp"),
            ("ndp@permute", "ndp"),
            ("ndp@spray", "ndp@spray"),
            ("ndp+", "ndp-plus"),
            ("scdp", "scdp"),
            ("stations", "stations"),
            ("rans", "rans"),
            ("rans+stations", "rans"),
            ("scdp@spray", "scdp"),
            ("scdp@ecmp", "scdp@ecmp"),
            ("ndp+@ecmp", "ndp-plus@ecmp"),
            ("repflow+dctcp@letflow", "repflow+dctcp@letflow"),
            ("hull@expeditus-deck", "hull@expeditus-deck"),
        ] {
            let design: Stack = given.parse().expect(given);
            assert_eq!(design.to_string(), printed);
        }
    }

    #[test]
    fn a_wrong_part_is_named_with_what_may_stand_there() {
        let error = "repflow+dtcp".parse::<Stack>().expect_err("no dtcp");
        assert_eq!(
            error.to_string(),
            "design 'repflow+dtcp': found 'dtcp'; allowed here: tcp, cubic, highspeed, dctcp, pias, qos, hull"
        );
        assert!("".parse::<Stack>().is_err());
        assert!("tcp@".parse::<Stack>().is_err());
        assert!("tcp+repflow".parse::<Stack>().is_err());
        let error = "repflow+ndp".parse::<Stack>().expect_err("no connections");
        assert_eq!(
            error.allowed,
            ["tcp", "cubic", "highspeed", "dctcp", "pias", "qos", "hull"]
        );
        let error = "tcp@permute"
            .parse::<Stack>()
            .expect_err("no choice of paths");
        assert!(!error.allowed.contains(&"permute"));
        let error = "ndp@expeditus".parse::<Stack>().expect_err("no handshake");
        assert_eq!(
            error.to_string(),
            "design 'ndp@expeditus': found 'expeditus'; allowed here: ecmp, weighted-ecmp, spray, \
             permute, letflow, conga, omniscient (it chooses a flow's path on its handshake, but flows of this \
             design have no handshake)"
        );
    }
}
