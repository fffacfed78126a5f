//! `tailcut lab down`.

use super::which::Which;
use crate::emulator::control;
use anyhow::Result;
use std::time::{Duration, Instant};

/// A lab to end.
#[derive(clap::Args, Debug)]
pub struct Down {
    #[command(flatten)]
    which: Which,
    /// End all of your labs
    #[arg(long, conflicts_with = "lab")]
    all: bool,
}

/// How long the kernel may take to end a lab's programs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends labs, and waits until they have gone.
///
/// # Errors
/// There is no such lab.
pub fn execute(arguments: &Down) -> Result<i32> {
    let labs = match arguments.all {
        true => control::names()
            .iter()
            .map(|name| control::find(Some(name)))
            .collect::<Result<_>>()?,
        false => vec![control::find(arguments.which.lab.as_deref())?],
    };
    for lab in labs {
        lab.down()?;
        let asked = Instant::now();
        while control::names().iter().any(|name| name == lab.name()) && asked.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("the lab {} has ended", lab.name());
    }
    Ok(0)
}
