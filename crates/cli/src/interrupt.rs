//! Handling of interruptions. The first signal stops the runs, and the second signal ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_scenario::sim::RunControl;

/// Installs a handler for interruption and, on Unix, for termination.
/// The returned flag becomes true at the first signal.
///
/// # Errors
/// The operating system does not accept the handler.
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

/// Run control that stops a run when a flag is set.
pub struct Until<'a>(pub &'a AtomicBool);

impl RunControl for Until<'_> {
    fn progress(&self, _share: f64) {}

    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
