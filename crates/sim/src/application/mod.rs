//! Applications. Applications start all transfers of a run.
//! An application acts at given times and on events of its transfers, and replies with orders.
//! Flows of the workload, requests and storage sessions are applications, like custom applications.

mod application_set;
mod contract;
mod desk;
mod flows;
mod load_only;
mod multicast;
mod order;
mod own;
mod runner;

pub(crate) use application_set::{ApplicationSet, Kind};
pub use contract::{Application, Outcome};
pub use desk::Desk;
pub(crate) use desk::{message, transfer_flow, transfer_index};
pub(crate) use flows::{Flows, Replicating, mixed};
pub(crate) use load_only::LoadOnly;
pub(crate) use order::Order;
pub use own::{ApplicationSeat, OwnApplication};
pub(crate) use runner::ApplicationRunner;
