//! Paper mode: a fixed window of symbols, over switches that trim and have priorities (SCDP paper, section IV).
//!
//! - The sender pushes a window of source symbols with SYN, the options and the highest priority. Then it sends, for each
//!   block, as many symbols as the receiver's count of pulls for that block has grown: first source symbols, then repair
//!   symbols. Symbols go down in class by the bytes that the session has sent. The answer to a pull with FIN has the highest
//!   class.
//! - The receiver keeps a window of requested symbols on their way while it needs symbols. Pulls leave through the paced
//!   queue of the interface.
//! - One to many (section IV-D): a symbol is sent to a multicast group when every receiver that is not done has a pull
//!   pending. Receivers finish alone. The host reports receivers that delay the others, and the application decides what
//!   happens to them.
//! - Many to one (section IV-E): senders have disjoint shares of the symbols, and each pushes a window. The receiver's pulls
//!   go round the senders. A sender that owes symbols for too long gets no pull until a packet of it arrives.
//!
//! Deviations:
//! - The count of pulls is one for each block, as the text of section IV-A says. Algorithms 1 and 2 leave it open, because
//!   they have one block.
//! - The window is an option of SYN symbols too: the receiver must know how many symbols were pushed. Symbols that are
//!   pushed beyond the first block belong to the next one.
//! - Requests are counted, not arrivals: a pull leaves while fewer than a window of requested symbols are on their way and
//!   more are needed. Without loss of headers this gives the paper's K - w pulls, one for each header, and o more after the
//!   first header.
//! - In a group a symbol takes one pull of each receiver, for any block, and belongs to the lowest block that one of the
//!   receivers wants. Otherwise a receiver that lost a symbol of one block and a receiver that waits for the next block would
//!   wait for each other. So a pull has two more counts: of pulls of all blocks, and of blocks that the receiver has whole. A
//!   receiver that gets a symbol that it did not request pulls once more.
//! - A timeout of the sender sends one symbol to each receiver that is not done. A timeout of the receiver treats everything
//!   requested as lost, and requests one symbol, then a window once that symbol has arrived.
//! - A request that only a repair symbol can answer, without any loss, is treated as a loss: the block will have to be
//!   decoded.

pub(super) mod group_demand;
pub(super) mod source;
