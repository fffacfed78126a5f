//! Hosts in network namespaces, connected by one switch. The namespaces are removed at the end of the test.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// UDP port of `tailcut cast`.
pub const PORT: u16 = 7413;

/// Hosts 1 to n with the addresses 10.77.0.1 to 10.77.0.n, each in a separate namespace.
pub struct Hosts {
    name: String,
    count: usize,
}

impl Hosts {
    pub fn new(count: usize) -> Self {
        assert!(
            rustix::process::geteuid().is_root(),
            "these tests must run as root"
        );
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let hosts = Self {
            name: format!("cast-{}-{number}", std::process::id()),
            count,
        };
        let switch = hosts.space(0);
        words(&format!("netns add {switch}"));
        words(&format!(
            "-n {switch} link add switch type bridge mcast_snooping 0"
        ));
        words(&format!("-n {switch} link set switch up"));
        for host in 1..=count {
            let space = hosts.space(host);
            words(&format!("netns add {space}"));
            words(&format!(
                "-n {space} link add eth0 type veth peer name port{host} netns {switch}"
            ));
            words(&format!("-n {switch} link set port{host} master switch up"));
            words(&format!(
                "-n {space} address add 10.77.0.{host}/24 dev eth0"
            ));
            words(&format!(
                "-n {space} address add fd77::{host}/64 dev eth0 nodad"
            ));
            words(&format!("-n {space} link set lo up"));
            words(&format!("-n {space} link set eth0 up"));
            words(&format!("-n {space} route add 224.0.0.0/4 dev eth0"));
        }
        hosts
    }

    fn space(&self, host: usize) -> String {
        format!("{}-{host}", self.name)
    }

    /// Returns the address of a host.
    pub fn address(&self, host: usize) -> String {
        format!("10.77.0.{host}")
    }

    /// Sets the MTU of a host's interface.
    pub fn set_mtu(&self, host: usize, mtu: u32) {
        let space = self.space(host);
        words(&format!("-n {space} link set eth0 mtu {mtu}"));
    }

    /// Sets the MTU of the switch's port to a host.
    pub fn set_port_mtu(&self, host: usize, mtu: u32) {
        let space = self.space(0);
        words(&format!("-n {space} link set port{host} mtu {mtu}"));
    }

    /// Stops the switch from forwarding multicast packets to a host.
    pub fn deafen(&self, host: usize) {
        let file = format!("/sys/class/net/port{host}/brport/multicast_flood");
        let script = format!("echo 0 >{file}");
        let space = self.space(0);
        ip(&["netns", "exec", &space, "sh", "-c", &script]);
    }

    /// Returns a command that runs on a host.
    pub fn on(&self, host: usize, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.space(host)]);
        inside.arg(command.get_program()).args(command.get_args());
        if let Some(directory) = command.get_current_dir() {
            inside.current_dir(directory);
        }
        inside
    }

    /// Returns the number of bytes that a host's interface has sent, from the kernel's counter.
    pub fn bytes_sent(&self, host: usize) -> u64 {
        let file = "/sys/class/net/eth0/statistics/tx_bytes";
        let space = self.space(host);
        // The command reads the counter of the host's namespace, because `ip netns exec` mounts its /sys.
        let output = Command::new("ip")
            .args(["netns", "exec", &space, "cat", file])
            .output()
            .expect("ip runs");
        let text = String::from_utf8(output.stdout).expect("text");
        text.trim().parse().expect("a number")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..=self.count {
            let space = self.space(host);
            let _ = Command::new("ip")
                .args(["netns", "delete", &space])
                .status();
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output();
    let output = output.expect("missing: ip (iproute2)");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments:?}: {said}");
}

/// Runs `ip` with arguments that are separated by spaces.
fn words(arguments: &str) {
    ip(&arguments.split(' ').collect::<Vec<_>>());
}
