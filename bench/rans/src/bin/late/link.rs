//! Link of 200 Mb/s to a network namespace. This program also runs in the namespace, as the server.

use std::process::{Child, Command};
use std::time::Duration;
use tokio::net::TcpStream;

/// Address of the server at the far end of the link.
pub const SERVER: &str = "10.231.7.2";
const CLIENT: &str = "10.231.7.1";

/// Link and namespace. Dropping this value removes both.
pub struct Link {
    namespace: String,
    device: String,
    child: Option<Child>,
}

fn run(line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let outcome = Command::new(program).args(words).output();
    let outcome = outcome.map_err(|error| format!("{line}: {error}"))?;
    match outcome.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{line}: {}",
            String::from_utf8_lossy(&outcome.stderr).trim()
        )),
    }
}

impl Link {
    /// Creates a link to a namespace, and starts this program in the namespace with the role `role`.
    pub async fn new(role: &str, port: u16) -> Result<Self, String> {
        let number = std::process::id();
        let mut link = Self {
            namespace: format!("late-{number}"),
            device: format!("late{number}"),
            child: None,
        };
        let (namespace, device) = (link.namespace.clone(), link.device.clone());
        let inside = format!("ip netns exec {namespace}");
        for line in [
            format!("ip netns add {namespace}"),
            format!("ip link add {device} type veth peer name far netns {namespace}"),
            format!("ip address add {CLIENT}/30 dev {device}"),
            format!("ip link set {device} up"),
            format!("{inside} ip address add {SERVER}/30 dev far"),
            format!("{inside} ip link set far up"),
            format!("{inside} ip link set lo up"),
            format!("{inside} tc qdisc add dev far root tbf rate 200mbit burst 32kb limit 100kb"),
        ] {
            run(&line)?;
        }
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &namespace])
            .arg(own)
            .arg(role);
        let child = command.stdout(std::process::Stdio::null()).spawn();
        link.child = Some(child.map_err(|error| error.to_string())?);
        while TcpStream::connect((SERVER, port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(link)
    }

    /// Returns the number of bytes received over the link.
    pub fn received(&self) -> u64 {
        let path = format!("/sys/class/net/{}/statistics/rx_bytes", self.device);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Errors are ignored, because parts of the link may not exist if its creation failed.
        let _ = run(&format!("ip link delete {}", self.device));
        let _ = run(&format!("ip netns delete {}", self.namespace));
    }
}
