//! The command as its users meet it: a process with arguments, two outputs and an exit code.

mod answers;
mod captures;
#[cfg(target_os = "linux")]
mod cast;
mod collected;
mod commands;
#[cfg(unix)]
mod configured;
mod finished_work;
#[cfg(unix)]
mod gateway;
mod grid;
#[cfg(unix)]
mod guard;
mod interruption;
#[cfg(unix)]
mod languages;
mod limits;
mod names;
mod place;
#[cfg(unix)]
mod proxy;
mod refusals;
mod studies;
mod sweeps;
