//! Clients and servers of the matrix, in this process and on Node.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailcut_repnet::{
    Connector, Counters, FlowSettings, Mode, Pairing, Settings, TcpListener, TcpStream,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

const TAG: usize = 16;
/// Time after which a flow counts as stuck.
const STUCK: Duration = Duration::from_secs(15);
/// Bytes of a flow in one direction: none, a request, more than a segment, and more than the buffers.
/// The largest size is more than RepFlow sends twice.
pub const SIZES: [usize; 7] = [0, 1, 100, 1_000, 20_000, 70_000, 150_000];

/// Kind of flow that a run opens.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub mode: Mode,
    pub pairing: Pairing,
    pub flows: usize,
    pub concurrency: usize,
    /// Whether the timeouts are shorter than some delays of the network.
    pub hurried: bool,
}

/// Timeout of a hurried flow. It limits the handshake, the arrival at the server and the confirmation of a connection.
const HURRY: Duration = Duration::from_millis(20);

impl Kind {
    fn names(&self) -> (&'static str, &'static str) {
        let mode = match self.mode {
            Mode::RepFlow => "repflow",
            Mode::RepSyn => "repsyn",
        };
        let pairing = match self.pairing {
            Pairing::Hello => "hello",
            Pairing::Port => "port",
        };
        (mode, pairing)
    }

    fn settings(&self) -> Settings {
        let usual = Settings::default();
        let in_time = |usual| if self.hurried { HURRY } else { usual };
        Settings {
            flow: FlowSettings {
                mode: Some(self.mode),
                pairing: self.pairing,
                assume_capable: true,
                // Faults in some flows must not change the settings of later flows.
                adaptive: false,
                fallback_delay: None,
                leg_deadline: in_time(usual.flow.leg_deadline),
                confirm_timeout: in_time(usual.flow.confirm_timeout),
                ..usual.flow
            },
            waiting_list_timeout: in_time(usual.waiting_list_timeout),
            // If a fault cut off a hello, the next flow must still try the server again.
            capability_ttl: Duration::from_millis(1),
            ..usual
        }
    }
}

/// Results that a server reports about its flows.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Report {
    /// Number of different requests that the server ran.
    pub ran: u64,
    /// Number of times that the most frequent request ran.
    pub most: u64,
    pub wrong: u64,
    pub failed: u64,
    pub open: u64,
    pub descriptors: u64,
    /// Memory of the server's process at the end of each quarter of the flows, in bytes.
    pub memory: [u64; QUARTERS],
}

/// Number of memory measurements in a run.
pub const QUARTERS: usize = 4;

/// Results that a client reports about its flows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub outcomes: BTreeMap<String, u64>,
    pub replicated: u64,
    pub diverged: u64,
    /// Number of open descriptors before and after the flows.
    pub before: u64,
    pub after: u64,
    /// Memory of the client's process at the end of each quarter of the flows, in bytes.
    pub memory: [u64; QUARTERS],
}

/// Memory of this process in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

pub fn descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

fn hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `length` pseudo-random bytes from a seed.
fn drawn(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

// Clients and servers that run in this process.

#[derive(Default)]
struct Ran {
    runs: HashMap<[u8; TAG], u32>,
    wrong: u64,
    failed: u64,
    open: u64,
}

pub struct RustServer {
    pub ports: [u16; 3],
    ran: Arc<Mutex<Ran>>,
    tasks: JoinSet<()>,
}

impl RustServer {
    pub async fn start(kind: &Kind) -> io::Result<Self> {
        let ran = Arc::<Mutex<Ran>>::default();
        let mut tasks = JoinSet::new();
        let mut ports = [0; 3];
        for (service, port) in ports.iter_mut().enumerate() {
            let any = "127.0.0.1:0".parse().expect("an address");
            let listener = TcpListener::bind_with(any, kind.settings(), Counters::new()).await?;
            *port = listener.local_addr()?.port();
            let ran = Arc::clone(&ran);
            tasks.spawn(async move {
                let mut count = 0;
                while let Ok((stream, _)) = listener.accept().await {
                    count += 1;
                    let ran = Arc::clone(&ran);
                    ran.lock().expect("a lock").open += 1;
                    tokio::spawn(async move {
                        let served = serve(service, stream, count, &ran).await;
                        let mut ran = ran.lock().expect("a lock");
                        ran.open -= 1;
                        ran.failed += u64::from(served.is_err());
                    });
                }
            });
        }
        Ok(Self { ports, ran, tasks })
    }

    pub fn report(&self) -> Report {
        let ran = self.ran.lock().expect("a lock");
        Report {
            ran: ran.runs.len() as u64,
            most: ran.runs.values().copied().max().unwrap_or(0).into(),
            wrong: ran.wrong,
            failed: ran.failed,
            open: ran.open,
            descriptors: descriptors(),
            memory: [0; QUARTERS],
        }
    }

    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn serve(
    service: usize,
    mut stream: TcpStream,
    count: u64,
    ran: &Mutex<Ran>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let run = |bytes: &[u8]| {
        // The client has left the replica port before its first byte, and uses another connection.
        if bytes.is_empty() {
            return;
        }
        let mut tag = [0; TAG];
        tag.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        *ran.lock().expect("a lock").runs.entry(tag).or_default() += 1;
    };
    match service {
        0 => {
            let mut buffer = vec![0; 10_000];
            loop {
                let count = stream.read(&mut buffer).await?;
                if count == 0 {
                    break;
                }
                bytes.extend_from_slice(&buffer[..count]);
                stream.write_all(&buffer[..count]).await?;
            }
            run(&bytes);
        }
        1 => {
            stream.read_to_end(&mut bytes).await?;
            run(&bytes);
            stream.write_all(hex(&bytes).as_bytes()).await?;
        }
        _ => {
            let greeting = drawn(count, SIZES[count as usize % SIZES.len()]);
            stream.write_all(&greeting).await?;
            stream.shutdown().await?;
            stream.read_to_end(&mut bytes).await?;
            run(&bytes);
            if !bytes.is_empty() && bytes.get(TAG..) != Some(hex(&greeting).as_bytes()) {
                ran.lock().expect("a lock").wrong += 1;
            }
            return Ok(());
        }
    }
    stream.shutdown().await
}

pub async fn rust_client(kind: &Kind, ports: [u16; 3], seed: u64) -> io::Result<Outcome> {
    let connector = Arc::new(Connector::new(kind.settings())?);
    let before = descriptors();
    let next = Arc::new(Mutex::new(0..kind.flows));
    let run = Arc::<Mutex<Outcome>>::default();
    let mut workers = JoinSet::new();
    for _ in 0..kind.concurrency {
        let (connector, next, run) = (Arc::clone(&connector), Arc::clone(&next), Arc::clone(&run));
        let (quarter, flows) = (kind.flows.div_ceil(QUARTERS), kind.flows);
        workers.spawn(async move {
            loop {
                let index = next.lock().expect("a lock").next();
                let Some(index) = index else {
                    return;
                };
                let seed = seed << 32 | index as u64;
                let flow = flow(&connector, ports, index, seed);
                let outcome = match tokio::time::timeout(STUCK, flow).await {
                    Ok(Ok(true)) => "right".to_owned(),
                    Ok(Ok(false)) => "wrong".to_owned(),
                    Ok(Err(error)) => format!("failed: {}", error.kind()),
                    Err(_) => format!("stuck: flow {index}"),
                };
                let mut run = run.lock().expect("a lock");
                *run.outcomes.entry(outcome).or_default() += 1;
                if (index + 1) % quarter == 0 || index + 1 == flows {
                    run.memory[index / quarter] = resident();
                }
            }
        });
    }
    workers.join_all().await;
    let run = std::mem::take(&mut *run.lock().expect("a lock"));
    let stats = connector.stats();
    Ok(Outcome {
        replicated: stats.opened,
        diverged: stats.diverged,
        before,
        after: before,
        ..run
    })
}

/// Runs one flow. Returns whether the received bytes are correct.
async fn flow(connector: &Connector, ports: [u16; 3], index: usize, seed: u64) -> io::Result<bool> {
    let kind = index % ports.len();
    let mut stream = connector.connect("127.0.0.1", ports[kind]).await?;
    let payload = drawn(seed, TAG + SIZES[(index * 7 + 3) % SIZES.len()]);
    let mut received = Vec::new();
    if kind == 2 {
        stream.read_to_end(&mut received).await?;
        stream.write_all(&payload[..TAG]).await?;
        stream.write_all(hex(&received).as_bytes()).await?;
        stream.shutdown().await?;
        return Ok(true);
    }
    let (mut reader, mut writer) = tokio::io::split(stream);
    let write = async {
        let (first, second) = payload.split_at(payload.len() / 2);
        writer.write_all(first).await?;
        writer.write_all(second).await?;
        writer.shutdown().await
    };
    let (wrote, read) = tokio::join!(write, reader.read_to_end(&mut received));
    wrote?;
    read?;
    Ok(match kind {
        0 => received == payload,
        _ => received == hex(&payload).as_bytes(),
    })
}

// Clients and servers that run on Node.

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packages/repnet")
}

/// Panics with an instruction if Node or the built npm package is missing.
pub async fn expect_node() {
    let node = Command::new("node").arg("--version").output().await;
    assert!(
        node.is_ok_and(|output| output.status.success()),
        "Node is missing: this test runs `node` (20.19 or later), which is not on the PATH"
    );
    assert!(
        package().join("dist/index.js").exists(),
        "packages/repnet is not built: run `npm ci && npm run build` there (`make test` does)"
    );
}

fn quarters(found: &Value) -> [u64; QUARTERS] {
    std::array::from_fn(|at| found[at].as_u64().unwrap_or(0))
}

pub struct Node {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Node {
    fn start(role: &str, kind: &Kind, more: Value) -> io::Result<Self> {
        let (mode, pairing) = kind.names();
        let mut settings = json!({ "adaptive": false, "fallbackDelay": "Infinity" });
        if kind.hurried {
            settings["legDeadline"] = json!(HURRY.as_millis() as u64);
            settings["confirmTimeout"] = settings["legDeadline"].clone();
        }
        let mut task = json!({
            "role": role,
            "package": package(),
            "mode": mode,
            "pairing": pairing,
            "sizes": SIZES,
            "flows": kind.flows,
            "concurrency": kind.concurrency,
            "settings": settings,
            "hurry": kind.hurried.then_some(HURRY.as_millis() as u64),
        });
        for (key, value) in more.as_object().expect("an object") {
            task[key] = value.clone();
        }
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/node_matrix/peer.cjs");
        let mut child = Command::new("node")
            .arg("--expose-gc")
            .arg(script)
            .arg(task.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take().expect("its stdin");
        let stdout = child.stdout.take().expect("its stdout");
        Ok(Self {
            child,
            stdin,
            lines: BufReader::new(stdout).lines(),
        })
    }

    async fn line(&mut self, key: &str) -> io::Result<Value> {
        let line = self.lines.next_line().await?;
        let line = line.ok_or_else(|| io::Error::other("node has ended: see its stderr"))?;
        let value: Value = serde_json::from_str(&line)?;
        Ok(value[key].clone())
    }

    pub async fn server(kind: &Kind) -> io::Result<(Self, [u16; 3])> {
        let mut node = Self::start("server", kind, json!({}))?;
        let ports = node.line("ports").await?;
        let port = |at: usize| ports[at].as_u64().expect("a port") as u16;
        Ok((node, [port(0), port(1), port(2)]))
    }

    pub async fn report(&mut self) -> io::Result<Report> {
        self.stdin.write_all(b"report\n").await?;
        let report = self.line("report").await?;
        let field = |name: &str| report[name].as_u64().expect("a number");
        Ok(Report {
            ran: field("ran"),
            most: field("most"),
            wrong: field("wrong"),
            failed: field("failed"),
            open: field("open"),
            descriptors: field("descriptors"),
            memory: quarters(&report["memory"]),
        })
    }

    pub async fn stop(mut self) -> io::Result<()> {
        drop(self.stdin);
        self.child.wait().await?;
        Ok(())
    }
}

pub async fn node_client(kind: &Kind, ports: [u16; 3]) -> io::Result<Outcome> {
    let mut node = Node::start("client", kind, json!({ "ports": ports }))?;
    let client = node.line("client").await?;
    let counts = client["outcomes"].as_object().expect("an object");
    let counts = counts.iter();
    let field = |name: &str| client[name].as_u64().expect("a number");
    let outcome = Outcome {
        outcomes: counts
            .map(|(name, count)| (name.clone(), count.as_u64().expect("a number")))
            .collect(),
        replicated: field("replicated"),
        diverged: field("diverged"),
        before: field("before"),
        after: field("after"),
        memory: quarters(&client["memory"]),
    };
    node.stop().await?;
    Ok(outcome)
}
