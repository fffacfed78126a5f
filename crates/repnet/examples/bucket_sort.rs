//! Distributed sort of the RepNet paper (section IV-C), on one host of its cluster.
//! The host is the master of the jobs that it starts, and a slave for the jobs of all other hosts.
//! A master distributes integers from 0 to 65535 over the slaves by value, in chunks of 20.
//! Each chunk is one short flow.
//! A slave sorts its bucket by counting, and sends the bucket back as one long flow. This flow is never replicated.
//! The Node example of the npm package is compatible.
//!
//! ```sh
//! TRANSPORT=repflow cargo run --release -p tailcut-repnet --example bucket_sort -- \
//!     --nodes 10.0.0.1,10.0.0.2,10.0.0.3 --own 0 [--port 9000] [--jobs 20] [--numbers 50000] [--jitter 10]
//! ```
//!
//! TRANSPORT is `net` (plain tokio), `repflow` or `repsyn`.
//! Each job reads its numbers from a text file and writes them, sorted, to another file.
//! The time of a job is from the first read to the last write.
//! The program prints a line of JSON for each job, and serves the other hosts until its standard input ends.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tailcut_repnet::{Connector, Counters, FlowSettings, Mode, Settings, TcpListener};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net;
use tokio::task::JoinSet;

const VALUES: usize = 65_536;
/// Numbers in one short flow, the same as in the paper.
const CHUNK: usize = 20;
/// Largest number of open short flows.
const WINDOW: usize = 64;

/// Buckets of this slave by job. A bucket contains, for each number, how often the number arrived.
type Buckets = Arc<Mutex<HashMap<String, Vec<u32>>>>;

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

struct Arguments {
    nodes: Vec<String>,
    own: usize,
    port: u16,
    jobs: usize,
    numbers: usize,
    jitter_ms: u64,
}

impl Arguments {
    fn read() -> io::Result<Self> {
        let mut given: HashMap<String, String> = HashMap::new();
        let mut words = std::env::args().skip(1);
        while let Some(flag) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| wrong(format!("{flag} has no value")))?;
            given.insert(flag, value);
        }
        let mut number = |flag: &str, usual: u64| match given.remove(flag) {
            None => Ok(usual),
            Some(text) => text
                .parse()
                .map_err(|_| wrong(format!("{flag}: found {text}; allowed: a whole number"))),
        };
        let read = Self {
            own: number("--own", 0)? as usize,
            port: number("--port", 9_000)? as u16,
            jobs: number("--jobs", 20)? as usize,
            numbers: number("--numbers", 50_000)? as usize,
            jitter_ms: number("--jitter", 10)?,
            nodes: given
                .remove("--nodes")
                .map(|text| text.split(',').map(str::to_owned).collect())
                .unwrap_or_default(),
        };
        if let Some(flag) = given.keys().next() {
            return Err(wrong(format!("{flag}: no such flag")));
        }
        match read.nodes.len() >= 2 && read.own < read.nodes.len() {
            true => Ok(read),
            false => Err(wrong(
                "--nodes needs two addresses or more, and --own the index of one",
            )),
        }
    }
}

/// Returns the connector of short flows, or `None` for plain connections of tokio.
fn connector() -> io::Result<Option<Connector>> {
    let kind = std::env::var("TRANSPORT").unwrap_or_else(|_| "repflow".to_owned());
    let mode = match kind.as_str() {
        "net" => return Ok(None),
        "repflow" => Mode::RepFlow,
        "repsyn" => Mode::RepSyn,
        _ => {
            return Err(wrong(format!(
                "TRANSPORT: found {kind}; allowed: net, repflow or repsyn"
            )));
        }
    };
    let flow = FlowSettings {
        mode: Some(mode),
        assume_capable: true,
        ..FlowSettings::default()
    };
    Ok(Some(Connector::new(Settings {
        flow,
        ..Settings::default()
    })?))
}

/// Serves a short flow at a slave: reads a line, and answers "ok".
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    buckets: Buckets,
) -> io::Result<()> {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await?;
    // A host that only tests the connection sends nothing.
    if !text.is_empty() {
        receive(&serde_json::from_slice(&text)?, &buckets)?;
        stream.write_all(b"ok").await?;
    }
    stream.shutdown().await
}

/// Processes a message of a master: a chunk of numbers, or the request for the sorted bucket.
fn receive(message: &Value, buckets: &Buckets) -> io::Result<()> {
    let job = message["job"].as_str().ok_or_else(|| wrong("no job"))?;
    let mut buckets = buckets.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(numbers) = message["numbers"].as_array() {
        let counts = buckets
            .entry(job.to_owned())
            .or_insert_with(|| vec![0; VALUES]);
        for number in numbers.iter().filter_map(Value::as_u64) {
            if let Some(count) = counts.get_mut(number as usize) {
                *count += 1;
            }
        }
        return Ok(());
    }
    let counts = buckets.remove(job).unwrap_or_default();
    let finish = message["finish"].clone();
    tokio::spawn(async move {
        if let Err(error) = send_bucket(&finish, &counts).await {
            eprintln!("slave: results: {error}");
        }
    });
    Ok(())
}

/// Sends a sorted bucket to the master in a long flow. This flow is never replicated.
async fn send_bucket(finish: &Value, counts: &[u32]) -> io::Result<()> {
    let host = finish["host"].as_str().unwrap_or_default();
    let port = finish["port"].as_u64().unwrap_or_default() as u16;
    let all = (0..).zip(counts);
    let sorted = all.flat_map(|(number, count)| std::iter::repeat_n(number, *count as usize));
    let sorted: Vec<u32> = sorted.collect();
    let line = json!({"slave": finish["slave"], "sorted": sorted}).to_string();
    let mut stream = net::TcpStream::connect((host, port)).await?;
    stream.write_all(line.as_bytes()).await?;
    stream.shutdown().await
}

/// Sends a message from a master to a slave as a short flow.
async fn tell(connector: Option<Connector>, to: (String, u16), message: Value) -> io::Result<()> {
    match connector {
        None => say(net::TcpStream::connect(to).await?, &message).await,
        Some(connector) => say(connector.connect(&to.0, to.1).await?, &message).await,
    }
}

async fn say(mut stream: impl AsyncRead + AsyncWrite + Unpin, message: &Value) -> io::Result<()> {
    stream.write_all(format!("{message}\n").as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    match answer == b"ok" {
        true => Ok(()),
        false => Err(io::Error::other("a slave has not answered ok")),
    }
}

/// Receives one bucket from each slave, in any order.
async fn collect(listener: net::TcpListener, slaves: usize) -> io::Result<Vec<u16>> {
    let mut arriving = JoinSet::new();
    for _ in 0..slaves {
        let (mut stream, _) = listener.accept().await?;
        arriving.spawn(async move {
            let mut text = Vec::new();
            stream.read_to_end(&mut text).await?;
            Ok::<Value, io::Error>(serde_json::from_slice(&text)?)
        });
    }
    let mut buckets = vec![Vec::new(); slaves];
    while let Some(arrived) = arriving.join_next().await {
        let message = arrived.map_err(io::Error::other)??;
        let slave = message["slave"].as_u64().unwrap_or_default() as usize;
        let sorted = message["sorted"].as_array().cloned().unwrap_or_default();
        if let Some(bucket) = buckets.get_mut(slave) {
            *bucket = sorted;
        }
    }
    let all = buckets.iter().flatten().filter_map(Value::as_u64);
    Ok(all.map(|number| number as u16).collect())
}

/// State that all jobs of a master share.
struct Master {
    slaves: Vec<String>,
    address: String,
    port: u16,
    connector: Option<Connector>,
}

impl Master {
    /// Sorts `numbers` with the help of the slaves. Returns the sorted numbers, and the number of short flows.
    async fn sort(&self, job: usize, numbers: &[u16]) -> io::Result<(Vec<u16>, usize)> {
        let listener = net::TcpListener::bind((self.address.as_str(), 0)).await?;
        let results = listener.local_addr()?.port();
        let results_of_all = tokio::spawn(collect(listener, self.slaves.len()));
        let job = format!("{}-{job}", self.address);
        let mut open = vec![Vec::with_capacity(CHUNK); self.slaves.len()];
        let mut mice = JoinSet::new();
        let mut flows = 0;
        for number in numbers {
            let slave = usize::from(*number) * self.slaves.len() / VALUES;
            open[slave].push(*number);
            if open[slave].len() == CHUNK {
                let chunk = std::mem::take(&mut open[slave]);
                self.start(&mut mice, slave, json!({"job": job, "numbers": chunk}))
                    .await?;
                flows += 1;
            }
        }
        for (slave, chunk) in open
            .into_iter()
            .enumerate()
            .filter(|(_, rest)| !rest.is_empty())
        {
            self.start(&mut mice, slave, json!({"job": job, "numbers": chunk}))
                .await?;
            flows += 1;
        }
        while let Some(done) = mice.join_next().await {
            done.map_err(io::Error::other)??;
        }
        for slave in 0..self.slaves.len() {
            let finish = json!({"host": self.address, "port": results, "slave": slave});
            self.start(&mut mice, slave, json!({"job": job, "finish": finish}))
                .await?;
        }
        while let Some(done) = mice.join_next().await {
            done.map_err(io::Error::other)??;
        }
        Ok((results_of_all.await.map_err(io::Error::other)??, flows))
    }

    /// Starts a short flow. Waits first if the maximum number of short flows is open.
    async fn start(
        &self,
        mice: &mut JoinSet<io::Result<()>>,
        slave: usize,
        message: Value,
    ) -> io::Result<()> {
        while mice.len() >= WINDOW {
            if let Some(done) = mice.join_next().await {
                done.map_err(io::Error::other)??;
            }
        }
        let to = (self.slaves[slave].clone(), self.port);
        mice.spawn(tell(self.connector.clone(), to, message));
        Ok(())
    }

    /// Runs a job: reads a file of numbers, sorts them, and writes another file.
    async fn job(&self, number: usize, count: usize, folder: &Path) -> io::Result<()> {
        let mut bytes = vec![0; 2 * count];
        getrandom::fill(&mut bytes).map_err(io::Error::from)?;
        let pairs = bytes.chunks_exact(2);
        let mut expected: Vec<u16> = pairs
            .map(|pair| u16::from_ne_bytes([pair[0], pair[1]]))
            .collect();
        let [unsorted, sorted] = ["unsorted.txt", "sorted.txt"].map(|name| folder.join(name));
        std::fs::write(&unsorted, lines(&expected))?;
        let began = Instant::now();
        let text = std::fs::read_to_string(&unsorted)?;
        let read: Result<Vec<u16>, _> = text.lines().map(str::parse).collect();
        let (result, flows) = self.sort(number, &read.map_err(io::Error::other)?).await?;
        std::fs::write(&sorted, lines(&result))?;
        let milliseconds = began.elapsed().as_secs_f64() * 1e3;
        expected.sort_unstable();
        if result != expected {
            return Err(io::Error::other("the result is not the sorted input"));
        }
        tell_reader(&json!({"milliseconds": milliseconds, "flows": flows}))
    }
}

fn lines(numbers: &[u16]) -> String {
    let lines: Vec<String> = numbers.iter().map(u16::to_string).collect();
    lines.join("\n")
}

fn tell_reader(line: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

/// Serves chunks at `port` until the process ends.
async fn slave(port: u16, is_plain: bool) -> io::Result<()> {
    let at = SocketAddr::from(([0, 0, 0, 0], port));
    let buckets = Buckets::default();
    let told = |error: io::Error| eprintln!("slave: {error}");
    if is_plain {
        let listener = net::TcpListener::bind(at).await?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = serve(stream, Arc::clone(&buckets));
                tokio::spawn(async move { served.await.unwrap_or_else(told) });
            }
        });
        return Ok(());
    }
    let listener = TcpListener::bind_with(at, Settings::default(), Counters::new()).await?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let served = serve(stream, Arc::clone(&buckets));
            tokio::spawn(async move { served.await.unwrap_or_else(told) });
        }
    });
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let arguments = Arguments::read()?;
    let connector = connector()?;
    slave(arguments.port, connector.is_none()).await?;
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let address = arguments.nodes[arguments.own].clone();
    let others = arguments.nodes.iter().filter(|node| **node != address);
    let master = Master {
        slaves: others.cloned().collect(),
        address,
        port: arguments.port,
        connector,
    };
    for host in &master.slaves {
        while net::TcpStream::connect((host.as_str(), arguments.port))
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let mut draw = [0; 8];
    getrandom::fill(&mut draw).map_err(io::Error::from)?;
    let jitter = u64::from_ne_bytes(draw) % (arguments.jitter_ms + 1);
    tokio::time::sleep(Duration::from_millis(jitter)).await;
    let folder = std::env::temp_dir().join(format!("bucket-sort-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for number in 0..arguments.jobs {
        master.job(number, arguments.numbers, &folder).await?;
    }
    std::fs::remove_dir_all(&folder)?;
    tell_reader(&json!({"done": true}))?;
    std::future::pending().await
}
