//! `tailcut lab link`.

use super::which::Which;
use crate::emulator::control::{self, LinkChange};
use anyhow::{Result, bail};
use clap::ValueEnum;
use tailcut_fabric::LossRate;
use tailcut_units::{Duration, Rate, quantity};

/// A link and what changes of it.
#[derive(clap::Args, Debug)]
pub struct Link {
    #[command(flatten)]
    which: Which,
    /// The link by its ends, such as leaf0-spine1 (`tailcut lab status` shows all)
    link: String,
    /// Whether it delivers packets
    #[arg(value_enum)]
    state: Option<State>,
    /// Its rate, such as 10Mbps
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    rate: Option<Rate>,
    /// Its propagation delay, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    delay: Option<Duration>,
    /// The share of packets that it loses at random, each on its own, such as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = quantity::share)]
    loss: Option<f64>,
}

/// Whether a link delivers packets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum State {
    /// It does
    Up,
    /// It loses what is sent into it; switches notice after 10 ms
    Down,
}

/// Changes a link.
///
/// # Errors
/// There is no such lab or link, or nothing was said.
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
    let lab = control::find(arguments.which.lab.as_deref())?;
    println!("{}", lab.change_link(&arguments.link, change)?);
    Ok(0)
}
