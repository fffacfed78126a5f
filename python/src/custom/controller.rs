//! Congestion controller that is written in Python, and the arguments of its methods.

use super::{Failure, Slot, named_copy, reports_to};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;
use tailcut_scenario::sim::transport::tcp::congestion::{self, CongestionControl, EcnUse};
use tailcut_scenario::sim::{self, Design, NameError, Registered};

/// Congestion window and slow-start threshold, in payload bytes.
#[pyclass(module = "tailcut")]
#[derive(Debug)]
pub struct Window {
    #[pyo3(get)]
    cwnd: u64,
    #[pyo3(get)]
    ssthresh: u64,
}

#[pymethods]
impl Window {
    #[setter]
    fn set_cwnd(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.cwnd = whole(bytes)?;
        Ok(())
    }

    #[setter]
    fn set_ssthresh(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.ssthresh = whole(bytes)?;
        Ok(())
    }

    /// Whether the window grows by slow start.
    #[getter]
    const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.cwnd, self.ssthresh)
    }
}

/// Converts a Python number to a number of bytes, at least 0. A fraction is cut off.
fn whole(bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(bytes) = bytes.extract::<u64>() {
        return Ok(bytes);
    }
    let number = bytes
        .extract::<f64>()
        .ok()
        .filter(|bytes| (0.0..1.9e19).contains(bytes));
    number.map(|bytes| bytes as u64).ok_or_else(|| {
        let shown = bytes
            .repr()
            .map_or_else(|_| "a value".to_owned(), |shown| shown.to_string());
        PyValueError::new_err(format!(
            "a window of {shown} bytes; allowed: a number from 0"
        ))
    })
}

/// ACK that acknowledges new data.
#[pyclass(frozen, get_all, module = "tailcut")]
#[derive(Debug)]
pub struct Ack {
    /// Time in nanoseconds at which the ACK arrived.
    now_ns: u64,
    /// Payload bytes that are acknowledged for the first time.
    acked: u64,
    /// Whether the ACK carries ECN-Echo.
    marked: bool,
    /// Offset up to which all bytes are now acknowledged.
    una: u64,
    /// Offset of the next byte to send.
    nxt: u64,
    /// Payload bytes of a full segment.
    mss: u64,
    /// Whether the window may grow at present.
    may_grow: bool,
    /// Largest number of bytes of one ACK that slow start counts. 2^64 - 1 means that every byte counts.
    slow_start_limit: u64,
    /// Smoothed round-trip time in nanoseconds; 0 before the first sample.
    srtt_ns: u64,
    /// Round-trip time in nanoseconds that this ACK measured; `None` without a measurement.
    rtt_ns: Option<u64>,
}

/// Event that shows congestion: a loss, a timeout or a mark.
#[pyclass(frozen, get_all, module = "tailcut")]
#[derive(Debug)]
pub struct Congested {
    /// Time in nanoseconds at which the sender detected the congestion.
    now_ns: u64,
    /// Payload bytes that were sent and are not acknowledged.
    in_flight: u64,
    /// Payload bytes of a full segment.
    mss: u64,
}

#[derive(Debug)]
struct Methods {
    on_ack: Py<PyAny>,
    on_loss: Py<PyAny>,
    on_timeout: Py<PyAny>,
    on_mark: Py<PyAny>,
    window: Py<Window>,
    ecn: EcnUse,
}

#[derive(Debug)]
struct Controller {
    /// Methods of the object; `None` if the object could not be created.
    methods: Option<Methods>,
    failure: Arc<Failure>,
}

impl Controller {
    fn new(slot: &Slot) -> Self {
        let failure = reports_to();
        let methods = failure.catch(|py| {
            let part = slot.make(py, &[])?;
            let method = |name: &str| part.getattr(name).map(Bound::unbind);
            Ok(Methods {
                on_ack: method("on_ack")?,
                on_loss: method("on_loss")?,
                on_timeout: method("on_timeout")?,
                on_mark: method("on_mark")?,
                window: Py::new(
                    py,
                    Window {
                        cwnd: 0,
                        ssthresh: 0,
                    },
                )?,
                ecn: match part.getattr("accurate_ecn")?.is_truthy()? {
                    true => EcnUse::Accurate,
                    false => EcnUse::Classic,
                },
            })
        });
        Self { methods, failure }
    }

    /// Calls a method with the window, which the method may change, and with `told`.
    fn call<T>(
        &self,
        window: &mut congestion::Window,
        method: fn(&Methods) -> &Py<PyAny>,
        argument: T,
    ) where
        T: pyo3::PyClass + Into<PyClassInitializer<T>>,
    {
        let Some(methods) = &self.methods else { return };
        let changed = self.failure.catch(|py| {
            let shown = methods.window.bind(py);
            *shown.borrow_mut() = Window {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
            };
            method(methods).call1(py, (shown, Py::new(py, argument)?))?;
            let shown = shown.borrow();
            Ok((shown.cwnd, shown.ssthresh))
        });
        if let Some((cwnd, ssthresh)) = changed {
            (window.cwnd, window.ssthresh) = (cwnd, ssthresh);
        }
    }
}

impl From<&congestion::Congested> for Congested {
    fn from(congested: &congestion::Congested) -> Self {
        Self {
            now_ns: congested.now.as_ns(),
            in_flight: congested.in_flight,
            mss: congested.mss,
        }
    }
}

impl CongestionControl for Controller {
    fn on_ack(&mut self, window: &mut congestion::Window, ack: &congestion::Ack) {
        let ack = Ack {
            now_ns: ack.now.as_ns(),
            acked: ack.acked,
            marked: ack.marked,
            una: ack.una,
            nxt: ack.nxt,
            mss: ack.mss,
            may_grow: ack.may_grow,
            slow_start_limit: ack.slow_start_limit,
            srtt_ns: ack.srtt.as_ns(),
            rtt_ns: ack.rtt.map(|rtt| rtt.as_ns()),
        };
        self.call(window, |methods| &methods.on_ack, ack);
    }

    fn on_loss(&mut self, window: &mut congestion::Window, congested: &congestion::Congested) {
        self.call(
            window,
            |methods| &methods.on_loss,
            Congested::from(congested),
        );
    }

    fn on_timeout(&mut self, window: &mut congestion::Window, congested: &congestion::Congested) {
        self.call(
            window,
            |methods| &methods.on_timeout,
            Congested::from(congested),
        );
    }

    fn on_mark(&mut self, window: &mut congestion::Window, congested: &congestion::Congested) {
        self.call(
            window,
            |methods| &methods.on_mark,
            Congested::from(congested),
        );
    }

    fn ecn_use(&self) -> EcnUse {
        self.methods
            .as_ref()
            .map_or(EcnUse::Classic, |methods| methods.ecn)
    }
}

pub fn register(slot: &'static Slot, about: &'static str, like: &Design) -> Result<(), NameError> {
    let controller = sim::Controller::own(move |_| move || Controller::new(slot));
    Design {
        hosts: like.hosts.clone().with_controller(controller),
        ..named_copy(slot, about, like)
    }
    .register()
}
