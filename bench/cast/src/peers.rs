//! Programs of the comparison, with the commands that start them.

use crate::cpu::{self, Running};
use crate::digest;
use crate::net::Net;
use crate::table::Sample;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Values that all programs use: the source, the folder for files, and the network.
pub struct Setting {
    /// Folder for all files of a measurement.
    pub home: PathBuf,
    /// Path of the measured program `tailcut`.
    pub tailcut: PathBuf,
    /// File or directory that is sent.
    pub source: PathBuf,
    /// Size of the source in bytes.
    pub bytes: u64,
    /// Whether the source is a directory.
    pub is_tree: bool,
    /// Size of an IP packet in bytes.
    pub mtu: u16,
    pub net: Net,
}

/// Destination of the data that a program receives.
#[derive(Clone, Copy, PartialEq)]
enum Arrives {
    /// On disk, as a copy. It is compared with the source after the transfer.
    AsCopy,
    /// No place. The program compares hashes, or does not check the data.
    Nowhere,
}

type Commands = fn(&Setting, &Receiver) -> Vec<OsString>;

/// Program of the comparison.
pub struct Peer {
    pub name: &'static str,
    /// Command that must be installed. It is empty if the project contains the program.
    needs: &'static str,
    arrives: Arrives,
    takes_tree: bool,
    takes_many: bool,
    /// Whether the program at the receivers ends after the transfer.
    /// A program that does not end is a daemon and has to be stopped.
    ends: bool,
    receive: Commands,
    send: fn(&Setting, &[Receiver]) -> Vec<OsString>,
}

/// Receiving host, with its namespace.
pub struct Receiver {
    space: String,
    address: String,
    directory: PathBuf,
}

impl Peer {
    /// Returns the command that is not installed, if any.
    pub fn missing(&self) -> Option<String> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        // sshd is in /usr/sbin, which not every PATH contains.
        let mut places = std::env::split_paths(&paths).chain([PathBuf::from("/usr/sbin")]);
        let is_there = self.needs.is_empty() || places.any(|place| place.join(self.needs).exists());
        let package = match self.needs {
            "sshd" => "openssh-server",
            "uftpd" => "uftp",
            needs => needs,
        };
        (!is_there).then(|| format!("{}: apt-get install {package}", self.needs))
    }

    pub fn fits(&self, setting: &Setting) -> bool {
        let is_many = setting.net.receivers().len() > 1;
        (!setting.is_tree || self.takes_tree) && (!is_many || self.takes_many)
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn with(
    mut command: Vec<OsString>,
    more: impl IntoIterator<Item = impl Into<OsString>>,
) -> Vec<OsString> {
    command.extend(more.into_iter().map(Into::into));
    command
}

fn cast(setting: &Setting, arguments: &[&str]) -> Vec<OsString> {
    let program = vec![setting.tailcut.clone().into_os_string(), "cast".into()];
    with(program, words(arguments))
}

fn cast_recv(setting: &Setting, at: &Receiver, access: &[&str]) -> Vec<OsString> {
    let listen = format!("{}:7413", at.address);
    let command = cast(setting, &["recv", "--once", "--listen", &listen]);
    with(with(command, words(access)), [at.directory.clone()])
}

fn cast_send(setting: &Setting, to: &[Receiver], access: &[&str]) -> Vec<OsString> {
    let command = cast(setting, &["send", "--mtu", &setting.mtu.to_string()]);
    let command = with(command, [setting.source.clone()]);
    let addresses = to.iter().map(|one| one.address.clone());
    with(with(command, addresses), words(access))
}

fn tcp_send(setting: &Setting, to: &[Receiver], more: &[&str]) -> Vec<OsString> {
    let to = format!("{}:7417", to[0].address);
    let command = with(own(&["tcp-send", &to]), [setting.source.clone()]);
    with(command, words(more))
}

fn key(setting: &Setting) -> String {
    setting.home.join("key").display().to_string()
}

/// Returns a command that runs `line` in a shell, which can discard the output of a program.
fn shell(line: String) -> Vec<OsString> {
    words(&["sh", "-c", &line])
}

/// Returns the folder for the configuration and the keys of sshd.
fn ssh(setting: &Setting) -> PathBuf {
    setting.home.join("ssh")
}

const GROUP: &str = "239.77.0.1";

pub fn all(_: &Setting) -> Vec<Peer> {
    let plain = || Peer {
        name: "cast",
        needs: "",
        arrives: Arrives::AsCopy,
        takes_tree: true,
        takes_many: true,
        ends: true,
        receive: |setting, at| cast_recv(setting, at, &["--insecure"]),
        send: |setting, to| cast_send(setting, to, &["--insecure"]),
    };
    let tcp = || Peer {
        name: "tcp",
        arrives: Arrives::Nowhere,
        takes_tree: false,
        takes_many: false,
        receive: |_, at| own(&["tcp-recv", &format!("{}:7417", at.address)]),
        send: |setting, to| tcp_send(setting, to, &[]),
        ..plain()
    };
    vec![
        Peer {
            name: "iperf3",
            needs: "iperf3",
            arrives: Arrives::Nowhere,
            takes_tree: false,
            takes_many: false,
            receive: |_, _| words(&["iperf3", "-s", "-1"]),
            send: |setting, to| {
                let bytes = setting.bytes.to_string();
                words(&["iperf3", "-C", "cubic", "-c", &to[0].address, "-n", &bytes])
            },
            ..plain()
        },
        plain(),
        Peer {
            name: "cast-pipe",
            arrives: Arrives::Nowhere,
            takes_tree: false,
            receive: |setting, at| {
                shell(format!(
                    "exec {} cast recv - --insecure --listen {}:7413 > /dev/null",
                    setting.tailcut.display(),
                    at.address
                ))
            },
            ..plain()
        },
        Peer {
            name: "cast-memory",
            arrives: Arrives::Nowhere,
            takes_tree: false,
            takes_many: false,
            receive: |setting, at| {
                let listen = format!("{}:7414", at.address);
                own(&["memory-recv", &listen, &setting.bytes.to_string()])
            },
            send: |setting, to| {
                let to = format!("{}:7414", to[0].address);
                let (bytes, mtu) = (setting.bytes.to_string(), setting.mtu.to_string());
                own(&["memory-send", &to, &bytes, &mtu])
            },
            ..plain()
        },
        Peer {
            name: "cast-key",
            receive: |setting, at| cast_recv(setting, at, &["--psk", &key(setting)]),
            send: |setting, to| cast_send(setting, to, &["--psk", &key(setting)]),
            ..plain()
        },
        Peer {
            name: "cast-key-pipe",
            arrives: Arrives::Nowhere,
            takes_tree: false,
            receive: |setting, at| {
                shell(format!(
                    "exec {} cast recv - --psk {} --listen {}:7413 > /dev/null",
                    setting.tailcut.display(),
                    key(setting),
                    at.address
                ))
            },
            send: |setting, to| cast_send(setting, to, &["--psk", &key(setting)]),
            ..plain()
        },
        Peer {
            name: "cast-group",
            takes_tree: true,
            receive: |setting, at| {
                let command = cast(
                    setting,
                    &["recv", "--once", "--listen", "0.0.0.0:7413", "--insecure"],
                );
                with(with(command, ["--group", GROUP]), [at.directory.clone()])
            },
            send: |setting, to| cast_send(setting, to, &["--insecure", "--group", GROUP]),
            ..plain()
        },
        tcp(),
        Peer {
            name: "tcp-memory",
            send: |setting, to| tcp_send(setting, to, &["--memory"]),
            ..tcp()
        },
        Peer {
            name: "quinn",
            arrives: Arrives::Nowhere,
            takes_tree: false,
            takes_many: false,
            receive: |_, at| own(&["quic-recv", &format!("{}:7414", at.address)]),
            send: |setting, to| {
                let command = own(&["quic-send", &format!("{}:7414", to[0].address)]);
                with(command, [setting.source.clone()])
            },
            ..plain()
        },
        Peer {
            name: "quinn-memory",
            arrives: Arrives::Nowhere,
            takes_tree: false,
            takes_many: false,
            receive: |_, at| own(&["quic-recv", "--bare", &format!("{}:7414", at.address)]),
            send: |setting, to| {
                let command = own(&["quic-send", "--bare", &format!("{}:7414", to[0].address)]);
                with(command, [setting.source.clone()])
            },
            ..plain()
        },
        Peer {
            name: "rsync",
            needs: "rsync",
            takes_many: false,
            ends: false,
            receive: |setting, at| {
                let config = setting.home.join("rsyncd.conf");
                let text = format!(
                    "use chroot = no\nuid = 0\ngid = 0\n[copy]\npath = {}\nread only = no\n",
                    at.directory.display()
                );
                let _ = std::fs::write(&config, text);
                let command = words(&[
                    "rsync",
                    "--daemon",
                    "--no-detach",
                    "--port",
                    "7415",
                    "--config",
                ]);
                with(command, [config])
            },
            send: |setting, to| {
                let command = words(&["rsync", "-a", "--whole-file", "--inplace"]);
                let to = format!("rsync://{}:7415/copy/", to[0].address);
                with(with(command, [setting.source.clone()]), [to])
            },
            ..plain()
        },
        Peer {
            name: "scp",
            needs: "sshd",
            takes_many: false,
            ends: false,
            receive: |setting, _| {
                let config = ssh(setting).join("config");
                with(words(&["/usr/sbin/sshd", "-D", "-e", "-f"]), [config])
            },
            send: |setting, to| {
                let key = ssh(setting).join("user");
                let command = with(words(&["scp", "-q", "-p", "-r", "-P", "7416", "-i"]), [key]);
                let options = [
                    "-o",
                    "StrictHostKeyChecking=no",
                    "-o",
                    "UserKnownHostsFile=/dev/null",
                    "-o",
                    "IdentitiesOnly=yes",
                    "-o",
                    "BatchMode=yes",
                    "-F",
                    "/dev/null",
                ];
                let place = format!("root@{}:{}/", to[0].address, to[0].directory.display());
                with(
                    with(with(command, options), [setting.source.clone()]),
                    [place],
                )
            },
            ..plain()
        },
        Peer {
            name: "uftp",
            needs: "uftpd",
            ends: false,
            receive: |setting, at| {
                let command = words(&[
                    "uftpd",
                    "-d",
                    "-q",
                    "-I",
                    "eth0",
                    "-M",
                    GROUP,
                    "-B",
                    "8388608",
                    "-L",
                    "/dev/null",
                    "-D",
                ]);
                let _ = setting;
                with(command, [at.directory.clone()])
            },
            send: |setting, _| {
                let command = words(&[
                    "uftp",
                    "-q",
                    "-R",
                    "-1",
                    "-Y",
                    "none",
                    "-I",
                    "eth0",
                    "-M",
                    GROUP,
                    "-P",
                    "239.77.0.2",
                    "-B",
                    "8388608",
                ]);
                with(command, [setting.source.clone()])
            },
            ..plain()
        },
    ]
}

/// Returns a command that runs this program with the arguments.
fn own(arguments: &[&str]) -> Vec<OsString> {
    let program = std::env::current_exe().unwrap_or_default();
    with(vec![program.into_os_string()], words(arguments))
}

/// Runs one transfer with a program, and compares the received copies with the source.
pub fn measure(peer: &Peer, setting: &Setting, root: &blake3::Hash) -> io::Result<Sample> {
    prepare(setting)?;
    let mut receivers = Vec::new();
    for (number, (space, address)) in setting.net.receivers().into_iter().enumerate() {
        let directory = setting.home.join(format!("copy{number}"));
        std::fs::create_dir(&directory)?;
        receivers.push(Receiver {
            space,
            address,
            directory,
        });
    }
    let result = transfer(peer, setting, &receivers);
    let mut verified = Ok(());
    for receiver in &receivers {
        let copy = receiver.directory.join("source");
        if result.is_ok() && peer.arrives == Arrives::AsCopy && digest(&copy)? != *root {
            verified = Err(io::Error::other(format!("{} is no copy", copy.display())));
        }
        std::fs::remove_dir_all(&receiver.directory)?;
    }
    verified.and(result)
}

fn transfer(peer: &Peer, setting: &Setting, receivers: &[Receiver]) -> io::Result<Sample> {
    let mut running: Vec<Running> = Vec::new();
    for receiver in receivers {
        running.push(cpu::start(
            &receiver.space,
            &(peer.receive)(setting, receiver),
        )?);
    }
    // The receivers need this time before they listen. The receivers' CPU time during this pause also counts.
    std::thread::sleep(Duration::from_millis(400));
    let (began, machine, softirqs) = (Instant::now(), cpu::machine()?, cpu::softirqs()?);
    let sender = cpu::start(&setting.net.sender(), &(peer.send)(setting, receivers))?;
    let sent = sender.succeed();
    let mut seconds = began.elapsed().as_secs_f64();
    let mut ends = Vec::new();
    for one in running {
        ends.push(match (peer.ends, &sent) {
            (true, Ok(_)) => one.succeed(),
            _ => one.stop(),
        });
        if peer.ends {
            seconds = began.elapsed().as_secs_f64();
        }
    }
    let (machine, softirqs) = (cpu::machine()? - machine, cpu::softirqs()? - softirqs);
    let sent = sent?;
    let ends = ends.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Sample {
        bits: setting.bytes as f64 * 8.0 * receivers.len() as f64,
        seconds,
        ends: softirqs + sent.cpu + ends.iter().map(|end| end.cpu).sum::<f64>(),
        machine,
        memory: [
            sent.memory,
            ends.iter().map(|end| end.memory).max().unwrap_or(0),
        ],
    })
}

/// Creates the keys of `tailcut cast` and of sshd, and the configuration of sshd.
fn prepare(setting: &Setting) -> io::Result<()> {
    let key = setting.home.join("key");
    if !key.exists() {
        call(
            Path::new(&setting.tailcut),
            &["cast", "key", &key.display().to_string()],
        )?;
    }
    let ssh = ssh(setting);
    if !ssh.exists() && Path::new("/usr/sbin/sshd").exists() {
        std::fs::create_dir(&ssh)?;
        std::fs::create_dir_all("/run/sshd")?;
        for name in ["host", "user"] {
            let file = ssh.join(name).display().to_string();
            call(
                Path::new("ssh-keygen"),
                &["-q", "-t", "ed25519", "-N", "", "-f", &file],
            )?;
        }
        let at = ssh.display();
        let config = format!(
            "Port 7416\nHostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nSubsystem sftp internal-sftp\n"
        );
        std::fs::write(ssh.join("config"), config)?;
    }
    Ok(())
}

fn call(program: &Path, arguments: &[&str]) -> io::Result<()> {
    let output = std::process::Command::new(program)
        .args(arguments)
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
    }
}
