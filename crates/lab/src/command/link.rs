//! `tailcut lab link`.

use super::lab_selection::LabSelection;
use crate::emulator::control::{self, LinkChange};
use anyhow::{Result, bail};
use clap::ValueEnum;
use tailcut_fabric::LossRate;
use tailcut_units::{Duration, Rate, quantity};

/// Arguments of `tailcut lab link`.
#[derive(clap::Args, Debug)]
pub struct Link {
    #[command(flatten)]
    selection: LabSelection,
    /// The link as its two nodes, such as leaf0-spine1 (`tailcut lab status` lists all)
    link: String,
    /// Whether the link delivers packets
    #[arg(value_enum)]
    state: Option<State>,
    /// New rate, such as 10Mbps
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    rate: Option<Rate>,
    /// New propagation delay, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    delay: Option<Duration>,
    /// Share of packets that the link loses at random, independently of each other, such as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = quantity::share)]
    loss: Option<f64>,
}

/// State of a link.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum State {
    /// The link delivers packets
    Up,
    /// The link loses all packets; switches stop using it after 10 ms
    Down,
}

/// Changes a link.
///
/// # Errors
/// The lab or the link does not exist, or the arguments contain no change.
pub fn execute(arguments: &Link) -> Result<i32> {
    let loss = arguments.loss.and_then(LossRate::from_share);
    let change = LinkChange {
        is_up: arguments.state.map(|state| state == State::Up),
        rate_bps: arguments.rate.map(Rate::as_bps),
        delay_ns: arguments.delay.map(Duration::as_ns),
        loss_ppb: loss.map(LossRate::billionths),
    };
    if change == LinkChange::default() {
        bail!("found no change; allowed: up, down, --rate, --delay and --loss");
    }
    let lab = control::find(arguments.selection.lab.as_deref())?;
    println!("{}", lab.change_link(&arguments.link, change)?);
    Ok(0)
}
