//! Client that duplicates every request, and counters of how the copies ended.

use crate::servers::{Kind, Saw, Server};
use bytes::Bytes;
use http::uri::Authority;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Duration;
use tailcut_rans::client::{Client, ClientConfig, ClientCounts, Purges, ResetBudget};
use tailcut_rans::connections::{ConnectionConfig, ConnectionCounts, Protocol, replica};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tower_service::Service;

/// Mean work of a copy in microseconds. The two copies of a request have independent amounts of work.
const MEAN_WORK: f64 = 20_000.0;

/// Results of a run.
#[derive(Debug)]
pub struct Outcome {
    pub requests: u64,
    pub answered: u64,
    pub errors: Vec<String>,
    pub client: ClientCounts,
    pub connections: ConnectionCounts,
    /// Sum of what both services recorded.
    pub saw: Saw,
}

impl Outcome {
    /// Returns the number of copies whose answer was not used.
    pub fn losers(&self) -> u64 {
        self.requests + self.client.copies - self.answered
    }

    /// Returns the number of unused copies whose work ran to its end.
    pub fn ran_to_their_end(&self) -> u64 {
        self.saw.ended.saturating_sub(self.answered)
    }

    /// Returns the share of unused copies whose work did not run to its end.
    pub fn purged(&self) -> f64 {
        1.0 - self.ran_to_their_end() as f64 / self.losers().max(1) as f64
    }

    /// Returns a text for each violated condition.
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

/// Sends requests to two servers of one kind for `time`, at `rate` requests per second.
pub async fn run(kind: Kind, time: Duration, rate: f64) -> Outcome {
    let servers = [Server::start(kind).await, Server::start(kind).await];
    let config = ConnectionConfig {
        protocol: Protocol::Two,
        ..ConnectionConfig::default()
    };
    let replicas: Vec<_> = servers
        .iter()
        .map(|server| {
            let to = Authority::try_from(server.address.to_string()).expect("an address");
            replica(&to, config, None, Purges::Yes).expect("a port")
        })
        .collect();
    let replica_connections: Vec<_> = replicas
        .iter()
        .flat_map(|replica| [replica.primary.clone(), replica.copy.clone()])
        .collect();
    let config = ClientConfig {
        resets: ResetBudget::UNBOUNDED,
        // The servers have no guards, but every request has to be copied.
        budget: None,
        trial: None,
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
    let connections =
        replica_connections
            .iter()
            .fold(ConnectionCounts::default(), |sum, connections| {
                let counts = connections.counts();
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

/// Waits until all requests have ended. Returns the sum of the services' records.
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
