//! Messages as bytes on real sockets, which clients send to a guard and to a gateway.
//! The cases show which requests are refused, which ones reach the service, and in which form.
//! Each case names the section of the RFC that decides it.

mod answers;
mod http1;
mod http2;
mod identity;
mod resets;
mod stage;
mod uploads;
mod windows;
