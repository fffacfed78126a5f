//! Open connections of a listener.
//! When no further connection may be opened and a client waits, connections without a request are closed.

use super::activity::Activity;
use super::client::client_prefix;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::task::Id;

struct Entry {
    /// Address from which the connection comes.
    peer: IpAddr,
    activity: Arc<Activity>,
    /// Signal that closes the connection.
    close: Arc<Notify>,
    is_closing: bool,
}

impl Entry {
    fn client(&self) -> IpAddr {
        self.activity.client().unwrap_or(self.peer)
    }
}

/// Open connections, by the task that serves them.
#[derive(Default)]
pub(super) struct ConnectionTable(HashMap<Id, Entry>);

impl ConnectionTable {
    pub fn insert(
        &mut self,
        task: Id,
        address: IpAddr,
        activity: Arc<Activity>,
        close: Arc<Notify>,
    ) {
        let entry = Entry {
            peer: client_prefix(address),
            activity,
            close,
            is_closing: false,
        };
        self.0.insert(task, entry);
    }

    pub fn remove(&mut self, task: Id) {
        self.0.remove(&task);
    }

    /// Closes at most `most` connections that have no request, unless some connections are closing already.
    /// The client with the most connections loses its connections first. Of these, the longest idle ones close first.
    pub fn close_idle(&mut self, most: usize) {
        if self.0.values().any(|entry| entry.is_closing) {
            return;
        }
        let mut counts = HashMap::<IpAddr, usize>::new();
        for entry in self.0.values() {
            *counts.entry(entry.client()).or_default() += 1;
        }
        let idle = self.0.values_mut().filter_map(|entry| {
            let since = entry.activity.idle_since()?;
            let count = counts.get(&entry.client()).copied().unwrap_or_default();
            Some((Reverse(count), since, entry))
        });
        let mut idle: Vec<_> = idle.collect();
        idle.sort_unstable_by_key(|(count, since, _)| (*count, *since));
        for (.., entry) in idle.into_iter().take(most) {
            entry.is_closing = true;
            entry.close.notify_one();
        }
    }
}
