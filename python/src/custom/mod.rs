//! Queue disciplines, congestion controllers and load balancers that are written in Python.
//!
//! A part is a class. Each port, connection or switch of a run has its own object of the class.
//! Only the thread of the run calls the object.

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

/// First exception that a part raised in the runs of a study.
#[derive(Default, Debug)]
pub struct Failure {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// Stops all further calls of parts.
    pub fn halt(&self) {
        self.happened.store(true, Ordering::Relaxed);
    }

    /// Whether a part has raised an exception, or calls were stopped.
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    /// Returns the exception of a part, if a part has raised one.
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

    /// Calls a method of a part and returns its result.
    /// Returns `None` after an exception, because the run is about to stop.
    fn catch<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.happened() {
            return None;
        }
        Python::attach(call)
            .map_err(|error| self.report(error))
            .ok()
    }
}

thread_local! {
    static REPORTS_TO: RefCell<Arc<Failure>> = RefCell::default();
}

/// Runs `work` while this thread holds Python's global lock (GIL).
/// Without this function, each call of a part would take the lock, which costs as much as the call itself.
/// Python releases the lock every few milliseconds while parts run.
pub fn with_lock<T>(work: impl FnOnce() -> T) -> T {
    Python::attach(|_| work())
}

/// Lets other Python threads take Python's global lock (GIL), if this thread holds it.
pub fn yield_lock() {
    Python::attach(|py| py.detach(|| ()));
}

/// Sets the place where parts report exceptions. The place applies to all parts that this thread creates later.
pub fn report_to(failure: &Arc<Failure>) {
    REPORTS_TO.set(Arc::clone(failure));
}

fn reports_to() -> Arc<Failure> {
    REPORTS_TO.with_borrow(Arc::clone)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Queue at all switch ports. `like` is the transport that runs over it.
    Queue {
        like: &'static str,
    },
    /// Congestion controller. `like` is the design whose network it uses.
    Controller {
        like: &'static str,
    },
    Balancer {
        by_packet: bool,
    },
}

/// Name of a custom part, and the Python class that implements the part at present.
struct Slot {
    name: &'static str,
    kind: Kind,
    class: Mutex<Py<PyAny>>,
}

impl Slot {
    /// Creates an object of the class. The attributes are set before `__init__` is called.
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

/// Returns whether a part of the design is written in Python.
pub fn is_in_python(design: &Stack) -> bool {
    let name = design.to_string();
    let slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    name.split(['+', '@'])
        .any(|part| slots.iter().any(|slot| slot.name == part))
}

/// Registers a class as a part with the given name.
/// If a notebook cell runs again, an existing name refers to the new class afterwards.
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
    // The lock of the slots is released before Python code runs, because the Python code may need the same lock.
    let known = SLOTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .find(|slot| slot.name == name)
        .copied();
    if let Some(slot) = known {
        if slot.kind != kind {
            let found = format!("'{name}', which is the name of another kind of part");
            return Err(error::given(
                py,
                "name",
                found,
                "a name that no other part has",
            ));
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

/// Returns the design with this name, on which a part is based.
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

/// Returns a copy of a design with the name of a part.
fn named_copy(slot: &Slot, about: &'static str, like: &Design) -> Design {
    Design {
        name: slot.name,
        summary: about,
        source: "",
        parameters: &[],
        ..like.clone()
    }
}
