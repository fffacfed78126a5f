//! SCDP over UDP sockets: the driver of [`Host`](tailcut_transport::scdp::Host) under the wall clock.
//!
//! - [`Endpoint`]: sends objects and receives them, for threads and for tasks.
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
mod clock;
mod detached;
mod endpoint;
mod engine;
mod guests;
mod incoming;
mod lines;
mod mailbox;
mod outcome;
mod outgoing;
mod pace;
mod paper;
mod reason;
mod receiving;
mod room;
mod run;
mod sealing;
mod sending;
mod staging;
#[cfg(test)]
mod tests;

pub use board::{Progress, Stage};
pub use clock::{Clock, WallClock};
pub use detached::Detached;
pub use endpoint::{Endpoint, Options, Sending, new_session};
pub use engine::Counts;
pub use outcome::{Failure, Received, Sent};
pub use outgoing::Payload;
pub use tailcut_transport::scdp::{Adaptive, Control};
pub use tailcut_transport::{Share, StragglerPolicy, Stragglers};
