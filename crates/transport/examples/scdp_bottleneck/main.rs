//! SCDP in credit mode behind one drop-tail queue.
//! `cargo run --release -p tailcut-transport --example scdp_bottleneck [PART]`.
//!
//! - `loss`: goodput under random loss. `shares`: SCDP and CUBIC together, and two SCDP transfers.
//! - `crowd`: many SCDP transfers at the same time.
//! - `incast`, `reads` (many to one), `groups` (one to many).
//! - `sweep-loss`, `sweep-shares`: `loss` and `shares` for several rates, round trips and buffers. Each takes an hour.
//! - `cell MBIT MS PACKETS SEEDS`: both measurements for one link.
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used)]

#[path = "../../tests/bottleneck/mod.rs"]
mod bottleneck;
mod groups;
mod hosts;
mod incast;
mod loss;
mod reads;
mod shares;

use std::env;

fn main() {
    let part = env::args().nth(1).unwrap_or_default();
    let is = |name: &str| part.is_empty() || part == name;
    if is("loss") {
        loss::print();
    }
    if is("shares") {
        shares::print();
    }
    if is("incast") {
        incast::print();
    }
    if is("reads") {
        reads::print();
    }
    if is("groups") {
        groups::print();
    }
    if part == "sweep-loss" {
        loss::sweep();
    }
    if part == "sweep-shares" {
        shares::sweep();
    }
    if is("crowd") {
        shares::crowd();
    }
    if part == "cell" {
        let numbers: Vec<u64> = env::args()
            .skip(2)
            .map(|one| one.parse().expect("a number"))
            .collect();
        let &[mbit, ms, packets, seeds] = &numbers[..] else {
            println!("cell MBIT MS PACKETS SEEDS");
            return;
        };
        loss::cell(mbit, ms, packets as usize, seeds);
        shares::cell(mbit, ms, packets as usize, seeds);
    }
}
