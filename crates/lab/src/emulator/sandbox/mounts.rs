//! Mounts of hosts. Each host has its own directories `/tmp` and `/run`.
//! The hosts also have a file `/etc/hosts` with the names of all hosts.

use crate::emulator::addresses;
use anyhow::{Context, Result};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use tailcut_units::HostId;

/// Directory in which the lab stores the directories of all hosts.
/// Programs on a host do not see this directory, because the host's own `/run` hides it.
const STORE: &str = "/run";
/// Directories that each host has separately, with their permissions.
/// `/run` is mounted last, because its mount hides [`STORE`]: the sources of all other mounts.
const OWN: [(&str, u32); 2] = [("tmp", 0o1777), ("run", 0o755)];

/// Hides the mounts of this process from other processes, and creates the directories and files of the hosts.
///
/// # Errors
/// The kernel rejects a call.
pub fn prepare(hosts: u32, routers: &[(String, Ipv4Addr)]) -> Result<()> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private).context("cannot separate the lab's mounts from the machine's")?;
    // The new `/proc` shows only the processes of the lab.
    // In a container that hides parts of `/proc`, the kernel rejects this mount, and the old `/proc` stays.
    let _ = mount("proc", "/proc", "proc", secure(), None);
    let refused = "cannot mount a file system in memory for the hosts' files";
    mount("tmpfs", STORE, "tmpfs", secure(), Some(c"mode=0755")).context(refused)?;
    for host in 0..hosts {
        for (name, mode) in OWN {
            let path = own(HostId(host), name);
            fs::create_dir_all(&path).context(refused)?;
            let mode = rustix::fs::Mode::from_raw_mode(mode);
            rustix::fs::chmod(&path, mode).context(refused)?;
        }
    }
    let names = Path::new(STORE).join("hosts");
    fs::write(&names, hosts_file(hosts, routers)).context(refused)?;
    mount_bind(&names, "/etc/hosts")
        .context("cannot mount the names of the hosts at /etc/hosts")?;
    // The hosts have no DNS server, so the file is empty.
    // If /etc/resolv.conf is a link into /run, the mount above already hides its target.
    // If the target is already hidden, the mount below fails, but is also not necessary.
    let nobody = Path::new(STORE).join("resolv.conf");
    fs::write(&nobody, "").context(refused)?;
    let _ = mount_bind(&nobody, "/etc/resolv.conf");
    Ok(())
}

/// Mounts the directories of a host. This process must have its own mount namespace.
///
/// # Errors
/// The kernel rejects a call.
pub fn enter(host: HostId) -> Result<()> {
    for (name, _) in OWN {
        let target = Path::new("/").join(name);
        mount_bind(own(host, name), &target)
            .with_context(|| format!("cannot give h{} its own {}", host.0, target.display()))?;
    }
    Ok(())
}

fn own(host: HostId, name: &str) -> PathBuf {
    let host = format!("h{}", host.0);
    Path::new(STORE).join("of").join(host).join(name)
}

const fn secure() -> MountFlags {
    MountFlags::NOSUID.union(MountFlags::NODEV)
}

/// Returns the contents of `/etc/hosts` in a lab.
fn hosts_file(hosts: u32, routers: &[(String, Ipv4Addr)]) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
    for host in (0..hosts).map(HostId) {
        let (four, six) = (addresses::ipv4(host), addresses::ipv6(host));
        let number = host.0;
        // The plain name has only an IPv4 address. The name h0-6 has the IPv6 address of h0.
        let _ = writeln!(text, "{four} h{number}\n{six} h{number}-6");
    }
    for (name, address) in routers {
        // Host names cannot contain brackets: leaf[0] becomes leaf0, and edge[1.0] becomes edge1.0.
        let name = name.replace(['[', ']'], "");
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_name() {
        let router = ("edge[1.0]".to_owned(), addresses::switch_ipv4(0));
        let text = hosts_file(2, &[router]);
        assert!(text.contains("\n10.0.0.1 h0\n") && text.contains("\n10.0.0.2 h1\n"));
        assert!(text.contains("\nfd74:6375:74::2 h1-6\n"));
        assert!(text.ends_with("\n10.0.255.254 edge1.0\n"));
    }
}
