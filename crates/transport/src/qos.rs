//! Two classes by flow size.
//! HULL is compared with this "ideal" two-priority QoS scheme (slides of the paper, NSDI 2012).
//! Small flows precede large flows at every switch, because the hosts have the flow sizes in advance and set the class.
//! The transport is unchanged TCP.
//!
//! [`Classified`] implements the scheme. Data and handshakes of large flows are in the lower class.
//! Small flows, and all segments that receivers send, are in the higher class.
//!
//! Deviations: the slides only state that the scheme is ideal and has two priorities.
//! The size limit, the TCP variant, and the separate buffers of the two classes are choices of this implementation.

pub use crate::classified::Classified;
