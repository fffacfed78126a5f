//! End-to-end tests of the program: arguments, both outputs and the exit code.

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
mod measured;
mod names;
mod narrow;
#[cfg(unix)]
mod proxy;
mod refusals;
mod studies;
mod sweeps;
mod test_dir;
#[cfg(unix)]
mod tutorial;
mod wrong_inputs;
