//! CPU time of a sidecar for each flow: `tailcut proxy repnet` compared with the npm package's `repnet-proxy`.
//! A flow sends 1 KB and receives 1 KB over a separate connection through two proxies.
//! Each round measures both kinds of proxy in turn. Only the CPU time of the proxies' processes counts.
//!
//! ```sh
//! cargo run --release -p tailcut-repnet --features proxy --example proxy_cost -- [ROUNDS] [FLOWS]
//! ```

use clap::{Parser, Subcommand};
use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tailcut_repnet::proxy::{ProxyCommand, execute};
use tailcut_units::median;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const BYTES: usize = 1_024;
const CONCURRENCY: usize = 16;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// Number of measurements of each pair of proxies
    #[arg(default_value_t = 9)]
    rounds: usize,
    /// Flows in each round
    #[arg(default_value_t = 2_000)]
    flows: usize,
}

/// This program also runs as the proxy.
#[derive(Subcommand)]
enum Role {
    #[command(subcommand)]
    Proxy(ProxyCommand),
}

/// Proxy that runs in a separate process.
struct Running {
    child: Child,
    port: u16,
    /// Output of the proxy. The pipe stays open, because the proxy ends if it cannot write.
    _said: io::BufReader<ChildStdout>,
}

impl Running {
    fn start(mut command: Command, route: &str) -> io::Result<Self> {
        let mut child = command
            .args(["--no-admin", "--route", route])
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (mut said, mut line) = (io::BufReader::new(out), String::new());
        io::BufRead::read_line(&mut said, &mut line)?;
        let mut words = line.split(' ');
        let port = words.find_map(|word| word.strip_prefix("127.0.0.1:")?.parse().ok());
        let port = port.ok_or_else(|| io::Error::other(format!("no port in {line:?}")))?;
        Ok(Self {
            child,
            port,
            _said: said,
        })
    }

    /// Returns the CPU time of all threads of the process in nanoseconds.
    fn cpu(&self) -> io::Result<u64> {
        let mut all = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let first = text
                .split(' ')
                .next()
                .and_then(|first| first.parse::<u64>().ok());
            all += first.ok_or(io::ErrorKind::InvalidData)?;
        }
        Ok(all)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two proxies of one kind: one behind a client, and one in front of a server.
struct Pair([Running; 2]);

impl Pair {
    fn start(proxy: impl Fn() -> io::Result<Command>, mode: &str, to: u16) -> io::Result<Self> {
        let route = |to: u16, side: &str| {
            format!(
                "name=x,listen=127.0.0.1:0,to=127.0.0.1:{to},replicate={side},mode={mode},\
                 assumeCapable=true"
            )
        };
        let inner = Running::start(proxy()?, &route(to, "in"))?;
        let outer = Running::start(proxy()?, &route(inner.port, "out"))?;
        Ok(Self([outer, inner]))
    }

    /// Measures the mean CPU time of a flow in nanoseconds.
    async fn measure(&self, flows: usize) -> io::Result<f64> {
        let cpu = || Ok::<_, io::Error>(self.0[0].cpu()? + self.0[1].cpu()?);
        let (before, port) = (cpu()?, self.0[0].port);
        let mut workers = JoinSet::new();
        for worker in 0..CONCURRENCY {
            workers.spawn(async move {
                for _ in (worker..flows).step_by(CONCURRENCY) {
                    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
                    stream.set_nodelay(true)?;
                    let mut bytes = [7; BYTES];
                    stream.write_all(&bytes).await?;
                    stream.read_exact(&mut bytes).await?;
                }
                Ok::<_, io::Error>(())
            });
        }
        while let Some(worker) = workers.join_next().await {
            worker.map_err(io::Error::other)??;
        }
        Ok((cpu()? - before) as f64 / flows as f64)
    }
}

async fn echo() -> io::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.set_nodelay(true)?;
                let (mut from, mut to) = stream.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    Ok(port)
}

/// Returns the median, the minimum and the maximum.
fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    (
        median(&mut values).unwrap_or(f64::NAN),
        values[0],
        values[values.len() - 1],
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    if let Some(Role::Proxy(command)) = &arguments.role {
        return Ok(execute(command)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(compare(&arguments))?)
}

async fn compare(arguments: &Arguments) -> io::Result<()> {
    let to = echo().await?;
    let ours = Arc::new(std::env::current_exe()?);
    let own = || {
        let mut command = Command::new(&*ours);
        command.args(["proxy", "repnet"]);
        Ok(command)
    };
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packages/repnet");
    let npm = || {
        let cli = package.join("dist/proxy/cli.js");
        if !cli.exists() {
            return Err(io::Error::other(
                "packages/repnet is not built: npm run build",
            ));
        }
        let mut command = Command::new("node");
        command.arg(cli);
        Ok(command)
    };
    let (rounds, flows) = (arguments.rounds, arguments.flows);
    println!("{rounds} rounds of {flows} flows, {BYTES} bytes there and back\n");
    println!("| mode | us of CPU for each flow: tailcut | npm | ratio (least to most) |");
    println!("|---|---|---|---|");
    for mode in ["off", "repsyn", "repflow"] {
        let (rust, node) = (Pair::start(own, mode, to)?, Pair::start(npm, mode, to)?);
        let mut taken = Vec::new();
        // The first round only warms up, and is not counted.
        for round in 0..=rounds {
            let both = (rust.measure(flows).await?, node.measure(flows).await?);
            if round > 0 {
                taken.push(both);
            }
        }
        let us = |part: fn(&(f64, f64)) -> f64| spread(taken.iter().map(part).collect()).0 / 1e3;
        let ratios = taken.iter().map(|(rust, node)| rust / node).collect();
        let (middle, least, most) = spread(ratios);
        let (rust, node) = (us(|both| both.0), us(|both| both.1));
        println!("| {mode} | {rust:.0} | {node:.0} | {middle:.2} ({least:.2} to {most:.2}) |");
    }
    Ok(())
}
