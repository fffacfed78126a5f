//! RepFlow and RepSYN, as stories.

mod endpoint;
mod flow;
mod flow_table;
mod host;
#[path = "../operations/mod.rs"]
mod operations;
mod operations_property;
#[path = "../pair/mod.rs"]
mod pair;
mod state_machine;
mod waiting_list;
