//! `tailcut lab down`.

use super::lab_selection::LabSelection;
use crate::emulator::control;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Arguments of `tailcut lab down`.
#[derive(clap::Args, Debug)]
pub struct Down {
    #[command(flatten)]
    selection: LabSelection,
    /// End all of your labs
    #[arg(long, conflicts_with = "lab")]
    all: bool,
}

/// Maximum time for which the command waits until the lab has ended. The kernel needs time to end the programs.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends labs, and waits for their end.
///
/// # Errors
/// The lab does not exist.
pub fn execute(arguments: &Down) -> Result<i32> {
    let labs = match arguments.all {
        true => control::names()
            .iter()
            .map(|name| control::find(Some(name)))
            .collect::<Result<_>>()?,
        false => vec![control::find(arguments.selection.lab.as_deref())?],
    };
    for lab in labs {
        lab.down()?;
        let asked = Instant::now();
        while control::names().iter().any(|name| name == lab.name())
            && asked.elapsed() < END_TIMEOUT
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("the lab {} has ended", lab.name());
    }
    Ok(0)
}
