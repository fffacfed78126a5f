//! Conversion between frames of real hosts and packets of the fabric.

mod buffer;
mod egress;
mod ingress;
mod line;
mod purge;
mod shown;
mod tcp;
mod trimming;

pub use buffer::{Buffers, Frame};
pub use egress::leave;
pub use ingress::{Arrival, Destination, Refusal, arrive, code_point, line_time};
pub use line::LINE_OVERHEAD;
pub use purge::by_reset;
pub use shown::OnFrames;
pub use tcp::TcpSegment;
pub use trimming::TrimCodes;
