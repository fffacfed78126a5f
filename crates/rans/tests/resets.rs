//! Test with one second of duplicated requests at each kind of real server.
//! The program `resets` of `bench/rans` runs the same test for minutes.
#![cfg(feature = "guard")]

#[path = "common/resets/load.rs"]
mod load;
#[path = "common/programs.rs"]
mod programs;
#[path = "common/resets/servers.rs"]
mod servers;

use servers::Kind;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_servers_bear_the_resets_of_losers_and_no_request_is_lost() {
    for kind in Kind::ALL {
        let outcome = load::run(kind, Duration::from_secs(2), 700.0).await;
        assert_eq!(
            outcome.faults(),
            Vec::<String>::new(),
            "{kind:?}: {outcome:#?}"
        );
        // There were more resets than Node's HTTP/2 accepts on one connection, and few unused copies ran to their end.
        assert!(outcome.client.purged > 1_000, "{kind:?}: {outcome:#?}");
        assert!(outcome.purged() > 0.5, "{kind:?}: {outcome:#?}");
    }
}
