//! Credit mode, for networks that do not trim. The paper does not contain this mode.
//!
//! A receiver gives credits: the total number of symbols that a sender may have sent.
//! The receiver adapts the number of symbols in flight to delay, losses and marks.
//! Credits are cumulative, so the loss of a pull has no effect if a later pull arrives.

pub(super) mod config;
pub(super) mod control;
pub(super) mod credited_sender;
pub(super) mod credits;
pub(super) mod demand;
