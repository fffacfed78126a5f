//! Parts by name: one register for each kind of part, for the whole process. Built-in parts and users' own are entered by
//! the same call.

use crate::design::{Design, section_of};
use crate::designs;
use crate::replication::REPLICATIONS;
use std::sync::{LazyLock, PoisonError, RwLock};
use tailcut_fabric::load_balancer::{self, NamedBalancer};
use tailcut_fabric::queue::{self, NamedQueue};
use tailcut_units::parameter::Parameter;

/// A thing that has a name.
pub trait Named: 'static {
    /// Returns the name.
    fn name(&self) -> &'static str;
}

/// A part that scenarios choose by name.
pub trait Registered: Named + Sized {
    /// Returns all parts of this kind, in the order in which they were registered.
    fn all() -> Vec<&'static Self>;

    /// Returns the part of a name.
    fn named(name: &str) -> Option<&'static Self> {
        Self::all().into_iter().find(|part| part.name() == name)
    }

    /// Registers a part for this process.
    ///
    /// # Errors
    /// A name that cannot be one or is taken, or a part that contradicts itself.
    fn register(self) -> Result<(), NameError>;
}

/// Things of one kind that were registered, in that order.
#[derive(Debug)]
pub struct Register<T: 'static>(RwLock<Vec<&'static T>>);

impl<T: Named> Default for Register<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Named> Register<T> {
    /// Returns an empty register.
    pub const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// Returns a register of built-in parts.
    fn of(parts: impl IntoIterator<Item = T>) -> Self {
        let register = Self::new();
        for part in parts {
            if let Err(error) = register.enter(part, std::iter::empty()) {
                panic!("a built-in part: {error}");
            }
        }
        register
    }

    /// Returns everything that was registered, in that order.
    pub fn all(&self) -> Vec<&'static T> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the thing of a name.
    pub fn find(&self, name: &str) -> Option<&'static T> {
        self.all().into_iter().find(|own| own.name() == name)
    }

    /// Enters a thing, for as long as the process lives.
    ///
    /// # Errors
    /// A name that cannot be one, or that is taken: here, or by one of the `others`.
    pub fn enter(
        &self,
        own: T,
        mut others: impl Iterator<Item = &'static str>,
    ) -> Result<(), NameError> {
        let name = own.name();
        let refuse = |why| Err(NameError { name, why });
        let mut letters = name.bytes();
        let starts_well = letters.next().is_some_and(|byte| byte.is_ascii_lowercase());
        if !starts_well || !letters.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')) {
            return refuse(
                "a name is a lowercase letter, and then lowercase letters, digits and '-'",
            );
        }
        if others.any(|taken| taken == name) {
            return refuse("the name is taken");
        }
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if entries.iter().any(|taken| taken.name() == name) {
            return refuse("the name is taken");
        }
        entries.push(Box::leak(Box::new(own)));
        Ok(())
    }
}

/// A name that cannot be registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{name}' cannot be registered: {why}")]
pub struct NameError {
    /// The name.
    pub name: &'static str,
    /// Reason.
    pub why: &'static str,
}

static DESIGNS: LazyLock<Register<Design>> = LazyLock::new(|| Register::of(designs::built_in()));
static BALANCERS: LazyLock<Register<NamedBalancer>> =
    LazyLock::new(|| Register::of(load_balancer::built_in()));
static QUEUES: LazyLock<Register<NamedQueue>> = LazyLock::new(|| Register::of(queue::built_in()));

/// Sections of scenarios that are no part's. A part with keys cannot have their names.
pub const SECTIONS_OF_NO_PART: [&str; 27] = [
    "study",
    "sweep",
    "topology",
    "nodes",
    "links",
    "failures",
    "queue",
    "shared_buffer",
    "framing",
    "tcp",
    "repnet",
    "pfabric",
    "pias",
    "qos",
    "hull",
    "host",
    "nic",
    "ndp",
    "scdp",
    "scdp_plain",
    "ecmp",
    "servers",
    "rans",
    "workload",
    "groups",
    "designs",
    "own_designs",
];

/// Returns the names of which a design's name consists: one has one meaning.
fn names_of_designs() -> impl Iterator<Item = &'static str> {
    let designs = Design::all().into_iter().map(|part| part.name);
    let balancers = NamedBalancer::all().into_iter().map(|part| part.name);
    let replications = REPLICATIONS.iter().map(|part| part.name);
    designs.chain(balancers).chain(replications)
}

/// Returns the names and the keys of all parts that have keys, in the order of the reference: load balancers, queue
/// disciplines, designs.
pub fn with_parameters() -> Vec<(&'static str, &'static str, &'static [Parameter])> {
    let balancers = NamedBalancer::all().into_iter();
    let queues = NamedQueue::all().into_iter();
    let designs = Design::all().into_iter();
    let balancers = balancers.map(|part| (part.name, part.summary, part.parameters));
    let queues = queues.map(|part| (part.name, part.summary, part.parameters));
    let designs = designs.map(|part| (part.name, part.summary, part.parameters));
    let parts = balancers.chain(queues).chain(designs);
    parts.filter(|(_, _, keys)| !keys.is_empty()).collect()
}

/// Checks that the keys of a part can have a section of its name.
fn has_section(name: &'static str, parameters: &[Parameter]) -> Result<(), NameError> {
    let section = section_of(name);
    let is_taken = SECTIONS_OF_NO_PART.contains(&section.as_str())
        || with_parameters().iter().any(|(other, ..)| *other == name);
    match is_taken && !parameters.is_empty() {
        true => Err(NameError {
            name,
            why: "it has keys, and scenarios have another section of this name",
        }),
        false => Ok(()),
    }
}

/// Registers a kind of part that has a name and parameters, unless it has a fault or one of the names `taken`.
macro_rules! registered {
    ($part:ty, $register:ident, $fault:expr, $taken:expr) => {
        impl Named for $part {
            fn name(&self) -> &'static str {
                self.name
            }
        }

        impl Registered for $part {
            fn all() -> Vec<&'static Self> {
                $register.all()
            }

            fn register(self) -> Result<(), NameError> {
                let (name, fault): (_, fn(&Self) -> Option<&'static str>) = (self.name, $fault);
                if let Some(why) = fault(&self) {
                    return Err(NameError { name, why });
                }
                has_section(name, self.parameters)?;
                $register.enter(self, $taken)
            }
        }
    };
}

registered!(
    Design,
    DESIGNS,
    |design| design.hosts.fault(),
    names_of_designs()
);
registered!(NamedBalancer, BALANCERS, |_| None, names_of_designs());
registered!(NamedQueue, QUEUES, |_| None, std::iter::empty());
