//! Tests of a client whose set of replicas changes.

mod common;
#[path = "common/plain_client.rs"]
mod plain_client;

use common::{BlockingService, Version, get, serve};
use http_body_util::BodyExt;
use plain_client::PlainClient;
use std::convert::Infallible;
use std::future::poll_fn;
use std::task::Poll;
use tailcut_rans::client::{ClientConfig, Discovered, DiscoveredError, Purges, Replica};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tower::discover::Change;
use tower_service::Service;

type ReplicaChange = Result<Change<&'static str, Replica<PlainClient>>, Infallible>;
type Client = Discovered<UnboundedReceiverStream<ReplicaChange>, PlainClient>;

fn client() -> (UnboundedSender<ReplicaChange>, Client) {
    let (changes, change) = unbounded_channel();
    let change = UnboundedReceiverStream::new(change);
    let client = Discovered::new(change, ClientConfig::default(), 1);
    (changes, client.expect("a configuration"))
}

async fn held(key: &'static str) -> (BlockingService, ReplicaChange) {
    let work = BlockingService::new();
    let address = serve(Version::Two, work.clone()).await;
    let replica = Replica {
        primary: PlainClient::to(Version::Two, address).await,
        copy: PlainClient::to(Version::Two, address).await,
        purges: Purges::Yes,
    };
    (work, Ok(Change::Insert(key, replica)))
}

/// Returns whether the client accepts a request at this moment.
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
    let (changes, mut client) = client();
    assert_eq!(is_ready(&mut client).await, Ok(false));
    let (one, change) = held("one").await;
    changes.send(change).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let first = tokio::spawn(client.call(get("/first")));
    one.until(|seen| seen.began == ["/first"]).await;

    // As soon as there are two replicas, requests have copies.
    let (two, change) = held("two").await;
    changes.send(change).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let second = tokio::spawn(client.call(get("/second")));
    one.until(|seen| seen.began.len() == 2).await;
    two.until(|seen| seen.began == ["/second"]).await;
    two.allow(1);
    second.await.expect("no panic").expect("an answer");
    one.until(|seen| seen.dropped == ["/second"]).await;

    // A replica that is removed still finishes its open requests.
    changes.send(Ok(Change::Remove("one"))).expect("a client");
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
    let (changes, mut client) = client();
    let (one, change) = held("one").await;
    changes.send(change).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    one.allow(1);
    client.call(get("/")).await.expect("an answer");
    let known = client.client().expect("one").states()[0].latency;
    assert!(known.is_some());
    let (_two, change) = held("two").await;
    changes.send(change).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    let states = client.client().expect("one").states();
    assert_eq!((states[0].latency, states[1].latency), (known, None));
}

#[tokio::test]
async fn without_a_replica_it_waits_and_when_none_can_come_it_says_so() {
    let (changes, mut client) = client();
    let (_one, change) = held("one").await;
    changes.send(change).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(true));
    changes.send(Ok(Change::Remove("one"))).expect("a client");
    assert_eq!(is_ready(&mut client).await, Ok(false));
    let error = client
        .call(get("/"))
        .await
        .expect_err("there is no replica");
    assert!(matches!(error, DiscoveredError::NoReplica));
    drop(changes);
    assert_eq!(
        is_ready(&mut client).await,
        Err("there is no replica".to_owned())
    );
}
