//! Tests of RepFlow and RepSYN.

mod endpoint;
mod flow;
mod flow_table;
mod host;
#[path = "../operations/mod.rs"]
mod operations;
mod operations_property;
#[path = "../pair/mod.rs"]
mod pair;
#[path = "../passing/mod.rs"]
mod passing;
mod state_machine;
mod waiting_list;
