//! Tests of a listener with plain TCP clients: the bytes that it sends in answer to each connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tailcut_repnet::{Counters, RepNetError, Settings, TcpListener};
use tailcut_transport::repnet::{Banner, FlowKey, Leg, Mode, Preamble, Purpose, Rejoin, Status};
use tailcut_wire::repnet::{HELLO_BYTES, decode_banner, encode_preamble, preamble_length};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const FLOW: FlowKey = FlowKey(0x1234_5678 << 96 | 42);

async fn listen(settings: Settings) -> io::Result<(TcpListener, u16)> {
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = TcpListener::bind_with(any, settings, Counters::new()).await?;
    let replica = listener.local_addr()?.port() + 1;
    Ok((listener, replica))
}

fn open(leg: Leg) -> Preamble {
    Preamble {
        purpose: Purpose::Open(Mode::RepFlow),
        leg,
        flow: FLOW,
    }
}

async fn say(replica: u16, preamble: &Preamble, then: &[u8]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", replica)).await?;
    let bytes = encode_preamble(preamble);
    let bytes = [&bytes[..preamble_length(preamble)], then].concat();
    stream.write_all(&bytes).await?;
    Ok(stream)
}

async fn banner(stream: &mut TcpStream) -> io::Result<Banner> {
    let mut bytes = [0; HELLO_BYTES];
    stream.read_exact(&mut bytes).await?;
    Ok(decode_banner(&bytes).expect("a banner"))
}

async fn join(replica: u16, leg: Leg, wanted: Status) -> io::Result<TcpStream> {
    let mut stream = say(replica, &open(leg), b"").await?;
    let banner = banner(&mut stream).await?;
    assert_eq!((banner.status, banner.leg), (wanted, leg));
    assert_eq!(banner.check, FLOW.check());
    Ok(stream)
}

async fn is_reset(stream: &mut TcpStream) -> bool {
    let end = stream.read(&mut [0; 64]).await;
    end.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
}

#[tokio::test]
async fn a_second_leg_that_comes_after_the_end_is_reset_and_no_flow_is_run_twice() -> io::Result<()>
{
    let (listener, replica) = listen(Settings::default()).await?;
    let mut first = join(replica, Leg::First, Status::Opened).await?;
    first.write_all(b"request").await?;
    first.shutdown().await?;
    let (mut flow, _) = listener.accept().await?;
    let mut request = Vec::new();
    flow.read_to_end(&mut request).await?;
    flow.write_all(b"answer").await?;
    flow.shutdown().await?;
    let mut answer = Vec::new();
    first.read_to_end(&mut answer).await?;
    assert_eq!(
        (&request[..], &answer[..]),
        (&b"request"[..], &b"answer"[..])
    );
    drop(flow);
    for _ in 0..3 {
        let mut late = say(replica, &open(Leg::Second), b"request").await?;
        assert!(is_reset(&mut late).await);
    }
    let next = tokio::time::timeout(Duration::from_millis(20), listener.accept()).await;
    assert!(next.is_err(), "a flow that no client opened");
    assert_eq!(
        (listener.stats().accepted, listener.stats().legs_late),
        (1, 3)
    );
    Ok(())
}

#[tokio::test]
async fn what_was_written_before_the_second_leg_came_is_sent_on_it_first() -> io::Result<()> {
    let (listener, replica) = listen(Settings::default()).await?;
    let mut first = join(replica, Leg::Second, Status::Opened).await?;
    let (mut flow, _) = listener.accept().await?;
    flow.write_all(b"before, ").await?;
    let mut second = join(replica, Leg::First, Status::Joined).await?;
    flow.write_all(b"after").await?;
    flow.shutdown().await?;
    for leg in [&mut first, &mut second] {
        let mut all = String::new();
        leg.read_to_string(&mut all).await?;
        assert_eq!(all, "before, after");
    }
    // A second attempt to open the same connection does not belong to the flow.
    let mut again = say(replica, &open(Leg::First), b"").await?;
    assert!(is_reset(&mut again).await);
    Ok(())
}

#[tokio::test]
async fn an_end_that_comes_early_on_the_leg_that_is_behind_costs_that_leg_only() -> io::Result<()> {
    let (listener, replica) = listen(Settings::default()).await?;
    let mut first = join(replica, Leg::First, Status::Opened).await?;
    let mut second = join(replica, Leg::Second, Status::Joined).await?;
    let (mut flow, _) = listener.accept().await?;
    first.write_all(b"all of it").await?;
    let mut request = [0; 9];
    flow.read_exact(&mut request).await?;
    second.write_all(b"all").await?;
    second.shutdown().await?;
    assert!(is_reset(&mut second).await);
    first.write_all(b", and more").await?;
    first.shutdown().await?;
    let mut rest = String::new();
    flow.read_to_string(&mut rest).await?;
    assert_eq!((&request, &rest[..]), (b"all of it", ", and more"));
    assert_eq!(listener.stats().dropped_early_fin, 1);
    Ok(())
}

#[tokio::test]
async fn legs_that_carry_different_bytes_end_the_flow_in_an_error() -> io::Result<()> {
    let (listener, replica) = listen(Settings::default()).await?;
    let mut first = join(replica, Leg::First, Status::Opened).await?;
    let mut second = join(replica, Leg::Second, Status::Joined).await?;
    let (mut flow, _) = listener.accept().await?;
    first.write_all(b"yes").await?;
    let mut word = [0; 3];
    flow.read_exact(&mut word).await?;
    second.write_all(b"no!").await?;
    let error = flow.read(&mut word).await.expect_err("two answers");
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<RepNetError>());
    assert_eq!(inner, Some(&RepNetError::Diverged { delivered: 3 }));
    assert!(is_reset(&mut first).await && is_reset(&mut second).await);
    Ok(())
}

#[tokio::test]
async fn bytes_right_behind_the_hello_are_taken() -> io::Result<()> {
    let (listener, replica) = listen(Settings::default()).await?;
    let mut first = say(replica, &open(Leg::First), b"eager").await?;
    let (mut flow, _) = listener.accept().await?;
    let mut word = [0; 5];
    flow.read_exact(&mut word).await?;
    assert_eq!(&word, b"eager");
    assert_eq!(banner(&mut first).await?.status, Status::Opened);
    Ok(())
}

#[tokio::test]
async fn a_second_leg_from_another_address_is_turned_away() -> io::Result<()> {
    let (listener, replica) = listen(Settings::default()).await?;
    let _first = join(replica, Leg::First, Status::Opened).await?;
    let socket = TcpSocket::new_v4()?;
    socket.bind("127.0.0.2:0".parse().expect("an address"))?;
    let mut stranger = socket
        .connect(SocketAddr::from(([127, 0, 0, 1], replica)))
        .await?;
    let hello = encode_preamble(&open(Leg::Second));
    stranger.write_all(&hello[..HELLO_BYTES]).await?;
    assert!(is_reset(&mut stranger).await);
    assert_eq!(listener.stats().dropped_other_address, 1);
    // The flow still accepts its real second connection.
    join(replica, Leg::Second, Status::Joined).await?;
    Ok(())
}

#[tokio::test]
async fn probes_other_versions_and_legs_that_do_not_fit_are_answered_and_hung_up() -> io::Result<()>
{
    let (_listener, replica) = listen(Settings::default()).await?;
    let rejoin = Purpose::Rejoin(Rejoin {
        message: 1,
        sent: 0,
        received: 0,
    });
    for (purpose, status) in [(Purpose::Probe, Status::Probed), (rejoin, Status::Busy)] {
        let hello = Preamble {
            purpose,
            ..open(Leg::First)
        };
        let mut asked = say(replica, &hello, b"").await?;
        assert_eq!(banner(&mut asked).await?.status, status);
        assert_eq!(asked.read(&mut [0; 1]).await?, 0);
    }
    let mut stream = TcpStream::connect(("127.0.0.1", replica)).await?;
    let mut other = encode_preamble(&open(Leg::Second));
    other[8] = 2;
    stream.write_all(&other[..HELLO_BYTES]).await?;
    let answer = banner(&mut stream).await?;
    assert_eq!(
        (answer.status, answer.leg),
        (Status::Unsupported, Leg::Second)
    );
    Ok(())
}

#[tokio::test]
async fn connections_that_say_nothing_are_bounded_in_number_and_time() -> io::Result<()> {
    let settings = Settings {
        pending_hellos: 4,
        hello_timeout: Duration::from_millis(300),
        ..Settings::default()
    };
    let (listener, replica) = listen(settings).await?;
    let mut silent = Vec::new();
    for _ in 0..12 {
        silent.push(TcpStream::connect(("127.0.0.1", replica)).await?);
    }
    for stream in &mut silent {
        assert!(is_reset(stream).await);
    }
    let stats = listener.stats();
    assert_eq!(stats.pending_hellos, 0);
    assert!(stats.dropped_hello_timeout <= 4, "{stats:?}");
    // A foreign protocol is recognised by the first byte.
    let mut foreign = TcpStream::connect(("127.0.0.1", replica)).await?;
    foreign.write_all(b"GET / HTTP/1.1\r\n\r\n").await?;
    assert!(is_reset(&mut foreign).await);
    assert_eq!(listener.stats().accepted, 0);
    Ok(())
}
