//! SCDP over UDP sockets: the driver of [`Host`](tailcut_transport::scdp::Host) under the wall clock.
//!
//! - [`Endpoint`]: sends objects and receives them, for threads and for tasks.
//!   - [`send`](Endpoint::send): one to one.
//!   - [`send_share`](Endpoint::send_share): several senders of one object to one receiver. They agree on a
//!     session ([`new_session`]); the receiver has nothing to do.
//!   - [`send_to_all`](Endpoint::send_to_all): one to several, by datagrams to each.
//!   - [`send_to_group`](Endpoint::send_to_group) and [`join`](Endpoint::join): one to several, by
//!     datagrams to an IP multicast group.
//!   - [`receive`](Endpoint::receive) and [`arrival`](Endpoint::arrival): the next object, of whichever
//!     kind.
//! - [`Sending`]: an object on its way: [`wait`](Sending::wait) or `.await`,
//!   [`progress`](Sending::progress) of each receiver, [`cancel`](Sending::cancel).
//! - [`Options`]: [`Control::Adaptive`] for any network, [`Control::Window`] (the paper's mode) for
//!   switches that trim; a pre-shared key; what memory peers may fill.
//! - [`Detached`]: the same without a socket and a clock.
//!
//! A thread runs each endpoint, and no call of its waits: it takes a batch of datagrams, hands them to
//! the transport, does what is due, and sends what the transport has to send as another batch. The
//! bytes of an object leave from where the application has them; those that arrive are copied once, to
//! their place in the object. Other threads decode.
//!
//! The loop takes its clock and its socket as traits ([`Clock`],
//! [`Datagrams`](crate::udp::Datagrams)), so that it runs in a test's time and memory too.

mod answers;
mod board;
mod checks;
mod clock;
mod detached;
mod endpoint;
mod engine;
mod guests;
mod incoming;
mod lines;
mod mailbox;
mod mtu;
mod outcome;
mod outgoing;
mod pace;
mod paper;
mod paths;
mod reason;
mod receiving;
mod room;
mod run;
mod sealing;
mod sending;
mod spares;
mod staging;
mod table;
#[cfg(test)]
mod tests;
mod unsealing;
pub(crate) mod words;

pub use board::{Progress, Stage};
pub use clock::{Clock, WallClock};
pub use detached::Detached;
pub use endpoint::{Endpoint, Options, Sending, new_session};
pub use engine::Counts;
pub use outcome::{Failure, Received, Sent};
pub use outgoing::Payload;
pub use tailcut_transport::scdp::{Adaptive, Control};
pub use tailcut_transport::{Share, StragglerPolicy, Stragglers};
pub use words::Hearers;
