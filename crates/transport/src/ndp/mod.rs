//! NDP (Handley et al., SIGCOMM 2017).
//! The paper is "Re-architecting datacenter networks and stacks for low latency and high performance".
//! A sender pushes its first window at line rate, without a handshake.
//! Switches trim packets that do not fit into their queues.
//! After the first window, the receiver pulls packets at the rate of its link.
//!
//! - A flow consists of packets of one MSS, numbered from 0. The packets of the first window are pushed together.
//!   Each packet of the first window has the flag SYN and its number, so the first arrival opens the session.
//! - The receiver answers each data packet immediately with an ACK, and each trimmed header with a NACK.
//!   Each answer also adds a pull to the pull queue of the interface ([`crate::ndp::NdpConfig::pull_interval`]).
//! - Pulls contain a cumulative count for each session.
//!   When the count grows by n, the sender may send n packets, retransmissions first.
//!   A NACK only queues a retransmission.
//! - The last packet of a flow has a flag.
//!   When the receiver has seen the flag, it keeps at most one pull for each missing packet.
//! - If a switch returns a header, the sender resends the packet immediately only if it expects no further pull.
//!   If the sender expects a pull, the packet waits for this pull.
//! - The sender uses each path for one packet, in random order, and then chooses a new random order.
//!   For a limited time the sender excludes paths that lose much more than the other paths.
//! - Both ends keep the addresses of a session reserved for a time-wait after its end.
//! - NDP+ (SCDP paper, section V) is NDP with priority classes.
//!   A flow moves to a lower class when it has sent more bytes ([`crate::ndp::NdpConfig::demotion`]).
//!
//! Deviations
//! - If a pull arrives and the sender has nothing to send, the sender saves the pull and uses it at the next NACK.
//!   A sender saves at most a window of pulls.
//!   On several paths, the pull for a trimmed header may arrive before its NACK.
//!   If the sender dropped the early pull, the packet would wait for a timeout.
//! - If the pull queue is idle, the ACK or NACK contains the pull, as in the authors' public simulator.
//!   ACKs, NACKs and pulls all contain the count of pulls and the number of the first missing packet.
//! - The paper has a timer for each packet. Here only the oldest packet in flight has a timer.
//!   The timer starts when the oldest packet is sent, or when a packet becomes the oldest.
//!   Packets that wait for pulls have no timer, as in the authors' public simulator.
//!   But if no packet is in flight, a timer with backoff detects lost pulls.
//!   The timer runs for twelve times the longest wait for a pull of this flow, but at least for the initial timeout.
//!   Before the first pull, the timer runs for the longest timeout. Without a due pull, the initial timeout applies.
//! - The paper gives no thresholds for the scoreboard of paths. The thresholds come from the authors' public simulator.
//!   All paths are judged together, after every 100 answers per path on average.
//! - A pull for a short packet reserves only the time that this packet needs on the link.

mod config;
mod header;
mod host;
mod paths;
mod receiver;
mod sender;
mod window;

pub use config::NdpConfig;
pub use header::{NdpHeader, NdpKind};
pub use host::Host;
pub(crate) use sender::Task;
pub(crate) use window::Window;
