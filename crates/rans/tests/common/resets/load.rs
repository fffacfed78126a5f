//! A client that duplicates every request, and what became of each copy.

use crate::servers::{Kind, Saw, Server};
use bytes::Bytes;
use http::uri::Authority;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;
use tailcut_rans::client::{Client, ClientConfig, ClientCounts, Purges, ResetBudget};
use tailcut_rans::ways::{ConnectionCounts, Protocol, WayConfig, replica};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tower_service::Service;

/// Of a copy, in microseconds; the work of both is drawn by itself.
const MEAN_WORK: f64 = 20_000.0;

/// What became of the requests.
#[derive(Debug)]
pub struct Outcome {
    pub requests: u64,
    pub answered: u64,
    pub errors: Vec<String>,
    pub client: ClientCounts,
    pub connections: ConnectionCounts,
    /// What both services saw.
    pub saw: Saw,
}

impl Outcome {
    /// Copies that were not the answer.
    pub fn losers(&self) -> u64 {
        self.requests + self.client.copies - self.answered
    }

    /// Losers that a service worked on to their end.
    pub fn ran_to_their_end(&self) -> u64 {
        self.saw.ended.saturating_sub(self.answered)
    }

    /// The share of losers that no service worked on to their end.
    pub fn purged(&self) -> f64 {
        1.0 - self.ran_to_their_end() as f64 / self.losers().max(1) as f64
    }

    /// What must not be.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.errors.clone();
        let sent = self.requests + self.client.copies;
        if self.answered != self.requests {
            faults.push(format!("{} of {} answered", self.answered, self.requests));
        }
        if self.connections.accused > 0 {
            faults.push(format!(
                "{} GOAWAY with an error code",
                self.connections.accused
            ));
        }
        if self.client.failed > 0 {
            faults.push(format!("{} copies failed", self.client.failed));
        }
        if self.saw.began > sent {
            faults.push(format!("{} ran, and {sent} were counted", self.saw.began));
        }
        if self.saw.began != self.saw.left + self.saw.ended {
            faults.push(format!("not all ended: {:?}", self.saw));
        }
        faults
    }
}

fn exponential(random: &mut Xoshiro256PlusPlus, mean: f64) -> f64 {
    let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    -mean * (1.0 - uniform).ln()
}

/// Asks two servers of a kind for a time, at a rate of requests a second.
pub async fn run(kind: Kind, time: Duration, rate: f64) -> Outcome {
    let servers = [Server::start(kind).await, Server::start(kind).await];
    let config = WayConfig {
        protocol: Protocol::Two,
        ..WayConfig::default()
    };
    let replicas: Vec<_> = servers
        .iter()
        .map(|server| {
            let to = Authority::try_from(server.address.to_string()).expect("an address");
            replica(&to, config, None, Purges::Yes).expect("a port")
        })
        .collect();
    let ways: Vec<_> = replicas
        .iter()
        .flat_map(|replica| [replica.primary.clone(), replica.copy.clone()])
        .collect();
    let config = ClientConfig {
        resets: ResetBudget::UNBOUNDED,
        ..ClientConfig::default()
    };
    let client = Client::new(replicas, config, 3).expect("a configuration");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let (mut asked, mut outcomes) = (JoinSet::new(), Vec::new());
    let (began, mut requests) = (Instant::now(), 0);
    let mut at = began;
    while at < began + time {
        at += Duration::from_secs_f64(exponential(&mut random, 1.0 / rate));
        let works = [(); 2].map(|()| exponential(&mut random, MEAN_WORK) as u64);
        sleep_until(at).await;
        let mut client = client.clone();
        requests += 1;
        asked.spawn(async move {
            let uri = format!("http://service/{}/{}", works[0], works[1]);
            let request = Request::get(uri).body(Full::<Bytes>::default());
            let answer = client.call(request.expect("a request")).await;
            let answer = answer.map_err(|error| error.to_string())?;
            if answer.status() != StatusCode::OK {
                return Err(answer.status().to_string());
            }
            let body = answer.into_body().collect().await;
            let body = body.map_err(|error| error.to_string())?;
            match &body.to_bytes()[..] {
                b"done" => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
        while let Some(outcome) = asked.try_join_next() {
            outcomes.push(outcome.expect("no panic"));
        }
    }
    while let Some(outcome) = asked.join_next().await {
        outcomes.push(outcome.expect("no panic"));
    }
    let answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count() as u64;
    let errors = outcomes.into_iter().filter_map(Result::err).collect();
    let saw = settled(&servers).await;
    let connections = ways.iter().fold(ConnectionCounts::default(), |sum, way| {
        let counts = way.counts();
        ConnectionCounts {
            opened: sum.opened + counts.opened,
            kept: sum.kept + counts.kept,
            accused: sum.accused + counts.accused,
        }
    });
    Outcome {
        requests,
        answered,
        errors,
        client: client.counts(),
        connections,
        saw,
    }
}

/// What services saw, once all of it has ended.
async fn settled(servers: &[Server; 2]) -> Saw {
    let began = Instant::now();
    loop {
        let saw = [servers[0].saw().await, servers[1].saw().await];
        let saw = Saw {
            began: saw[0].began + saw[1].began,
            left: saw[0].left + saw[1].left,
            ended: saw[0].ended + saw[1].ended,
        };
        if saw.began == saw.left + saw.ended || began.elapsed() > Duration::from_secs(10) {
            return saw;
        }
        sleep(Duration::from_millis(20)).await;
    }
}
