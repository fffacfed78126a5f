//! Network namespaces of a sender and its receivers. A veth connects the sender with a single receiver.
//! A switch (a bridge in a separate namespace) connects the sender with several receivers.

use std::io;
use std::process::Command;

/// Network namespaces. Dropping this value removes them.
pub struct Net {
    name: String,
    is_switched: bool,
    receivers: usize,
}

impl Net {
    pub fn new(receivers: usize, is_switched: bool, mtu: u16) -> io::Result<Self> {
        let name = format!("castbench{}", std::process::id());
        let net = Self {
            name,
            is_switched,
            receivers,
        };
        let (sender, mtu) = (net.sender(), mtu.to_string());
        let hosts: Vec<String> = (0..=receivers).map(|at| net.host(at)).collect();
        for host in &hosts {
            ip(&["netns", "add", host])?;
            ip(&["-n", host, "link", "set", "lo", "up"])?;
        }
        if !is_switched {
            ip(&[
                "link", "add", "eth0", "netns", &sender, "mtu", &mtu, "type", "veth", "peer",
                "name", "eth0", "netns", &hosts[1], "mtu", &mtu,
            ])?;
        } else {
            let switch = net.switch();
            ip(&["netns", "add", &switch])?;
            ip(&[
                "-n",
                &switch,
                "link",
                "add",
                "br0",
                "mtu",
                &mtu,
                "type",
                "bridge",
                "mcast_snooping",
                "0",
            ])?;
            ip(&["-n", &switch, "link", "set", "br0", "up"])?;
            for (at, host) in hosts.iter().enumerate() {
                let port = format!("port{at}");
                ip(&[
                    "link", "add", "eth0", "netns", host, "mtu", &mtu, "type", "veth", "peer",
                    "name", &port, "netns", &switch, "mtu", &mtu,
                ])?;
                ip(&["-n", &switch, "link", "set", &port, "master", "br0", "up"])?;
            }
        }
        for (at, host) in hosts.iter().enumerate() {
            let address = format!("10.91.0.{}/24", at + 1);
            ip(&["-n", host, "address", "add", &address, "dev", "eth0"])?;
            ip(&["-n", host, "link", "set", "eth0", "up"])?;
            ip(&["-n", host, "route", "add", "224.0.0.0/4", "dev", "eth0"])?;
        }
        Ok(net)
    }

    fn host(&self, at: usize) -> String {
        format!("{}-{at}", self.name)
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.name)
    }

    /// Returns the namespace of the sender.
    pub fn sender(&self) -> String {
        self.host(0)
    }

    /// Returns the namespace and the address of each receiver.
    pub fn receivers(&self) -> Vec<(String, String)> {
        (1..=self.receivers)
            .map(|at| (self.host(at), format!("10.91.0.{}", at + 1)))
            .collect()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let hosts = (0..=self.receivers).map(|at| self.host(at));
        for space in hosts.chain(self.is_switched.then(|| self.switch())) {
            let _ = ip(&["netns", "delete", &space]);
        }
    }
}

fn ip(arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(arguments).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!(
                "ip {}: {}",
                arguments.join(" "),
                said.trim()
            )))
        }
    }
}
