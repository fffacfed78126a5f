//! Interruption: the first signal asks runs to stop, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_scenario::sim::RunControl;

/// Listens for interruption (and, on Unix, termination) from now on. The flag turns true with the
/// first signal.
///
/// # Errors
/// Where the system refuses a handler.
pub fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(stop)
}

/// Lets a run go on until a flag is set.
pub struct Until<'a>(pub &'a AtomicBool);

impl RunControl for Until<'_> {
    fn progress(&self, _share: f64) {}

    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
