//! Congestion control of the hosts.
//! DCTCP is the kernel's own module, or tailcut's BPF programs if the kernel has no DCTCP with the required parameters.

use crate::bpf::{Dctcp, Parameters};
use anyhow::{Context, Result, bail};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketType};
use std::fs;

/// Name of the kernel's own DCTCP.
const OWN: &str = "dctcp";

/// Congestion control of hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Congestion {
    /// Name of the congestion control in the kernel.
    pub name: String,
    /// Note for the user about the choice of the congestion control.
    pub note: Option<String>,
    /// Required parameters of DCTCP; `None` for other congestion controls.
    dctcp: Option<Parameters>,
}

/// Registration of the congestion control. The value must live as long as the hosts.
#[derive(Debug)]
pub struct Registration {
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

    /// Returns DCTCP with the given parameters.
    pub fn dctcp(parameters: Parameters) -> Self {
        Self {
            dctcp: Some(parameters),
            ..Self::named(OWN)
        }
    }

    /// Makes the congestion control available in the kernel until the returned value is dropped.
    /// Also sets [`Congestion::name`]. Call this function while the machine's own /proc and /sys are mounted.
    ///
    /// # Errors
    /// The kernel has no DCTCP with the required parameters, and this process may not register tailcut's DCTCP.
    pub fn make_available(&mut self) -> Result<Registration> {
        let Some(asked) = self.dctcp else {
            if !has(&self.name)? {
                bail!(
                    "design: found one with the congestion control '{0}', which this kernel does not have; load its \
                     module (modprobe tcp_{0}) or choose another design",
                    self.name
                );
            }
            return Ok(Registration { _ours: None });
        };
        let own = own();
        if own == Some(asked) {
            self.note = Some("DCTCP is this kernel's own (tcp_dctcp)".to_owned());
            return Ok(Registration { _ours: None });
        }
        let ours = match Dctcp::register(asked) {
            Ok(ours) => ours,
            Err(error) => bail!("{}: {error:#}", refused(asked, own)),
        };
        let why = match own {
            None => "this kernel has none",
            Some(_) => "gain or first alpha of this kernel's own DCTCP differs",
        };
        self.name = ours.name().to_owned();
        self.note = Some(format!("DCTCP is tailcut's, {} ({why})", self.name));
        Ok(Registration { _ours: Some(ours) })
    }
}

/// Returns the parameters of the kernel's own DCTCP; `None` for a kernel without DCTCP.
fn own() -> Option<Parameters> {
    if !has(OWN).unwrap_or_default() {
        return None;
    }
    let parameter = |name: &str| {
        let path = format!("/sys/module/tcp_dctcp/parameters/{name}");
        let value = fs::read_to_string(path).ok()?;
        value.trim().parse::<u32>().ok()
    };
    // If the parameters are not readable, the defaults of the module tcp_dctcp apply.
    // The gain is 2^-shift, and alpha has units of 1/1024.
    let shift = parameter("dctcp_shift_g").unwrap_or(4);
    let first = parameter("dctcp_alpha_on_init").unwrap_or(1_024);
    let gain = f64::from(shift).exp2().recip();
    Some(Parameters::new(gain, f64::from(first) / 1_024.0))
}

/// Returns whether the kernel has a congestion control. The function tries to use this congestion control.
/// If this process is root, the attempt makes the kernel load a missing module.
fn has(name: &str) -> Result<bool> {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.context("cannot read the kernel's congestion controls")?;
    if available.split_whitespace().any(|known| known == name) {
        return Ok(true);
    }
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    Ok(set_tcp_congestion(&socket, name).is_ok())
}

/// Returns the error text for parameters of DCTCP that the kernel does not support.
fn refused(asked: Parameters, own: Option<Parameters>) -> String {
    let ours = "run as root, so that tailcut can register its own DCTCP (Linux 6.4 or later)";
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
                 which accepts any value"
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
