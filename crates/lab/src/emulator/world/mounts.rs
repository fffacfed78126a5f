//! What hosts have of their own in the file system: `/tmp`, `/run`, and the names of the others.

use crate::emulator::addresses;
use anyhow::{Context, Result};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use tailcut_units::HostId;

/// Where a lab keeps what its hosts have of their own. Programs do not see it: each has its host's own `/run`
/// in its place.
const STORE: &str = "/run";
/// The directories that each host has of its own, and their permissions. `/run` comes last, since it hides
/// the others.
const OWN: [(&str, u32); 2] = [("tmp", 0o1777), ("run", 0o755)];

/// Makes this process's mounts invisible to others, and lays out what the hosts have.
///
/// # Errors
/// The system refuses.
pub fn lay_out(hosts: u32, routers: &[(String, Ipv4Addr)]) -> Result<()> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private).context("cannot take the lab's mounts apart from the machine's")?;
    // The lab's own processes, and no others. Where a container hides parts of /proc, the kernel refuses.
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
    mount_bind(&names, "/etc/hosts").context("cannot give the hosts their names in /etc/hosts")?;
    // There is nobody to ask for other names. Where the file leads into /run, it is gone already.
    let nobody = Path::new(STORE).join("resolv.conf");
    fs::write(&nobody, "").context(refused)?;
    let _ = mount_bind(&nobody, "/etc/resolv.conf");
    Ok(())
}

/// Gives this process a host's own directories. It has to be in a mount namespace of its own.
///
/// # Errors
/// The system refuses.
pub fn take(host: HostId) -> Result<()> {
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

/// What `/etc/hosts` says in a lab.
fn hosts_file(hosts: u32, routers: &[(String, Ipv4Addr)]) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
    for host in (0..hosts).map(HostId) {
        let (four, six) = (addresses::ipv4(host), addresses::ipv6(host));
        let number = host.0;
        // Names alone mean IPv4; h0-6 is the same host by IPv6.
        let _ = writeln!(text, "{four} h{number}\n{six} h{number}-6");
    }
    for (name, address) in routers {
        // A host name has no brackets: leaf[0] is leaf0, and edge[1.0] is edge1.0.
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
