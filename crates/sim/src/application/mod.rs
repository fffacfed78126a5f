//! Applications: what feeds a run. They hear of time and of their transfers, and answer with orders.
//! The workload's flows, its requests and its storage sessions are applications as are those of one's own.

mod contract;
mod desk;
mod feed;
mod flows;
mod order;
mod own;
mod spreads;
mod together;

pub use contract::{Application, Outcome};
pub use desk::Desk;
pub(crate) use desk::{message, transfer_flow, transfer_index};
pub(crate) use feed::Feed;
pub(crate) use flows::{Flows, Replicating, mixed};
pub(crate) use order::Order;
pub use own::{ApplicationSeat, OwnApplication};
pub(crate) use together::{Kind, Together};
