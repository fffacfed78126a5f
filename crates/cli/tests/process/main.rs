//! The command as its users meet it: a process with arguments, two outputs and an exit code.

mod answers;
mod captures;
mod collected;
mod commands;
mod finished_work;
mod interruption;
mod limits;
mod place;
mod refusals;
mod studies;
mod sweeps;
