//! Comparison of `tailcut cast` with other programs, in network namespaces of one machine.

mod cpu;
mod memory;
mod net;
mod peers;
mod quic;
mod table;
mod tcp;

use clap::{Parser, Subcommand};
use peers::{Peer, Setting};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use table::Row;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare the programs: each program in turn, for a number of rounds
    Run(Run),
    /// Small quinn program: receive once, and answer with the BLAKE3 hash
    QuicRecv {
        listen: SocketAddr,
        /// Compute no hash
        #[arg(long)]
        bare: bool,
    },
    /// Small quinn program: send a file and check the hash
    QuicSend {
        to: SocketAddr,
        file: PathBuf,
        /// Send this many bytes from memory in place of the file, and compute no hash
        #[arg(long)]
        bare: bool,
    },
    /// Small TCP program: receive once, and answer with the BLAKE3 hash
    TcpRecv { listen: SocketAddr },
    /// Small TCP program: send a file and check the hash
    TcpSend {
        to: SocketAddr,
        file: PathBuf,
        /// Send this many bytes from memory in place of the file
        #[arg(long)]
        memory: bool,
    },
    /// Receive this many bytes into memory, as objects with their hashes, with the endpoints of `tailcut cast`
    MemoryRecv { listen: SocketAddr, bytes: u64 },
    /// Send this many bytes as objects from memory, with the endpoints of `tailcut cast`
    MemorySend {
        to: SocketAddr,
        bytes: u64,
        /// Size of an IP packet in bytes
        mtu: u16,
    },
}

#[derive(clap::Args)]
struct Run {
    /// Measured program
    #[arg(long, default_value = "../../target/release/tailcut")]
    tailcut: PathBuf,
    /// Size of the sent file in MiB
    #[arg(long, default_value_t = 1024)]
    mib: u64,
    /// Send a directory in place of the file: the number of files, and the size of each in bytes
    #[arg(long, value_name = "COUNT,BYTES", value_parser = tree)]
    tree: Option<(u32, u64)>,
    /// Number of measurements of each program
    #[arg(long, default_value_t = 6)]
    rounds: u32,
    /// Folder for all files of a measurement; in memory by default
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Programs to measure; by default all that fit the setting
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Receiving hosts: 1 over one link, more through a switch
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    receivers: u8,
    /// Size of an IP packet in bytes, 1280 to 9000
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1_280..=9_000))]
    mtu: u16,
    /// Use the switch even with one receiver
    #[arg(long)]
    switch: bool,
}

fn tree(text: &str) -> Result<(u32, u64), String> {
    let parts = text.split_once(',');
    let parsed = parts.and_then(|(count, bytes)| Some((count.parse().ok()?, bytes.parse().ok()?)));
    parsed.ok_or_else(|| format!("{text:?}; allowed: COUNT,BYTES such as 100000,4096"))
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(run) => compare(&run),
        Command::QuicRecv { listen, bare } => quic::receive(listen, bare),
        Command::QuicSend { to, file, bare } => quic::send(to, &file, bare),
        Command::TcpRecv { listen } => tcp::receive(listen),
        Command::TcpSend { to, file, memory } => tcp::send(to, &file, memory),
        Command::MemoryRecv { listen, bytes } => memory::receive(listen, bytes),
        Command::MemorySend { to, bytes, mtu } => memory::send(to, bytes, mtu),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(run: &Run) -> io::Result<()> {
    if unsafe { libc::geteuid() } != 0 {
        return Err(io::Error::other(
            "this program creates network namespaces: run it as root",
        ));
    }
    let home = run.dir.join(format!("cast-bench-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let result = rounds(run, &home);
    std::fs::remove_dir_all(&home)?;
    result
}

fn rounds(run: &Run, home: &Path) -> io::Result<()> {
    let is_switched = run.switch || run.receivers > 1;
    let (source, bytes) = make_source(run, home)?;
    let root = digest(&source)?;
    let net = net::Net::new(run.receivers.into(), is_switched, run.mtu)?;
    let setting = Setting {
        home: home.to_owned(),
        tailcut: std::fs::canonicalize(&run.tailcut)?,
        source,
        bytes,
        is_tree: run.tree.is_some(),
        mtu: run.mtu,
        net,
    };
    let all = peers::all(&setting);
    let wanted: Vec<&Peer> = all
        .iter()
        .filter(|peer| match &run.only[..] {
            [] => peer.fits(&setting),
            only => only.iter().any(|name| name == peer.name),
        })
        .collect();
    if wanted.is_empty() {
        let names: Vec<&str> = all.iter().map(|peer| peer.name).collect();
        let names = names.join(", ");
        return Err(io::Error::other(format!(
            "--only selects no program; allowed: {names}"
        )));
    }
    for missing in wanted.iter().filter_map(|peer| peer.missing()) {
        eprintln!("missing: {missing}");
    }
    let usable: Vec<&Peer> = wanted
        .into_iter()
        .filter(|peer| peer.missing().is_none())
        .collect();
    let mut rows: Vec<Row> = usable.iter().map(|peer| Row::new(peer.name)).collect();
    for round in 0..run.rounds {
        for (peer, row) in usable.iter().zip(&mut rows) {
            let sample = peers::measure(peer, &setting, &root);
            match sample {
                Ok(sample) => row.add(sample),
                Err(error) => {
                    eprintln!("round {}: {}: {error}", round + 1, peer.name);
                    row.failed += 1;
                }
            }
        }
    }
    let what = match run.tree {
        Some((count, size)) => format!("{count} files of {size} bytes"),
        None => format!("a file of {} MiB", run.mib),
    };
    println!(
        "{what}, {} receiver(s) {}, MTU {}, {} rounds in turn\n",
        run.receivers,
        if is_switched {
            "through a switch"
        } else {
            "over a veth"
        },
        run.mtu,
        run.rounds
    );
    table::print(&rows);
    Ok(())
}

/// Creates the source, and returns its path and its size in bytes.
/// The bytes are random, so that no program can compress them.
fn make_source(run: &Run, home: &Path) -> io::Result<(PathBuf, u64)> {
    let mut random = blake3::Hasher::new().update(b"cast bench").finalize_xof();
    let source = home.join("source");
    let Some((count, size)) = run.tree else {
        let mut file = std::fs::File::create(&source)?;
        let mut buffer = vec![0; 1 << 20];
        for _ in 0..run.mib {
            random.fill(&mut buffer);
            file.write_all(&buffer)?;
        }
        file.sync_all()?;
        return Ok((source, run.mib << 20));
    };
    let mut buffer = vec![0; size as usize];
    for number in 0..count {
        // A file system is slow with very large directories, so each directory has a hundred files.
        let directory = source.join(format!("{:03}/{:03}", number / 10_000, number / 100 % 100));
        if number % 100 == 0 {
            std::fs::create_dir_all(&directory)?;
        }
        random.fill(&mut buffer);
        std::fs::write(directory.join(format!("{:02}", number % 100)), &buffer)?;
    }
    Ok((source, u64::from(count) * size))
}

/// Returns the hash of a file, or of the names and contents of all files in a directory.
pub fn digest(path: &Path) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    add(path, &mut hasher)?;
    Ok(hasher.finalize())
}

fn add(path: &Path, hasher: &mut blake3::Hasher) -> io::Result<()> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            hasher.update(name.as_encoded_bytes()).update(b"/");
            add(&path.join(name), hasher)?;
        }
        return Ok(());
    }
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            count => hasher.update(&buffer[..count]),
        };
    }
}
