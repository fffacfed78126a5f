//! Queue disciplines, congestion controllers and load balancers that are written in Python.
//!
//! A part is a class. An object of it is made for each port, connection or switch of a run, and
//! called from the thread of that run.

mod balancer;
mod controller;
mod queue;

pub use controller::{Ack, Congested, Window};

use crate::error;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tailcut_scenario::did_you_mean;
use tailcut_scenario::sim::{Design, NameError, Registered, Stack};

/// The first thing that a part raised in the runs of a study.
#[derive(Default, Debug)]
pub struct Failure {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// Asks no part anything any more.
    pub fn halt(&self) {
        self.happened.store(true, Ordering::Relaxed);
    }

    /// Whether anything was raised, or parts are no longer asked.
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    /// What was raised.
    pub fn take(&self) -> Option<PyErr> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn report(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.halt();
    }

    /// What a part says, or nothing once something was raised: the run is about to stop.
    fn catch<T>(&self, asked: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.happened() {
            return None;
        }
        Python::attach(asked)
            .map_err(|error| self.report(error))
            .ok()
    }
}

thread_local! {
    static REPORTS_TO: RefCell<Arc<Failure>> = RefCell::default();
}

/// Does something with Python's lock, so that a call of a part need not take it: that would cost as
/// much as the call. Python itself hands the lock on, from within the parts, every few
/// milliseconds.
pub fn with_lock<T>(work: impl FnOnce() -> T) -> T {
    Python::attach(|_| work())
}

/// Lets other threads of Python have the lock, where this one has it.
pub fn yield_lock() {
    Python::attach(|py| py.detach(|| ()));
}

/// Parts that are made in this thread from now on report to `failure`.
pub fn report_to(failure: &Arc<Failure>) {
    REPORTS_TO.set(Arc::clone(failure));
}

fn reports_to() -> Arc<Failure> {
    REPORTS_TO.with_borrow(Arc::clone)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A queue at the ports of a design.
    Queue {
        like: &'static str,
    },
    /// A controller over the network of a design.
    Controller {
        like: &'static str,
    },
    Balancer {
        by_packet: bool,
    },
}

/// A name, and the class that it stands for now.
struct Slot {
    name: &'static str,
    kind: Kind,
    class: Mutex<Py<PyAny>>,
}

impl Slot {
    /// An object of the class, with attributes that are there before it is initialised.
    fn make<'py>(
        &self,
        py: Python<'py>,
        attributes: &[(&str, u64)],
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = {
            let class = self.class.lock().unwrap_or_else(PoisonError::into_inner);
            class.clone_ref(py).into_bound(py)
        };
        let part = class.call_method1("__new__", (&class,))?;
        for (name, value) in attributes {
            part.setattr(*name, *value)?;
        }
        part.call_method0("__init__")?;
        Ok(part)
    }
}

static SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

/// Whether a part of the design is written in Python.
pub fn is_in_python(design: &Stack) -> bool {
    let name = design.to_string();
    let slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    name.split(['+', '@'])
        .any(|part| slots.iter().any(|slot| slot.name == part))
}

/// Gives a class a name in designs. The same name again stands for the newer class, as it happens
/// when a cell of a notebook is run again.
#[pyfunction]
pub fn register(
    py: Python<'_>,
    kind: &str,
    name: &str,
    about: &str,
    like: &str,
    part: Py<PyAny>,
) -> PyResult<()> {
    let by_packet = like == "spray";
    let base = match kind {
        "queue" | "controller" => Some(design(py, like)?),
        _ => None,
    };
    let kind = match (kind, base) {
        ("queue", Some(base)) => Kind::Queue { like: base.name },
        (_, Some(base)) => Kind::Controller { like: base.name },
        (_, None) => Kind::Balancer { by_packet },
    };
    // Released before anything of Python is asked for.
    let known = SLOTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .find(|slot| slot.name == name)
        .copied();
    if let Some(slot) = known {
        if slot.kind != kind {
            let found = format!("'{name}', which is the name of another kind of part");
            return Err(error::given(py, "name", found, "a name of its own"));
        }
        *slot.class.lock().unwrap_or_else(PoisonError::into_inner) = part;
        return Ok(());
    }
    let slot: &'static Slot = Box::leak(Box::new(Slot {
        name: Box::leak(name.to_owned().into_boxed_str()),
        kind,
        class: Mutex::new(part),
    }));
    let about: &'static str = Box::leak(about.to_owned().into_boxed_str());
    let registered = match (kind, base) {
        (Kind::Queue { .. }, Some(base)) => queue::register(slot, about, base),
        (_, Some(base)) => controller::register(slot, about, base),
        (_, None) => balancer::register(slot, about, by_packet),
    };
    registered
        .map_err(|NameError { name, why }| error::given(py, "name", format!("'{name}'"), why))?;
    SLOTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(slot);
    Ok(())
}

/// Returns the design that a part stands in.
fn design(py: Python<'_>, name: &str) -> PyResult<&'static Design> {
    Design::named(name).ok_or_else(|| {
        let names: Vec<&str> = Design::all().iter().map(|design| design.name).collect();
        let guess = did_you_mean(name, names.iter().copied());
        let guess = guess.map_or_else(String::new, |guess| format!("; did you mean '{guess}'?"));
        error::given(
            py,
            "like",
            format!("'{name}'"),
            &format!("{}{guess}", names.join(", ")),
        )
    })
}

/// Returns a design like another one, with the name of a part.
fn own(slot: &Slot, about: &'static str, like: &Design) -> Design {
    Design {
        name: slot.name,
        summary: about,
        source: "",
        parameters: &[],
        ..like.clone()
    }
}
