//! SCDP with credits: a window that follows the path, over networks that do not trim.

pub(super) mod config;
pub(super) mod control;
pub(super) mod credits;
pub(super) mod demand;
pub(super) mod line;
