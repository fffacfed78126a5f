//! Ten seconds of the soak test. `make soak` runs the test for an hour.
#![cfg(feature = "guard")]

#[path = "common/soak/load.rs"]
mod load;
#[path = "common/soak/service.rs"]
mod service;

use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guards_and_clients_account_for_every_request_under_faults_and_floods() {
    let outcome = load::run(Duration::from_secs(10), 60.0).await;
    assert!(
        outcome.wrong.is_empty(),
        "{:#?}\n{}",
        outcome.wrong,
        outcome.page
    );
}
