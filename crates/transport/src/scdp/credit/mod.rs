//! Credit mode: a window that follows the path, over networks that do not trim. It is not in the paper.
//!
//! A receiver gives credits: the number of symbols that a sender may have sent in all. It adapts the symbols in flight to
//! delay, losses and marks. Credits are cumulative, so a pull that is lost costs nothing if a later one arrives.

pub(super) mod config;
pub(super) mod control;
pub(super) mod credits;
pub(super) mod demand;
pub(super) mod line;
