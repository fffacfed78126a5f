//! Real hosts for runs on the wall clock, if this build includes the lab.

use crate::failure::Failure;
#[cfg(all(feature = "lab", target_os = "linux"))]
use crate::output::note;
use tailcut_scenario::sim::RunClock;
use tailcut_scenario::{RealHosts, Scenario, Study};

/// Returns the executor of runs on the wall clock, or `None` if this build does not include the lab.
pub fn hosts() -> Option<&'static dyn RealHosts> {
    #[cfg(all(feature = "lab", target_os = "linux"))]
    return Some(&tailcut_lab::ThisMachine);
    #[cfg(not(all(feature = "lab", target_os = "linux")))]
    return None;
}

/// Replaces settings of the scenario with values that the kernels of real hosts use, and prints the changes.
/// Does nothing if no run uses real hosts.
///
/// # Errors
/// The user has set a key whose value is fixed in the kernel.
pub fn apply_kernel_limits(scenario: &mut Scenario) -> Result<(), Failure> {
    #[cfg(all(feature = "lab", target_os = "linux"))]
    if scenario.table("").word("clock") != Some("simulated") {
        for words in tailcut_lab::apply_kernel_limits(scenario)? {
            note(&words);
        }
    }
    let _ = scenario;
    Ok(())
}

/// Prepares this process for real hosts if a run of the study uses them.
/// Call this function before the process starts threads.
///
/// # Errors
/// The operating system reports an error.
pub fn prepare(study: &Study) -> Result<(), Failure> {
    let needs = study
        .runs
        .iter()
        .any(|run| run.clock != RunClock::Simulated);
    #[cfg(all(feature = "lab", target_os = "linux"))]
    if needs {
        tailcut_lab::prepare()?;
    }
    let _ = needs;
    Ok(())
}
