//! Load of the soak test: guards and clients, services with faults, and slow clients.
//! There are also floods of connections, resets and header fields. The test checks the result of every request.

use crate::service::{Book, Fault, Service, body, scrambled};
use bytes::Bytes;
use clap::Parser;
use http::Request;
use http::uri::Authority;
use http_body_util::{BodyExt, Full};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailcut_rans::client::{Client, ClientConfig, Purges, ResetBudget};
use tailcut_rans::connections::{ConnectionConfig, Connections, Connector, Protocol, replica};
use tailcut_rans::guard::program::{GuardCommand, execute};
use tailcut_rans::socket::Dscp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tower_service::Service as _;

/// Number of guards. Each has its own service. The last guard uses `HoldSlot`.
const GUARDS: usize = 4;
const WORKERS: u64 = 8;
/// Time after which the application gives up a request.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two floods of the same kind.
const FLOOD_EVERY: Duration = Duration::from_secs(5);

type Body = Full<Bytes>;

/// Flags of `tailcut guard`.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    guard: GuardCommand,
}

/// Guard in this process. It runs until the process ends.
struct Guard {
    address: SocketAddr,
    admin: SocketAddr,
    service: Arc<Service>,
}

fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

async fn guard(number: usize, book: &Arc<Book>) -> Guard {
    let holds = number + 1 == GUARDS;
    // A guard that holds slots waits for the service even if clients have cancelled their requests.
    // So its service must not stall for long.
    let stall = Duration::from_millis(if holds { 500 } else { 3_600_000 });
    let (service, to) = Service::start(number as u64, Arc::clone(book), stall).await;
    let (address, admin) = (free_port(), free_port());
    let on_cancel = if holds { "hold-slot" } else { "kill" };
    let texts = [address, to, admin].map(|at| at.to_string());
    let workers = WORKERS.to_string();
    let flags = [
        "guard",
        "--listen",
        &texts[0],
        "--to",
        &texts[1],
        "--admin",
        &texts[2],
        "--workers",
        &workers,
        "--on-cancel",
        on_cancel,
        "--dscp",
        "0,1,1",
    ];
    let flags = Flags::parse_from(flags);
    std::thread::spawn(move || execute(&flags.guard));
    // The guard opens its admin address before its listener. Each may need some time.
    for at in [admin, address] {
        while TcpStream::connect(at).await.is_err() {
            sleep(Duration::from_millis(5)).await;
        }
    }
    Guard {
        address,
        admin,
        service,
    }
}

impl Guard {
    /// Returns the guard's metrics.
    async fn metrics(&self) -> BTreeMap<String, f64> {
        let mut page = String::new();
        let asking = async {
            let mut stream = TcpStream::connect(self.admin).await?;
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
                .await?;
            stream.read_to_string(&mut page).await
        };
        asking.await.expect("metrics");
        let lines = page
            .lines()
            .filter(|line| line.starts_with("tailcut_guard_"));
        let of = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        lines.filter_map(of).collect()
    }
}

/// Results of the application's requests.
#[derive(Default)]
struct Ends {
    requests: AtomicU64,
    whole: AtomicU64,
    /// Answers whose body ended early, because the service cut it.
    cut: AtomicU64,
    /// Requests for which every copy had a fault that prevents an answer.
    hopeless: AtomicU64,
    /// Texts about violated conditions.
    wrong: Mutex<Vec<String>>,
    latencies: Mutex<Vec<f64>>,
}

/// Results of a run.
pub struct Outcome {
    /// Texts about violated conditions.
    pub wrong: Vec<String>,
    /// Results as a page in Markdown.
    pub page: String,
}

fn clients(guards: &[Guard], protocol: Protocol) -> Client<Connections<Connector, Body>> {
    let config = ConnectionConfig {
        protocol,
        ..ConnectionConfig::default()
    };
    let to = |guard: &Guard| {
        let to = Authority::try_from(guard.address.to_string()).expect("an address");
        let copies = Some(Dscp::LOWER_EFFORT);
        replica(&to, config, copies, Purges::Learn).expect("a port")
    };
    let config = ClientConfig {
        // The client's connections are replaced before they are reset too often, so no budget is needed.
        resets: ResetBudget::UNBOUNDED,
        ..ClientConfig::default()
    };
    Client::new(guards.iter().map(to).collect(), config, 7).expect("a configuration")
}

/// Sends one request of the application.
async fn send(
    mut client: Client<Connections<Connector, Body>>,
    request: u64,
    (book, ends): (Arc<Book>, Arc<Ends>),
) {
    let drawn = scrambled(request);
    // The work takes 3 ms on average. Bodies have all sizes up to 64 KB.
    let work = -3_000.0 * (1.0 - (drawn >> 11) as f64 / (1_u64 << 53) as f64).ln();
    let length = 1 + ((drawn % 64_000) as usize >> (drawn >> 40 & 7));
    let uri = format!("http://service/{request}/{}/{length}", work as u64);
    let http_request = Request::get(uri).body(Full::default()).expect("a request");
    book.open(request);
    ends.requests.fetch_add(1, Relaxed);
    let began = Instant::now();
    let asking = async {
        let answer = client
            .call(http_request)
            .await
            .map_err(|error| error.to_string())?;
        let status = answer.status();
        let body = answer.into_body().collect().await;
        Ok((status, body.map(|body| body.to_bytes())))
    };
    let outcome: Result<Result<_, String>, _> = timeout(PATIENCE, asking).await;
    let faults = book.close(request);
    let hopeless = !faults.is_empty() && faults.iter().all(|fault| fault.is_no_answer());
    let may_be_cut = faults.iter().any(|fault| fault.ends_within());
    let count = match &outcome {
        Ok(Ok((status, Ok(bytes)))) if status.is_success() => {
            if *bytes != body(request, length) {
                let text = format!("{request}: the answer of another one, after {faults:?}");
                ends.wrong.lock().expect("a lock").push(text);
            }
            let took = began.elapsed().as_secs_f64();
            ends.latencies.lock().expect("a lock").push(took);
            &ends.whole
        }
        Ok(Ok((status, Err(_)))) if status.is_success() && may_be_cut => &ends.cut,
        Err(_) if may_be_cut => &ends.cut,
        _ if hopeless => &ends.hopeless,
        other => {
            let what = match other {
                Ok(Ok((status, body))) => format!("{status}, {:?}", body.as_ref().err()),
                Ok(Err(error)) => error.clone(),
                Err(_) => "no answer in time".to_owned(),
            };
            let text = format!("{request}: {what}, after {faults:?}");
            ends.wrong.lock().expect("a lock").push(text);
            return;
        }
    };
    count.fetch_add(1, Relaxed);
}

/// Opens connections of two slow clients to a guard. One client sends too slowly, and the other reads too slowly.
async fn slow_clients(at: SocketAddr, floods: Arc<Floods>) {
    loop {
        let Ok(mut half_a_head) = TcpStream::connect(at).await else {
            continue;
        };
        let Ok(mut reader) = TcpStream::connect(at).await else {
            continue;
        };
        // Errors are expected here. The guard's metrics count these connections.
        let _ = half_a_head.write_all(b"GET / HTTP/1.1\r\nho").await;
        let _ = reader
            .write_all(b"GET /0/0/4000000 HTTP/1.1\r\nhost: x\r\n\r\n")
            .await;
        for _ in 0..10 {
            let mut some = [0; 1000];
            let _ = reader.read(&mut some).await;
            sleep(FLOOD_EVERY / 10).await;
        }
        floods.slow.fetch_add(2, Relaxed);
    }
}

/// Counters of attacks on guards. An attack is traffic that is no request of the application.
#[derive(Default)]
struct Floods {
    slow: AtomicU64,
    connections: AtomicU64,
    resets: AtomicU64,
    heads: AtomicU64,
}

/// Opens connections that send nothing, or bytes that are not HTTP.
async fn flood_of_connections(at: SocketAddr, floods: Arc<Floods>) {
    loop {
        let mut open = Vec::new();
        for number in 0..100 {
            if let Ok(mut stream) = TcpStream::connect(at).await {
                if number % 2 == 0 {
                    let _ = stream.write_all(b"\x16\x03\x01 no HTTP\r\n\r\n").await;
                }
                open.push(stream);
                floods.connections.fetch_add(1, Relaxed);
            }
        }
        sleep(FLOOD_EVERY).await;
    }
}

/// Opens streams and resets each of them immediately (CVE-2023-44487).
async fn flood_of_resets(at: SocketAddr, floods: Arc<Floods>) {
    loop {
        let Ok(stream) = TcpStream::connect(at).await else {
            continue;
        };
        let Ok((mut sender, connection)) = h2::client::handshake(stream).await else {
            continue;
        };
        let driving = tokio::spawn(connection);
        for number in 0..200 {
            let Ok(ready) = sender.ready().await else {
                break;
            };
            sender = ready;
            let uri = format!("http://service/0/{}/10", number * 100);
            let request = Request::get(uri).body(()).expect("a request");
            if let Ok((_, mut stream)) = sender.send_request(request, true) {
                stream.send_reset(h2::Reason::CANCEL);
                floods.resets.fetch_add(1, Relaxed);
            }
        }
        sleep(FLOOD_EVERY).await;
        driving.abort();
    }
}

/// Sends heads of requests that are too long.
async fn flood_of_fields(at: SocketAddr, floods: Arc<Floods>) {
    let long = vec![b'x'; 1 << 20];
    loop {
        if let Ok(mut stream) = TcpStream::connect(at).await {
            let _ = stream
                .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nlong: ")
                .await;
            let _ = stream.write_all(&long).await;
            floods.heads.fetch_add(1, Relaxed);
        }
        sleep(FLOOD_EVERY).await;
    }
}

/// Returns the memory of this process in MB, the number of its open files, and its CPU time in seconds.
fn process() -> (f64, usize, f64) {
    let memory = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    let pages: f64 = memory
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse().ok())
        .expect("pages");
    let files = std::fs::read_dir("/proc/self/fd").expect("/proc").count();
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc");
    let (_, after) = stat.rsplit_once(')').expect("a name");
    let ticks = after.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|text| text.parse::<f64>().ok()).sum();
    (pages * 4096.0 / 1e6, files, ticks / 100.0)
}

/// Runs the load for `time`, at `rate` requests per second.
pub async fn run(time: Duration, rate: f64) -> Outcome {
    let book = Arc::new(Book::default());
    let mut guards = Vec::new();
    for number in 0..GUARDS {
        guards.push(guard(number, &book).await);
    }
    let clients = [Protocol::One, Protocol::Two].map(|protocol| clients(&guards, protocol));
    let (ends, floods) = (Arc::new(Ends::default()), Arc::new(Floods::default()));
    let mut flooding = JoinSet::new();
    for guard in &guards {
        let at = guard.address;
        flooding.spawn(slow_clients(at, Arc::clone(&floods)));
        flooding.spawn(flood_of_connections(at, Arc::clone(&floods)));
        flooding.spawn(flood_of_resets(at, Arc::clone(&floods)));
        flooding.spawn(flood_of_fields(at, Arc::clone(&floods)));
    }
    let began = Instant::now();
    let (mut at, mut number, mut early) = (began, 0_u64, None);
    let mut asking = JoinSet::new();
    while at < began + time {
        number += 1;
        let drawn = scrambled(!number);
        let gap = -(1.0 - (drawn >> 11) as f64 / (1_u64 << 53) as f64).ln() / rate;
        at += Duration::from_secs_f64(gap);
        sleep_until(at).await;
        let client = clients[(drawn & 1) as usize].clone();
        asking.spawn(send(client, number, (Arc::clone(&book), Arc::clone(&ends))));
        while asking.try_join_next().is_some() {}
        // This first measurement is late enough that all buffers have grown to their full size.
        if early.is_none() && began.elapsed() > time / 4 {
            early = Some(process());
        }
    }
    while asking.join_next().await.is_some() {}
    flooding.shutdown().await;
    let late = process();
    let mut wrong = std::mem::take(&mut *ends.wrong.lock().expect("a lock"));
    wrong.extend(settle(&guards).await);
    let early = early.unwrap_or(late);
    if late.0 > 1.5 * early.0 + 20.0 {
        wrong.push(format!(
            "memory grew from {:.0} to {:.0} MB",
            early.0, late.0
        ));
    }
    let took = began.elapsed();
    let page = page(
        &guards,
        &clients,
        (&ends, &floods, &book),
        (took, early, late),
    )
    .await;
    Outcome { wrong, page }
}

/// Returns a text for each violation. A guard must be idle after all clients have disconnected.
/// The guard's counters must contain each request exactly once.
async fn settle(guards: &[Guard]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, guard) in guards.iter().enumerate() {
        let began = Instant::now();
        let counts = loop {
            let counts = guard.metrics().await;
            let is_idle = counts["tailcut_guard_running"] == 0.0
                && CLASSES
                    .iter()
                    .all(|class| value(&counts, "queued", class) == 0.0);
            if is_idle || began.elapsed() > Duration::from_secs(30) {
                break counts;
            }
            sleep(Duration::from_millis(20)).await;
        };
        if counts["tailcut_guard_running"] > 0.0 {
            wrong.push(format!("guard {number} has workers that no request uses"));
        }
        for class in CLASSES {
            let of = |name: &str| value(&counts, name, class);
            let ended: f64 = ENDS.iter().map(|name| of(name)).sum();
            if of("requests_total") != ended {
                let came = of("requests_total");
                wrong.push(format!(
                    "guard {number}, {class}: {came} came and {ended} ended"
                ));
            }
        }
        // Behind a guard that holds slots, a service never has more requests than workers.
        let most = guard.service.most.load(Relaxed);
        if number + 1 == GUARDS && most > WORKERS {
            wrong.push(format!(
                "guard {number} had {most} requests at once at its service"
            ));
        }
    }
    wrong
}

const CLASSES: [&str; 3] = ["primary", "duplicate", "optional"];
const ENDS: [&str; 5] = [
    "done_total",
    "purged_total",
    "killed_total",
    "held_total",
    "shed_total",
];

fn value(counts: &BTreeMap<String, f64>, name: &str, class: &str) -> f64 {
    counts[&format!("tailcut_guard_{name}{{class=\"{class}\"}}")]
}

async fn page(
    guards: &[Guard],
    clients: &[Client<Connections<Connector, Body>>],
    (ends, floods, book): (&Ends, &Floods, &Book),
    (took, early, late): (Duration, (f64, usize, f64), (f64, usize, f64)),
) -> String {
    let mut page = String::new();
    let mut line = |text: String| writeln!(page, "{text}").expect("a string");
    let of = |count: &AtomicU64| count.load(Relaxed);
    line(format!(
        "{:.0} s, {:.1} CPU-s.\n",
        took.as_secs_f64(),
        late.2
    ));
    line("| requests of the application | |\n|---|---|".to_owned());
    line(format!("| asked | {} |", of(&ends.requests)));
    line(format!(
        "| answered, whole and right | {} |",
        of(&ends.whole)
    ));
    line(format!(
        "| cut or stalled in the body by the service | {} |",
        of(&ends.cut)
    ));
    line(format!(
        "| every copy without an answer | {} |",
        of(&ends.hopeless)
    ));
    let mut latencies = ends.latencies.lock().expect("a lock").clone();
    latencies.sort_by(f64::total_cmp);
    for (name, share) in [("50th", 0.5), ("99th", 0.99), ("99.9th", 0.999)] {
        let rank = (share * latencies.len() as f64).ceil() as usize;
        if let Some(latency) = latencies.get(rank.max(1) - 1) {
            line(format!("| {name} percentile, ms | {:.1} |", latency * 1e3));
        }
    }
    line("\n| clients | HTTP/1.1 | HTTP/2 |\n|---|---|---|".to_owned());
    let counts: Vec<_> = clients.iter().map(Client::counts).collect();
    let [one, two] = [counts[0], counts[1]];
    for (name, one, two) in [
        ("requests", one.requests, two.requests),
        ("copies", one.copies, two.copies),
        ("won by the copy", one.won_by_copy, two.won_by_copy),
        ("purged", one.purged, two.purged),
        ("failed copies", one.failed, two.failed),
    ] {
        line(format!("| {name} | {one} | {two} |"));
    }
    line("\n| faults of services | copies |\n|---|---|".to_owned());
    for fault in Fault::ALL {
        line(format!(
            "| {fault:?} | {} |",
            of(&book.faults[fault as usize])
        ));
    }
    line("\n| at guards | |\n|---|---|".to_owned());
    line(format!("| slow clients | {} |", of(&floods.slow)));
    line(format!(
        "| connections of floods | {} |",
        of(&floods.connections)
    ));
    line(format!(
        "| streams of reset floods | {} |",
        of(&floods.resets)
    ));
    line(format!("| heads of 1 MB | {} |", of(&floods.heads)));
    line(
        "\n| guard | came | done | purged | killed | held | shed | most at once at the service |"
            .to_owned(),
    );
    line("|---|---|---|---|---|---|---|---|".to_owned());
    for (number, guard) in guards.iter().enumerate() {
        let counts = guard.metrics().await;
        let sum = |name: &str| {
            let values = CLASSES.iter().map(|class| value(&counts, name, class));
            format!("{}", values.sum::<f64>())
        };
        let names = ["requests_total"].iter().chain(&ENDS);
        let sums: Vec<String> = names.map(|name| sum(name)).collect();
        let most = of(&guard.service.most);
        line(format!("| {number} | {} | {most} |", sums.join(" | ")));
    }
    line("\n| process, guards included | at a quarter | at the end |\n|---|---|---|".to_owned());
    line(format!("| memory, MB | {:.0} | {:.0} |", early.0, late.0));
    line(format!("| open files | {} | {} |", early.1, late.1));
    page
}
