//! Real hosts for studies under the wall's clock, where this build has them.

use crate::failure::Failure;
#[cfg(all(feature = "lab", target_os = "linux"))]
use crate::output::note;
use tailcut_scenario::sim::RunClock;
use tailcut_scenario::{RealHosts, Scenario, Study};

/// What runs studies under the wall's clock, where this build has it.
pub fn hosts() -> Option<&'static dyn RealHosts> {
    #[cfg(all(feature = "lab", target_os = "linux"))]
    return Some(&tailcut_lab::ThisMachine);
    #[cfg(not(all(feature = "lab", target_os = "linux")))]
    return None;
}

/// Puts what the kernels of real hosts will do in place of what a scenario asks for, if any of its runs is
/// on them, and says what has changed.
///
/// # Errors
/// A key that was asked for and that is the kernel's own.
pub fn settle(scenario: &mut Scenario) -> Result<(), Failure> {
    #[cfg(all(feature = "lab", target_os = "linux"))]
    if scenario.table("").word("clock") != Some("simulated") {
        for words in tailcut_lab::settle(scenario)? {
            note(&words);
        }
    }
    let _ = scenario;
    Ok(())
}

/// Gets what real hosts need, if any of a study's runs is on them. To be called before there are threads.
///
/// # Errors
/// The system refuses.
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
