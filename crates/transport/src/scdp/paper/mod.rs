//! Paper mode: a fixed window of symbols, for switches that trim and have priorities (SCDP paper, section
//! IV).
//!
//! - The sender pushes a window of source symbols, with SYN, the options and the highest priority. After
//!   that, it sends symbols of a block as the receiver's count of pulls for the block grows: first source
//!   symbols, then repair symbols. A session moves to a lower class as it sends more bytes. The answer to a
//!   pull with FIN has the highest class.
//! - While the receiver needs symbols, it keeps a window of requested symbols on their way. Pulls leave
//!   through the paced queue of the interface.
//! - One to many (section IV-D): the sender multicasts a symbol when every receiver that is not done has a
//!   pull pending. Each receiver finishes on its own. The host reports receivers that delay the others, and
//!   the application decides what happens to them.
//! - Many to one (section IV-E): the senders have disjoint shares of the symbols, and each pushes a window.
//!   The receiver pulls from the senders in turn. If a sender is late for too long, the receiver stops
//!   pulling from it until one of its packets arrives.
//!
//! Deviations:
//! - Pulls are counted for each block, as the text of section IV-A requires. Algorithms 1 and 2 have only one
//!   block.
//! - The window is also an option of SYN symbols, because the receiver needs the number of pushed symbols. If the
//!   window is larger than the first block, its further symbols belong to the next block.
//! - The receiver counts requests instead of arrivals: it pulls while fewer than a window of requested symbols are on
//!   their way and it needs more. Without loss of headers, the result is the same as in the paper: for K source
//!   symbols, a window w and an overhead o, there are K - w pulls, one more for each header, and o more after the first
//!   header.
//! - In a group, a symbol uses one pull of each receiver, for any block. It belongs to the lowest block that
//!   one of the receivers wants. Otherwise a receiver that lost a symbol of one block and a receiver that
//!   waits for the next block would wait for each other. So a pull contains two more counts: the pulls for
//!   all blocks, and the blocks that the receiver has completely. A receiver that gets a symbol that it did
//!   not request sends one more pull.
//! - At a timeout, the sender sends one symbol to each receiver that is not done. At a timeout, the receiver
//!   treats all requested symbols as lost. It requests one symbol, and requests a window again when that
//!   symbol has arrived.
//! - If only a repair symbol can answer a request, the receiver acts as after a loss, because it will have to
//!   decode the block.

pub(super) mod group_demand;
pub(super) mod source;
