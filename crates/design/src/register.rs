//! What users have given names to: one list for each kind of thing, for the whole process.

use std::fmt;
use std::sync::{PoisonError, RwLock};

/// A thing that has a name of its own.
pub trait Named: 'static {
    /// The name.
    fn name(&self) -> &'static str;
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
    /// An empty register.
    pub const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// Everything that was registered, in that order.
    pub fn all(&self) -> Vec<&'static T> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What was registered by this name.
    pub fn find(&self, name: &str) -> Option<&'static T> {
        self.all().into_iter().find(|own| own.name() == name)
    }

    /// Enters a thing, for as long as the process lives.
    ///
    /// # Errors
    /// A name that cannot be one, that is `built_in`, or that is taken.
    pub fn enter(
        &self,
        own: T,
        mut built_in: impl Iterator<Item = &'static str>,
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
        if built_in.any(|taken| taken == name) {
            return refuse("something that is built in has this name");
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameError {
    /// The name.
    pub name: &'static str,
    /// Why not.
    pub why: &'static str,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' cannot be registered: {}", self.name, self.why)
    }
}

impl std::error::Error for NameError {}

/// Makes a type with a field `name` [`Named`](crate::register::Named). Things with names are alike where
/// their names are: a name is given once.
#[macro_export]
macro_rules! told_by_name {
    ($kind:ty) => {
        impl $crate::register::Named for $kind {
            fn name(&self) -> &'static str {
                self.name
            }
        }
        impl PartialEq for $kind {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }
        impl Eq for $kind {}
        impl std::hash::Hash for $kind {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.name.hash(state);
            }
        }
        impl std::fmt::Debug for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name)
            }
        }
    };
}
