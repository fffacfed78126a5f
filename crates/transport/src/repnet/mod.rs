//! RepNet: RepFlow and RepSYN as a layer above TCP.
//! The paper is "RepNet: Cutting Tail Latency in Data Center Networks with Flow Replication" (sections II-C and III).
//! RepFlow is from INFOCOM 2014.
//!
//! A short flow opens two connections that differ only in the destination port.
//! So ECMP may send the two connections along different paths.
//! RepFlow sends the flow over both connections, and the flow is complete with the first complete copy.
//! The later copy also continues to its end: its load is the cost of RepFlow.
//! RepSYN sends the flow over the connection that is established first, and resets the other connection.
//!
//! [`Endpoint`] holds the flows of one host, and [`Host`] implements [`Transport`](crate::Transport) with it.
//! [`Machine`] contains only the state machine.
//! Drivers over real sockets use [`Flow`] and [`FlowTable`], which contain no TCP.
//! Names in the code call a connection of a flow a *leg*.
//!
//! Deviations from the paper:
//! - The state machine has more rows than the paper. Some rows are for tombstones.
//!   Other rows are for errors that are not reported while another connection may transfer the flow.
//!   Further rows of the table without a paper number are in `packages/repnet/spec/state-machine.json`.
//!   The layer over TCP raises all events of the table except four.
//!   No connection lags, because bytes are virtual and TCP is part of the simulation (`lag_over_cap`).
//!   The size is known in advance (`bytes_over_limit`).
//!   The losing connection continues to its end for any time (`confirm_timeout`).
//!   A server does not receive the mode (`choice_learned`).
//!   Only a server has a limit of the archive (`archive_over_threshold`).
//!   A client chooses by size before it opens the flow. [`Flow`] raises all events.
//! - The client drops the second connection one waiting-list timeout after the first was established.
//!   After the timeout the server rejects the second connection. The paper's client never drops the second connection.
//! - A connection may open after its flow has ended over the other connection.
//!   The table of the state machine immediately resets a connection that opens after the end of its flow.
//!   In this layer a late connection transfers its copy to the end, if the flow would still have waited for the copy.
//!   The load of late connections is a part of the cost of the paper's flows.
//!   (The paper's server even treats a late connection as a new flow.)
//!   The server's answer is not sent on a late connection.
//! - The server pairs connections at the end of their handshakes, when `accept` reports them.
//!   The server does not pair connections when their SYNs arrive.

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
pub use flow_table::{FlowTable, Placement};
pub use flows_by_name::Ticket;
pub use hello::{Banner, FlowKey, InstanceId, Preamble, Purpose, Rejoin, Status};
pub use host::Host;
pub use socket::{SocketEvent, SocketId};
pub use state::{
    Action, CLIENT_START, Event, Leg, LegState, Machine, Mode, Role, SERVER_START, State, Step,
    transition,
};
pub use waiting_list::{Arrival, ClientAddress, EntryId, Unseen, WaitingList};
