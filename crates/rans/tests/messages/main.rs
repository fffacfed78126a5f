//! Messages as bytes on real sockets, before a guard and a gateway: which requests are refused, which reach the service,
//! and how they look there. Each case names the section of the RFC that decides it.

mod answers;
mod http1;
mod http2;
mod stage;
mod uploads;
mod windows;
