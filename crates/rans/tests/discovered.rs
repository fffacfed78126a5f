//! A client whose replicas come and go.

mod common;
#[path = "common/way.rs"]
mod way;

use common::{Held, Version, get, serve};
use http_body_util::BodyExt;
use std::convert::Infallible;
use std::future::poll_fn;
use std::task::Poll;
use tailcut_rans::client::{ClientConfig, Discovered, DiscoveredError, Purges, Replica};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tower::discover::Change;
use tower_service::Service;
use way::Way;

type Told = Result<Change<&'static str, Replica<Way>>, Infallible>;
type Client = Discovered<UnboundedReceiverStream<Told>, Way>;

fn client() -> (UnboundedSender<Told>, Client) {
    let (tell, told) = unbounded_channel();
    let told = UnboundedReceiverStream::new(told);
    let client = Discovered::new(told, ClientConfig::default(), 1);
    (tell, client.expect("a configuration"))
}

async fn held(key: &'static str) -> (Held, Told) {
    let work = Held::new();
    let address = serve(Version::Two, work.clone()).await;
    let replica = Replica {
        primary: Way::to(Version::Two, address).await,
        copy: Way::to(Version::Two, address).await,
        purges: Purges::Yes,
    };
    (work, Ok(Change::Insert(key, replica)))
}

/// Whether it takes a request now.
async fn is_ready(client: &mut Client) -> Result<bool, String> {
    poll_fn(|cx| {
        Poll::Ready(match client.poll_ready(cx) {
            Poll::Ready(ready) => ready.map(|()| true).map_err(|error| error.to_string()),
            Poll::Pending => Ok(false),
        })
    })
    .await
}

#[tokio::test]
async fn requests_go_to_the_replicas_of_the_moment_and_end_where_they_began() {
    let (tell, mut client) = client();
    assert_eq!(is_ready(&mut client).await, Ok(false));
    let (one, told) = held("one").await;
    tell.send(told).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let first = tokio::spawn(client.call(get("/first")));
    one.until(|seen| seen.began == ["/first"]).await;

    // It is copied as soon as there are two.
    let (two, told) = held("two").await;
    tell.send(told).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let second = tokio::spawn(client.call(get("/second")));
    one.until(|seen| seen.began.len() == 2).await;
    two.until(|seen| seen.began == ["/second"]).await;
    two.allow(1);
    second.await.expect("no panic").expect("an answer");
    one.until(|seen| seen.dropped == ["/second"]).await;

    // What a replica had to do when it was taken away, it does.
    tell.send(Ok(Change::Remove("one"))).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let third = tokio::spawn(client.call(get("/third")));
    two.until(|seen| seen.began.len() == 2).await;
    two.allow(1);
    third.await.expect("no panic").expect("an answer");
    one.allow(1);
    let answer = first.await.expect("no panic").expect("an answer");
    let body = answer.into_body().collect().await.expect("a body");
    assert_eq!(body.to_bytes(), "/first");
    assert_eq!(one.seen.borrow().began, ["/first", "/second"]);
    let counts = client.client().expect("one").counts();
    assert_eq!((counts.requests, counts.copies), (3, 1));
}

#[tokio::test]
async fn what_is_known_of_a_replica_stays_when_others_come() {
    let (tell, mut client) = client();
    let (one, told) = held("one").await;
    tell.send(told).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    one.allow(1);
    client.call(get("/")).await.expect("an answer");
    let known = client.client().expect("one").states()[0].latency;
    assert!(known.is_some());
    let (_two, told) = held("two").await;
    tell.send(told).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let states = client.client().expect("one").states();
    assert_eq!((states[0].latency, states[1].latency), (known, None));
}

#[tokio::test]
async fn without_a_replica_it_waits_and_when_none_can_come_it_says_so() {
    let (tell, mut client) = client();
    let (_one, told) = held("one").await;
    tell.send(told).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    tell.send(Ok(Change::Remove("one"))).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(false));
    let error = client.call(get("/")).await.expect_err("nobody is there");
    assert!(matches!(error, DiscoveredError::NoReplica));
    drop(tell);
    assert_eq!(
        is_ready(&mut client).await,
        Err("there is no replica".to_owned())
    );
}
