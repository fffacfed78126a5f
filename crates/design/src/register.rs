//! Registers of parts by name. Each kind of part has one register for the whole process.
//! Built-in parts and custom parts are registered with the same call.

use crate::design::{Design, section_of};
use crate::designs;
use crate::replication::REPLICATIONS;
use std::sync::{LazyLock, PoisonError, RwLock};
use tailcut_fabric::load_balancer::{self, NamedBalancer};
use tailcut_fabric::queue::{self, NamedQueue};
use tailcut_units::parameter::Parameter;

/// Trait of values that have a name.
pub trait Named: 'static {
    /// Returns the name.
    fn name(&self) -> &'static str;
}

/// Trait of parts that scenarios choose by name.
pub trait Registered: Named + Sized {
    /// Returns all parts of this kind, in the order in which they were registered.
    fn all() -> Vec<&'static Self>;

    /// Returns the part with this name.
    fn named(name: &str) -> Option<&'static Self> {
        Self::all().into_iter().find(|part| part.name() == name)
    }

    /// Registers a part for this process.
    ///
    /// # Errors
    /// The name is invalid or already used, or the part is inconsistent.
    fn register(self) -> Result<(), NameError>;
}

/// Registered values of one kind, in the order of registration.
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

    /// Returns a register that contains the built-in parts.
    fn of(parts: impl IntoIterator<Item = T>) -> Self {
        let register = Self::new();
        for part in parts {
            if let Err(error) = register.enter(part, std::iter::empty()) {
                panic!("a built-in part is invalid: {error}");
            }
        }
        register
    }

    /// Returns all registered values, in the order of registration.
    pub fn all(&self) -> Vec<&'static T> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Registers a value for the lifetime of the process.
    ///
    /// # Errors
    /// The name is invalid, or is already used in this register or in `others`.
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
                "a name is a lowercase letter, followed by lowercase letters, digits and '-'",
            );
        }
        if others.any(|taken| taken == name) {
            return refuse("the name is taken");
        }
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if entries.iter().any(|taken| taken.name() == name) {
            return refuse("the name is taken");
        }
        // Parts are never removed, so the leaked memory is limited by the number of parts.
        entries.push(Box::leak(Box::new(own)));
        Ok(())
    }
}

/// Error for a name that cannot be registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{name}' cannot be registered: {why}")]
pub struct NameError {
    /// Name that was rejected.
    pub name: &'static str,
    /// Reason for the rejection.
    pub why: &'static str,
}

static DESIGNS: LazyLock<Register<Design>> = LazyLock::new(|| Register::of(designs::built_in()));
static BALANCERS: LazyLock<Register<NamedBalancer>> =
    LazyLock::new(|| Register::of(load_balancer::built_in()));
static QUEUES: LazyLock<Register<NamedQueue>> = LazyLock::new(|| Register::of(queue::built_in()));

/// Names of scenario sections that belong to no part. A part with keys must have a different name.
pub const SECTIONS_OF_NO_PART: [&str; 28] = [
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
    "measure",
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

/// Returns all names that can occur in the name of a stack. Each name must have one meaning only.
fn names_of_designs() -> impl Iterator<Item = &'static str> {
    let designs = Design::all().into_iter().map(|part| part.name);
    let balancers = NamedBalancer::all().into_iter().map(|part| part.name);
    let replications = REPLICATIONS.iter().map(|part| part.name);
    designs.chain(balancers).chain(replications)
}

/// Returns name, summary and parameters of each part that has parameters.
/// The order is the same as in the reference: load balancers, queue disciplines, designs.
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

/// Checks that a part's name can be the name of the section with its keys.
fn has_section(name: &'static str, parameters: &[Parameter]) -> Result<(), NameError> {
    let section = section_of(name);
    let is_taken = SECTIONS_OF_NO_PART.contains(&section.as_str())
        || with_parameters().iter().any(|(other, ..)| *other == name);
    match is_taken && !parameters.is_empty() {
        true => Err(NameError {
            name,
            why: "it has keys, but scenarios already have a section with this name",
        }),
        false => Ok(()),
    }
}

/// Implements registration for a kind of part with a name and parameters.
/// A part is rejected if it is inconsistent or if its name is in `taken`.
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
