//! Two classes by flow size: the "ideal" two-priority QoS scheme that HULL is compared with (slides of
//! the HULL paper, NSDI 2012). Small flows go before large ones at every switch, because their hosts
//! know sizes in advance and say so; what carries them is TCP as it is.
//!
//! [`Classified`] is the layer that does it. Data and handshakes of large flows are in the lower class;
//! small flows, and whatever a receiver answers, in the higher.
//!
//! Deviations: the slides say no more of it than that it is ideal and has two priorities; which flows
//! are small, which TCP, and that a class cannot take the other's buffer are ours.

pub use crate::classified::Classified;
