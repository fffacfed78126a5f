//! SCDP over UDP sockets. The driver runs [`Host`](tailcut_transport::scdp::Host) with a real clock.
//!
//! - [`Endpoint`]: sends and receives objects. It has blocking calls for threads and futures for tasks.
//!   - [`send`](Endpoint::send): one sender, one receiver.
//!   - [`send_share`](Endpoint::send_share): several senders of the same object, one receiver.
//!     The senders agree on a session ([`new_session`]). The receiver needs no preparation.
//!   - [`send_to_all`](Endpoint::send_to_all): one sender, several receivers, with datagrams to each receiver.
//!   - [`send_to_group`](Endpoint::send_to_group) and [`join`](Endpoint::join): one sender, an IP multicast group.
//!     All receivers are members of the group.
//!   - [`receive`](Endpoint::receive) and [`arrival`](Endpoint::arrival): the next object that arrives.
//!     The sender may have used any of the calls above.
//! - [`Sending`]: an object that is being sent.
//!   Calls: [`wait`](Sending::wait) or `.await`, [`progress`](Sending::progress) and [`cancel`](Sending::cancel).
//! - [`Options`]: the mode, a pre-shared key, and limits of the memory that peers may use.
//!   The modes are [`Mode::Credit`] for any network and [`Mode::Paper`] for switches that trim.
//! - [`Detached`]: the same protocol engine without a socket and a clock.
//!
//! Each endpoint has one thread. No call in this thread blocks, except the wait for the next event.
//! The thread receives a batch of datagrams and passes them to the transport.
//! Then it runs the timers that are due, and sends the transport's datagrams as another batch.
//! Outgoing bytes are sent directly from the application's buffer.
//! Incoming bytes are copied once, to their offset in the object. Other threads decode blocks.
//!
//! The clock and the socket of the loop are traits ([`Clock`], [`Datagrams`](crate::udp::Datagrams)).
//! So tests can run the loop with a simulated clock and with datagrams in memory.

mod answers;
mod buffer_budget;
pub(crate) mod check_codec;
mod checks;
mod clock;
mod connections;
mod delivery;
mod detached;
mod endpoint;
mod engine;
mod incoming;
mod incoming_sessions;
mod mailbox;
mod mtu;
mod offers;
mod outcome;
mod outgoing;
mod pace;
mod paper;
mod paths;
mod reason;
mod receiving;
mod route;
mod run;
mod sealing;
mod sending;
mod shared_progress;
mod spares;
mod staging;
mod table;
#[cfg(test)]
mod tests;
mod unsealing;

pub use check_codec::GroupListeners;
pub use clock::{Clock, WallClock};
pub use detached::Detached;
pub use endpoint::{Endpoint, Options, Sending, new_session};
pub use engine::Counts;
pub use outcome::{Failure, Received, Sent};
pub use outgoing::Payload;
pub use route::Route;
pub use shared_progress::{Progress, Stage};
pub use tailcut_transport::scdp::{CreditConfig, Mode};
pub use tailcut_transport::{Share, StragglerPolicy, Stragglers};
