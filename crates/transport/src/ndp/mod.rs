//! NDP (Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
//! performance", SIGCOMM 2017): senders push a first window at line rate without a handshake, switches
//! trim what does not fit, and from then on the receiver pulls, at the rate of its own link.
//!
//! - A flow is packets of one MSS, numbered from 0. The first window is pushed at once; every packet of
//!   it says so (SYN) and carries its number, so that whichever arrives first opens the session.
//! - For each data packet the receiver answers at once with an ACK, for each header with a NACK; both
//!   also add a pull to the one queue of the interface ([`crate::ndp::NdpConfig::pull_interval`]).
//! - Pulls are counted a session and the count is cumulative; the sender sends as many packets as the
//!   count has grown, retransmissions first. A NACK only queues a retransmission.
//! - The last packet of a flow is flagged; once the receiver knows where the flow ends, no more pulls
//!   wait than packets are missing.
//! - A header that a switch sent back is resent at once only if no pull is to be expected any more;
//!   otherwise it waits for the next pull.
//! - The sender takes its paths one packet each in a random order, then in another one, and leaves out
//!   for a while the paths that lose much more than the others.
//! - Both ends keep the addresses of a session in use for a time-wait after its end.
//! - NDP+ (SCDP paper, section V) is NDP whose packets go down in class by the bytes that their flow
//!   has sent ([`crate::ndp::NdpConfig::demotion`]).
//!
//! Deviations
//! - A pull that finds nothing to send is not lost: the sender remembers up to a window of them and
//!   spends them on the next NACK. Over many paths the pull of a header may overtake its NACK; without
//!   the memory the packet would then wait for a timeout.
//! - An ACK or NACK carries the pull when the pull queue is idle, as in the authors' public simulator.
//!   ACKs, NACKs and pulls all carry the cumulative count, and where every packet below has arrived.
//! - The paper has a timer a packet. Here the oldest packet in flight has one; it starts when the
//!   packet is sent or becomes the oldest. While all that is missing waits for pulls, the initial
//!   timeout, backed off, guards against lost pulls.
//! - The scoreboard judges all paths at once each time they have had 100 answers on average, by the
//!   thresholds of the authors' public simulator; the paper gives none.
//! - The pull of a packet that turns out to be short is charged only what that takes on the link.

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
