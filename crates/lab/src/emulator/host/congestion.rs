//! The hosts' congestion control, and where DCTCP comes from: it is the kernel's own, or ours where the kernel
//! has none.

use crate::bpf::{Dctcp, Parameters};
use anyhow::{Context, Result, bail};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketType};
use std::fs;

/// What the kernel calls its own DCTCP.
const OWN: &str = "dctcp";

/// The congestion control of hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Congestion {
    /// What the kernel calls it.
    pub name: String,
    /// What a user should know of it.
    pub note: Option<String>,
    /// What DCTCP is to be like, where it is that.
    dctcp: Option<Parameters>,
}

/// What the hosts' congestion control takes while they live.
#[derive(Debug)]
pub struct Held {
    _ours: Option<Dctcp>,
}

impl Congestion {
    /// Returns a congestion control of the kernel, by its name.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            note: None,
            dctcp: None,
        }
    }

    /// DCTCP with these parameters.
    pub fn dctcp(parameters: Parameters) -> Self {
        Self {
            dctcp: Some(parameters),
            ..Self::named(OWN)
        }
    }

    /// Sees to it that the kernel has it, and by which name, for as long as what this gives lives. To be
    /// called where the machine's own /proc and /sys are.
    ///
    /// # Errors
    /// The kernel has no DCTCP with the parameters asked for, and this process may not give it ours.
    pub fn provide(&mut self) -> Result<Held> {
        let Some(asked) = self.dctcp else {
            if !has(&self.name)? {
                bail!(
                    "design: found one with the congestion control '{0}', which this kernel does not have; load its \
                     module (modprobe tcp_{0}) or choose another design",
                    self.name
                );
            }
            return Ok(Held { _ours: None });
        };
        let own = own();
        if own == Some(asked) {
            self.note = Some("DCTCP is this kernel's own (tcp_dctcp)".to_owned());
            return Ok(Held { _ours: None });
        }
        let ours = match Dctcp::register(asked) {
            Ok(ours) => ours,
            Err(error) => bail!("{}: {error:#}", refused(asked, own)),
        };
        let why = match own {
            None => "this kernel has none",
            Some(_) => "this kernel's own has another gain or first alpha",
        };
        self.name = ours.name().to_owned();
        self.note = Some(format!("DCTCP is tailcut's, {} ({why})", self.name));
        Ok(Held { _ours: Some(ours) })
    }
}

/// The parameters of the kernel's own DCTCP; `None` where it has none.
fn own() -> Option<Parameters> {
    if !has(OWN).unwrap_or_default() {
        return None;
    }
    let parameter = |name: &str| {
        let path = format!("/sys/module/tcp_dctcp/parameters/{name}");
        let value = fs::read_to_string(path).ok()?;
        value.trim().parse::<u32>().ok()
    };
    // What they are where nobody has changed them, and in which units.
    let shift = parameter("dctcp_shift_g").unwrap_or(4);
    let first = parameter("dctcp_alpha_on_init").unwrap_or(1_024);
    let gain = f64::from(shift).exp2().recip();
    Some(Parameters::new(gain, f64::from(first) / 1_024.0))
}

/// Returns whether the kernel has a congestion control. If root uses it, the kernel loads its module.
fn has(name: &str) -> Result<bool> {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.context("cannot read the kernel's congestion controls")?;
    if available.split_whitespace().any(|known| known == name) {
        return Ok(true);
    }
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    Ok(set_tcp_congestion(&socket, name).is_ok())
}

/// What it takes to have DCTCP with some parameters where the kernel has none, or one with others.
fn refused(asked: Parameters, own: Option<Parameters>) -> String {
    let ours = "run as root, which can give Linux 6.4 and later tailcut's";
    match own {
        None => format!(
            "design: found one with DCTCP, which this kernel does not have; load its module (modprobe \
             tcp_dctcp), or {ours}"
        ),
        Some(own) => {
            let (key, found, allowed) = if own.gain() == asked.gain() {
                ("first_alpha", asked.first_alpha(), own.first_alpha())
            } else {
                ("gain", asked.gain(), own.gain())
            };
            format!(
                "tcp.dctcp_{key}: found {found}; allowed with this kernel's own DCTCP: {allowed}, or {ours}, \
                 which takes any"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_refused_by_name_with_what_it_takes() {
        let usual = Parameters::new(0.0625, 1.0);
        let none = refused(usual, None);
        assert!(
            none.starts_with("design: ") && none.contains("modprobe tcp_dctcp"),
            "{none}"
        );
        let gain = refused(Parameters::new(0.25, 1.0), Some(usual));
        assert!(gain.starts_with("tcp.dctcp_gain: found 0.25; "), "{gain}");
        assert!(
            gain.contains("allowed with this kernel's own DCTCP: 0.0625, or run as root"),
            "{gain}"
        );
        let first = refused(Parameters::new(0.0625, 0.0), Some(usual));
        assert!(
            first.starts_with("tcp.dctcp_first_alpha: found 0; "),
            "{first}"
        );
    }
}
