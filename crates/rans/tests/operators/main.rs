//! Tests of what an operator sees and sets: logs, metrics, identifiers of requests, routes and certificates.

mod certificates;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod grpc;
mod logs;
mod names;
#[path = "../common/plain_client.rs"]
mod plain_client;
mod programs;
mod reasons;
mod reload;
mod routes;
mod unix;
