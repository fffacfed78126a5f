//! RepNet: RepFlow and RepSYN as a layer above TCP ("RepNet: Cutting Tail Latency in Data Center
//! Networks with Flow Replication", sections II-C and III; RepFlow: INFOCOM 2014).
//!
//! A short flow opens two connections that differ in the destination port only, so that ECMP may
//! send them along different paths. RepFlow sends the flow over both and is done with the first
//! complete copy, while the other runs to its end: its load is the cost. RepSYN sends it over the
//! connection that is established first and resets the other. [`Endpoint`] holds many flows of one
//! host; [`Host`] makes a [`Transport`](crate::Transport) of it; [`Machine`] is the state machine
//! alone. Drivers over real sockets use [`Flow`] and [`FlowTable`], which own no TCP.
//!
//! Deviations from the paper:
//! - Tombstones, errors that stay silent while another connection may carry the flow, and the other
//!   rows without a paper number in `packages/repnet/spec/state-machine.json`. Of that table's events
//!   this layer raises all but four: over virtual bytes and one's own TCP nothing lags
//!   (`lag_over_cap`), a size is known before (`bytes_over_limit`), the loser runs to its end however
//!   long it takes (`confirm_timeout`), and a server is not told the mode (`choice_learned`). The
//!   archive's limit (`archive_over_threshold`) is a server's: a client chooses by size before it
//!   opens. [`Flow`] raises all of them.
//! - The client gives the second connection up one waiting-list timeout after the first was
//!   established (paper: never): after that the server turns it away.
//! - A connection that opens after the flow has ended over the other one is not reset at once, as the
//!   table has it: while the flow would still have waited for it, it carries its copy to the end, for
//!   nothing, since that load is what the paper's flows cost. (The paper's server even takes it for a
//!   new flow.) What the server answered is not sent on it.
//! - Which connections meet is decided at the end of their handshakes, as `accept` reports them, not
//!   at their SYNs.

mod archive;
mod config;
mod delivery;
mod endpoint;
mod flow;
mod flow_table;
mod flows_by_name;
mod hello;
mod host;
mod socket;
mod state;
mod waiting_list;

pub use archive::Archive;
pub use config::RepNetConfig;
pub use delivery::{Delivery, Diverged};
pub use endpoint::Endpoint;
pub use flow::{Cause, Command, Flow, FlowLimits, Reason, Refusal};
pub use flow_table::{FlowTable, Place};
pub use flows_by_name::Ticket;
pub use hello::{Banner, FlowKey, InstanceId, Preamble, Purpose, Rejoin, Status};
pub use host::Host;
pub use socket::{SocketEvent, SocketId};
pub use state::{
    Action, CLIENT_START, Event, Leg, LegState, Machine, Mode, Role, SERVER_START, State, Step,
    transition,
};
pub use waiting_list::{Arrival, ClientAddress, EntryId, Unseen, WaitingList};
