//! Designs and their names: `[replication+]transport[@routing]`.

use crate::kinds::{Replication, Routing, TransportKind};
use crate::own::{OwnBalancer, OwnTransport};
use crate::parts::{REPLICATIONS, ROUTINGS, TRANSPORTS, find, name_of, names};
use std::fmt;
use std::str::FromStr;

/// A combination of replication, transport and routing, written
/// `[replication+]transport[@routing]`, such as `tcp`, `repflow+dctcp` or `dctcp@spray`.
///
/// What is left out has a default: no replication, TCP NewReno (so `repsyn` is RepSYN over TCP), the
/// transport's usual routing. `ndp+` is another name of `ndp-plus`. Transports and load balancers that
/// were registered ([`OwnTransport`], [`OwnBalancer`]) have names like those that are built in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stack {
    /// How mice are replicated.
    pub replication: Replication,
    /// What carries the bytes; of a transport of one's own, what it is like.
    pub transport: TransportKind,
    /// How switches choose among equal-cost paths; of a load balancer of one's own, what it is like.
    pub routing: Routing,
    /// A transport of one's own, where the design has one.
    pub own_transport: Option<&'static OwnTransport>,
    /// A load balancer of one's own, where the design has one.
    pub own_balancer: Option<&'static OwnBalancer>,
}

/// A name that is no design.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDesign {
    /// The whole name.
    pub name: String,
    /// The part of it that is not known.
    pub part: String,
    /// What may stand there.
    pub allowed: Vec<&'static str>,
    /// Why a part that is known cannot stand there.
    pub why: Option<&'static str>,
}

impl fmt::Display for UnknownDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "design '{}': found '{}'; allowed here: {}",
            self.name,
            self.part,
            self.allowed.join(", ")
        )?;
        self.why.map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

impl std::error::Error for UnknownDesign {}

/// The transports that a replication is a layer over.
fn replicable(replication: Replication) -> Vec<&'static str> {
    let built_in = TRANSPORTS
        .iter()
        .filter(|part| replication.works_over(part.value));
    let own = OwnTransport::all().into_iter();
    let own = own.filter(|own| own.carries(replication));
    let built_in = built_in.map(|part| part.name);
    built_in.chain(own.map(OwnTransport::name)).collect()
}

/// The load balancers that a transport works over.
fn routings_of(transport: TransportKind) -> Vec<&'static str> {
    let built_in = ROUTINGS
        .iter()
        .filter(|part| transport.works_over(part.value));
    let own = OwnBalancer::all().into_iter();
    let own = own.filter(|own| transport.works_over(own.kind()));
    let built_in = built_in.map(|part| part.name);
    built_in.chain(own.map(OwnBalancer::name)).collect()
}

/// A transport by name: its kind, and which of one's own it is, if any.
fn transport(name: &str) -> Option<(TransportKind, Option<&'static OwnTransport>)> {
    match find(&TRANSPORTS, name) {
        Some(kind) => Some((kind, None)),
        None => OwnTransport::find(name).map(|own| (own.kind(), Some(own))),
    }
}

/// A load balancer by name, likewise.
fn routing(name: &str) -> Option<(Routing, Option<&'static OwnBalancer>)> {
    match find(&ROUTINGS, name) {
        Some(kind) => Some((kind, None)),
        None => OwnBalancer::find(name).map(|own| (own.kind(), Some(own))),
    }
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
        let stack = if stack == "ndp+" { "ndp-plus" } else { stack };
        let (replication, (kind, own_transport)) = match stack.split_once('+') {
            Some((replication, carrier)) => {
                let replication = find(&REPLICATIONS, replication)
                    .ok_or_else(|| unknown(replication, names(&REPLICATIONS).collect()))?;
                let carrier = transport(carrier)
                    .filter(|(kind, own)| match own {
                        None => replication.works_over(*kind),
                        Some(own) => own.carries(replication),
                    })
                    .ok_or_else(|| unknown(carrier, replicable(replication)))?;
                (replication, carrier)
            }
            None => match (find(&REPLICATIONS, stack), transport(stack)) {
                (Some(replication), _) => (replication, (replication.usual_transport(), None)),
                (None, Some(transport)) => (Replication::None, transport),
                (None, None) => {
                    let allowed = names(&REPLICATIONS).chain(replicable(Replication::None));
                    return Err(unknown(stack, allowed.collect()));
                }
            },
        };
        let (routing, own_balancer) = match switches {
            None => (kind.usual_routing(), None),
            Some(name) => {
                let routing = routing(name);
                let why = routing.and_then(|(routing, _)| kind.obstacle(routing));
                routing
                    .filter(|_| why.is_none())
                    .ok_or_else(|| UnknownDesign {
                        why,
                        ..unknown(name, routings_of(kind))
                    })?
            }
        };
        Ok(Self {
            replication,
            transport: kind,
            routing,
            own_transport,
            own_balancer,
        })
    }
}

impl fmt::Display for Stack {
    /// The shortest name that means this design.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let replication = name_of(&REPLICATIONS, &self.replication);
        let transport = match self.own_transport {
            None => name_of(&TRANSPORTS, &self.transport).unwrap_or_default(),
            Some(own) => own.name(),
        };
        let is_usual =
            self.own_transport.is_none() && self.transport == self.replication.usual_transport();
        match replication {
            None => f.write_str(transport)?,
            Some(name) if is_usual => f.write_str(name)?,
            Some(replication) => write!(f, "{replication}+{transport}")?,
        }
        if let Some(own) = self.own_balancer {
            return write!(f, "@{}", own.name());
        }
        match name_of(&ROUTINGS, &self.routing) {
            Some(routing) if self.routing != self.transport.usual_routing() => {
                write!(f, "@{routing}")
            }
            _ => Ok(()),
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
            "design 'repflow+dtcp': found 'dtcp'; allowed here: tcp, cubic, dctcp, pias, qos, hull"
        );
        assert!("".parse::<Stack>().is_err());
        assert!("tcp@".parse::<Stack>().is_err());
        assert!("tcp+repflow".parse::<Stack>().is_err());
        let error = "repflow+ndp".parse::<Stack>().expect_err("no connections");
        assert_eq!(
            error.allowed,
            ["tcp", "cubic", "dctcp", "pias", "qos", "hull"]
        );
        let error = "tcp@permute"
            .parse::<Stack>()
            .expect_err("no choice of paths");
        assert!(!error.allowed.contains(&"permute"));
        let error = "ndp@expeditus".parse::<Stack>().expect_err("no handshake");
        assert_eq!(
            error.to_string(),
            "design 'ndp@expeditus': found 'expeditus'; allowed here: ecmp, spray, permute, letflow, \
             conga, omniscient (it chooses a flow's path on its handshake; without one every flow \
             would stay on ECMP)"
        );
    }
}
