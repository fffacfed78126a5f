//! Cost of a flow (RepNet paper, figure 10): the CPU time of client and server together, and the completion time.
//! No other flow is open when a completion time is measured.
//! A flow sends 1 KB and receives 1 KB over a separate connection to the same host.
//! Each round runs all cases in turn, on one thread of this process.
//!
//! ```sh
//! cargo run --release -p tailcut-repnet --example cost -- [ROUNDS] [FLOWS]
//! ```
//!
//! A third argument, the name of a case, runs only this case and prints nothing.
//! Use it with tools that count, such as `strace -c` and `valgrind --tool=callgrind`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tailcut_repnet::{Connector, Counters, FlowSettings, Mode, Settings, TcpListener};
use tailcut_units::median;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net;
use tokio::task::JoinSet;

const BYTES: usize = 1_024;
const HELLO: usize = 32;
const CONCURRENCY: usize = 16;

/// Returns the CPU time of this thread in nanoseconds.
fn cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat");
    let text = text.expect("Linux, with its scheduler's statistics");
    let first = text.split(' ').next().expect("the first field");
    first.parse().expect("a number")
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes).await?;
    stream.write_all(&bytes).await?;
    // The client closes its direction first, so no further bytes arrive.
    match stream.read(&mut bytes).await? {
        0 => Ok(()),
        more => Err(io::Error::other(format!("{more} bytes more"))),
    }
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let mut bytes = [7; BYTES];
    stream.write_all(&bytes).await?;
    stream.read_exact(&mut bytes).await?;
    Ok(())
}

/// Starts a server with one connection for each flow.
async fn plain_server() -> io::Result<SocketAddr> {
    let listener = net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.set_nodelay(true)?;
                serve(stream).await
            });
        }
    });
    Ok(address)
}

/// Starts a server that first exchanges as many bytes as a hello contains.
async fn greeting_server() -> io::Result<SocketAddr> {
    let listener = net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.set_nodelay(true)?;
                let mut hello = [0; HELLO];
                stream.read_exact(&mut hello).await?;
                stream.write_all(&hello).await?;
                serve(stream).await
            });
        }
    });
    Ok(address)
}

async fn repnet_server(counters: Counters) -> io::Result<SocketAddr> {
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = TcpListener::bind_with(any, Settings::default(), counters).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    Ok(address)
}

fn connector(mode: Option<Mode>, counters: &Counters) -> io::Result<Connector> {
    let settings = Settings {
        flow: FlowSettings {
            mode,
            assume_capable: true,
            ..FlowSettings::default()
        },
        ..Settings::default()
    };
    Ok(Connector::with_counters(settings, counters.clone())?)
}

#[derive(Clone)]
enum Case {
    Plain(SocketAddr),
    /// Two connections with hellos, without this library. The mode decides whether one or both carry the flow.
    Bare(SocketAddr, Mode),
    RepNet(Connector, SocketAddr),
}

impl Case {
    async fn flow(&self) -> io::Result<()> {
        match self {
            Self::Plain(to) => {
                let stream = net::TcpStream::connect(to).await?;
                stream.set_nodelay(true)?;
                ask(stream).await
            }
            Self::Bare(to, mode) => {
                let leg = || async {
                    let mut stream = net::TcpStream::connect(to).await?;
                    stream.set_nodelay(true)?;
                    let mut hello = [1; HELLO];
                    stream.write_all(&hello).await?;
                    stream.read_exact(&mut hello).await?;
                    Ok::<_, io::Error>(stream)
                };
                match mode {
                    Mode::RepFlow => {
                        let whole = || async { ask(leg().await?).await };
                        tokio::try_join!(whole(), whole())?;
                        Ok(())
                    }
                    Mode::RepSyn => {
                        let (first, second) = tokio::try_join!(leg(), leg())?;
                        second.set_zero_linger()?;
                        drop(second);
                        ask(first).await
                    }
                }
            }
            Self::RepNet(connector, to) => {
                let stream = connector.connect("127.0.0.1", to.port()).await?;
                stream.set_nodelay(true)?;
                ask(stream).await
            }
        }
    }
}

/// Measures the mean CPU time of a flow in nanoseconds.
async fn measure(case: &Case, flows: usize, counters: &Counters) -> io::Result<f64> {
    let before = cpu();
    let mut workers = JoinSet::new();
    for worker in 0..CONCURRENCY {
        let case = case.clone();
        workers.spawn(async move {
            for _ in (worker..flows).step_by(CONCURRENCY) {
                case.flow().await?;
            }
            Ok::<_, io::Error>(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker.expect("a worker")?;
    }
    // The measurement includes work that continues after the end of a flow.
    loop {
        let stats = counters.snapshot();
        if stats.live + stats.lingering + stats.pending_hellos == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((cpu() - before) as f64 / flows as f64)
}

/// Measures the mean completion time of a flow in microseconds, when no other flow is open.
async fn alone(case: &Case, flows: usize) -> io::Result<f64> {
    let began = Instant::now();
    for _ in 0..flows {
        case.flow().await?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / flows as f64)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| match arguments.next() {
        Some(text) => text.parse().map_err(io::Error::other),
        None => Ok(default),
    };
    let (rounds, flows) = (number(9)?, number(400)?);
    let only = arguments.next();
    let counters = Arc::new(Counters::new());
    let repnet = repnet_server((*counters).clone()).await?;
    let (plain, greeting) = (plain_server().await?, greeting_server().await?);
    let own = |mode| connector(mode, &counters);
    // Each case has a baseline: the same work without this library.
    let cases = [
        ("one connection", Case::Plain(plain), 0),
        ("mode off", Case::RepNet(own(None)?, plain), 0),
        (
            "two bare connections, one carries the flow",
            Case::Bare(greeting, Mode::RepSyn),
            0,
        ),
        ("RepSYN", Case::RepNet(own(Some(Mode::RepSyn))?, repnet), 2),
        (
            "two bare connections, both carry the flow",
            Case::Bare(greeting, Mode::RepFlow),
            0,
        ),
        (
            "RepFlow",
            Case::RepNet(own(Some(Mode::RepFlow))?, repnet),
            4,
        ),
    ];
    if let Some(only) = only {
        let known = cases.iter().find(|(name, ..)| *name == only);
        let (_, case, _) = known.ok_or_else(|| io::Error::other(format!("no case '{only}'")))?;
        for _ in 0..rounds {
            measure(case, flows, &counters).await?;
        }
        return Ok(());
    }
    let mut taken = vec![Vec::new(); cases.len()];
    let mut times = taken.clone();
    // The first round only warms up, and is not counted.
    for round in 0..=rounds {
        for (((_, case, _), taken), times) in cases.iter().zip(&mut taken).zip(&mut times) {
            let cost = measure(case, flows, &counters).await?;
            let time = alone(case, flows).await?;
            if round > 0 {
                taken.push(cost);
                times.push(time);
            }
        }
    }
    println!("{rounds} rounds of {flows} flows, {BYTES} bytes there and back\n");
    println!(
        "| case | us of CPU for each flow | against one connection | against the bare case | us alone \
         | us longer than one connection (least to most) |"
    );
    println!("|---|---|---|---|---|---|");
    for (at, (name, _, bare)) in cases.iter().enumerate() {
        let us = median(&mut taken[at].clone()).unwrap_or(f64::NAN) / 1_000.0;
        let (one, bare) = (
            ratio(&taken[at], &taken[0]),
            ratio(&taken[at], &taken[*bare]),
        );
        let alone = median(&mut times[at].clone()).unwrap_or(f64::NAN);
        let longer = times[at].iter().zip(&times[0]);
        let mut longer: Vec<f64> = longer.map(|(own, plain)| own - plain).collect();
        let added = median(&mut longer).unwrap_or(f64::NAN);
        let (shortest, longest) = (longer[0], longer[longer.len() - 1]);
        println!(
            "| {name} | {us:.0} | {one} | {bare} | {alone:.0} | {added:.0} ({shortest:.0} to \
             {longest:.0}) |"
        );
    }
    Ok(())
}

/// Returns the median of the ratios of all rounds, with the minimum and the maximum.
fn ratio(own: &[f64], other: &[f64]) -> String {
    let ratios = own.iter().zip(other).map(|(own, other)| own / other);
    let mut ratios: Vec<f64> = ratios.collect();
    let middle = median(&mut ratios).unwrap_or(f64::NAN);
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    format!("{middle:.2} ({least:.2} to {most:.2})")
}
