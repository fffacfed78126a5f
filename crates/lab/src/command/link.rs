//! `tailcut lab link`.

use super::which::Which;
use crate::emulator::control::{self, LinkChange};
use anyhow::{Result, bail};
use clap::ValueEnum;
use tailcut_fabric::LossRate;
use tailcut_units::{Duration, Rate};

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
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,
    /// Its propagation delay, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    delay: Option<Duration>,
    /// The share of packets that it loses at random, each on its own, such as 1% or 0.01
    #[arg(long, value_name = "SHARE", value_parser = loss)]
    loss: Option<LossRate>,
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
    let change = LinkChange {
        is_up: arguments.state.map(|state| state == State::Up),
        rate_bps: arguments.rate.map(Rate::as_bps),
        delay_ns: arguments.delay.map(Duration::as_ns),
        loss_ppb: arguments.loss.map(LossRate::billionths),
    };
    if change == LinkChange::default() {
        bail!("found no change; allowed: up, down, --rate, --delay and --loss");
    }
    let lab = control::find(arguments.which.lab.as_deref())?;
    println!("{}", lab.change_link(&arguments.link, change)?);
    Ok(0)
}

fn rate(text: &str) -> Result<Rate, String> {
    let rate = tailcut_scenario::rate(text);
    rate.ok_or("allowed: a rate above 0 with a unit, such as 10Mbps".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = tailcut_scenario::duration(text);
    duration.ok_or("allowed: a time with a unit, such as 1ms".to_owned())
}

fn loss(text: &str) -> Result<LossRate, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let loss = share.ok().and_then(LossRate::from_share);
    loss.ok_or("allowed: a share from 0 to 1, such as 0.01, or a percentage, such as 1%".to_owned())
}
