//! Target for exchanges of HTTP/1.1 through guard and gateway: the bytes of a client, and the bytes of the service.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::{Gateway, GatewayConfig};
use tailcut_rans::guard::program::{Program, ProgramConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Line between the bytes of the client and the bytes of the service.
const BETWEEN: &[u8] = b"\n---\n";
/// Time without bytes after which an exchange counts as ended. All programs run in one thread, so they wait for nothing.
const QUIET: Duration = Duration::from_millis(2);
/// Number of bytes that are read of one answer, at most.
const MOST: usize = 1 << 20;

/// Whether a task has panicked. The runtime catches such panics.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Bytes of the service.
#[derive(Default)]
struct Service {
    /// Bytes that answer each request.
    answer: Vec<u8>,
    /// Bytes that have arrived, one entry for each connection.
    arrived: Vec<Vec<u8>>,
}

type Shared = Arc<Mutex<Service>>;

/// Guard and gateway in front of one service.
struct Stage {
    runtime: Runtime,
    service: Shared,
    guard: SocketAddr,
    gateway: SocketAddr,
    _running: (Program, Gateway),
}

fn draft(keys: &Value) -> Draft {
    Draft::of_text("a target", Path::new(""), &keys.to_string()).expect("JSON")
}

impl Stage {
    fn start() -> Self {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICKED.store(true, Ordering::Relaxed);
            before(info);
        }));
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let service = Shared::default();
        let (guard, gateway, running) = runtime.block_on(programs(&service));
        Self {
            runtime,
            service,
            guard,
            gateway,
            _running: running,
        }
    }
}

async fn programs(service: &Shared) -> (SocketAddr, SocketAddr, (Program, Gateway)) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let to = listener.local_addr().expect("an address").to_string();
    tokio::spawn(serve(listener, Arc::clone(service)));
    let keys = json!({"listen": "127.0.0.1:0", "to": to, "workers": 8, "admin": false});
    let config = ProgramConfig::read(&draft(&keys)).expect("a configuration");
    let program = Program::start(&config).await.expect("a guard");
    let lines = program.addresses(&config);
    let guard = lines[0].split(' ').next().and_then(|at| at.parse().ok());
    let route = json!({"name": "test", "listen": "127.0.0.1:0", "replicas": [to]});
    let config = GatewayConfig::read(&draft(&json!({"admin": false, "routes": [route]})));
    let gateway = Gateway::start(&config.expect("a configuration")).await;
    let gateway = gateway.expect("a gateway");
    let address = gateway.address("test").expect("a route");
    (guard.expect("an address"), address, (program, gateway))
}

/// Answers every request with the same bytes, and closes the connection.
async fn serve(listener: TcpListener, service: Shared) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            let arrived = read(&mut stream, |bytes| {
                bytes.windows(4).any(|end| end == b"\r\n\r\n")
            })
            .await;
            let answer = {
                let mut service = service.lock().unwrap_or_else(PoisonError::into_inner);
                service.arrived.push(arrived);
                service.answer.clone()
            };
            let _ = stream.write_all(&answer).await;
        });
    }
}

/// Reads bytes until they are enough, the connection ends, or nothing arrives for some time.
async fn read(stream: &mut TcpStream, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !is_enough(&bytes) && bytes.len() < MOST {
        match timeout(QUIET, stream.read_buf(&mut bytes)).await {
            Ok(Ok(1..)) => {}
            _ => break,
        }
    }
    bytes
}

async fn exchange(to: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.expect("a listener");
    // A server may refuse a request before all of it was sent.
    let _ = stream.write_all(request).await;
    let mut answer = read(&mut stream, |_| false).await;
    let _ = stream.shutdown().await;
    answer.append(&mut read(&mut stream, |_| false).await);
    answer
}

/// Checks the head of a message that a proxy has written: every reader must find the same end of it and of its body.
fn check_head(message: &[u8]) {
    let end = message.windows(4).position(|end| end == b"\r\n\r\n");
    let Some(head) = end.and_then(|end| message.get(..end)) else {
        return;
    };
    let shown = head.escape_ascii();
    let mut names = Vec::new();
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_text = line
            .iter()
            .all(|byte| *byte == b'\t' || !byte.is_ascii_control());
        assert!(is_text, "a control character in a field: {shown}");
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        names.push(name.to_ascii_lowercase());
    }
    let count = |name: &[u8]| names.iter().filter(|known| *known == name).count();
    let (lengths, codings) = (count(b"content-length"), count(b"transfer-encoding"));
    assert!(lengths + codings <= 1, "several ends of a body: {shown}");
}

/// Sends bytes to a guard or a gateway, as the first byte selects. Its service answers with other bytes.
///
/// # Panics
/// If a task of a program panics, or if a message that the program passes on has no clear end.
pub fn http_exchange(bytes: &[u8]) {
    static STAGE: OnceLock<Mutex<Stage>> = OnceLock::new();
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let between = bytes
        .windows(BETWEEN.len())
        .position(|line| line == BETWEEN);
    let (request, answer) = match between {
        Some(at) => (&bytes[..at], &bytes[at + BETWEEN.len()..]),
        None => (
            bytes,
            &b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"[..],
        ),
    };
    let stage = STAGE.get_or_init(|| Mutex::new(Stage::start()));
    let stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut service = stage.service.lock().unwrap_or_else(PoisonError::into_inner);
        service.answer = answer.to_vec();
        service.arrived.clear();
    }
    let to = match first & 1 {
        0 => stage.guard,
        _ => stage.gateway,
    };
    let answered = stage.runtime.block_on(exchange(to, request));
    check_head(&answered);
    let service = stage.service.lock().unwrap_or_else(PoisonError::into_inner);
    for arrived in &service.arrived {
        check_head(arrived);
    }
    assert!(
        !PANICKED.swap(false, Ordering::Relaxed),
        "a task has panicked"
    );
}
