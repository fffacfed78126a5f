//! Paper mode: a fixed window of symbols, for switches that trim and have priorities (SCDP paper, section IV).
//!
//! - The sender pushes a window of source symbols, with SYN, the options and the highest priority.
//!   After the window, the sender sends symbols of a block when the receiver's count of pulls for the block grows.
//!   Source symbols come first, then repair symbols. A session moves to a lower class when it has sent more bytes.
//!   The answer to a pull with FIN has the highest class.
//! - While the receiver needs symbols, it keeps a window of requested symbols pending.
//!   The interface queues and paces all pulls.
//! - One to many (section IV-D): the sender multicasts a symbol.
//!   Before each symbol, every receiver that is not done must have a pull pending.
//!   Each receiver finishes independently.
//!   The host reports receivers that delay the others, and the application decides how to continue.
//! - Many to one (section IV-E): the senders send disjoint sets of symbols, and each sender pushes a window.
//!   The receiver pulls from the senders in turn.
//!   If a sender is late for too long, the receiver does not pull from the sender until one of its packets arrives.
//!
//! Deviations:
//! - The receiver counts pulls for each block, as the text of section IV-A requires.
//!   Algorithms 1 and 2 have only one block.
//! - The window is also an option of SYN symbols, because the receiver needs the number of pushed symbols.
//!   If the window is larger than the first block, the remaining symbols belong to the next block.
//! - The receiver counts requests instead of arrivals.
//!   The receiver pulls while it needs more symbols and less than a window of requested symbols is pending.
//!   Without loss of headers, the result is the same as in the paper.
//!   For K source symbols, a window of w and an overhead of o, the receiver sends K - w pulls.
//!   Each trimmed header adds one pull, and the first trimmed header adds o more pulls.
//! - In a group, a symbol uses one pull of each receiver, for any block.
//!   The symbol belongs to the lowest block that one of the receivers needs.
//!   If the symbol belonged to another block, two receivers could wait for each other.
//!   One receiver has lost a symbol of a block, and the other receiver waits for the next block.
//!   A pull contains two counts that the paper lacks: the pulls for all blocks, and the receiver's complete blocks.
//!   A receiver that gets a symbol without a request sends one more pull.
//! - At a timeout, the sender sends one symbol to each receiver that is not done.
//!   At a timeout, the receiver treats all requested symbols as lost. It requests one symbol.
//!   When that symbol has arrived, the receiver requests a window again.
//! - If only a repair symbol can answer a request, the receiver acts as after a loss. The block will need decoding.

pub(super) mod group_demand;
pub(super) mod source;
