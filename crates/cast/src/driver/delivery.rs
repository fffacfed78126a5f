//! End of received objects: delivery to the application, refusal, and removal of their sessions.

use super::engine::{Engine, News};
use super::incoming_sessions::Session;
use super::reason::Reason;
use super::route::Route;
use tailcut_transport::Streams;
use tailcut_units::{FlowId, Time};

/// Rate below which an object gives its memory to a new object, in bytes per second.
/// An attacker can hold much memory with few packets only if it sends more slowly than this.
const SLOW: u64 = 64 << 10;

impl Engine {
    /// Reserves memory for `bytes` bytes of an object that have arrived.
    /// If there is too little memory, the slowest of all objects ends. So the fastest can always arrive completely.
    /// Returns `false` if this object has ended.
    pub(super) fn make_room(&mut self, now: Time, flow: FlowId, bytes: usize) -> bool {
        loop {
            let Some(inbound) = self.incoming.get_mut(&flow) else {
                return false;
            };
            if inbound.reserve(bytes) {
                return true;
            }
            let rate = inbound.rate(now).unwrap_or(SLOW);
            if !self.displace(now, flow, rate) {
                self.counts.no_room += 1;
                self.turn_out(now, flow);
                return false;
            }
        }
    }

    /// Ends the slowest object if it is slower than `rate`. Its sender offers it again later.
    /// Returns whether an object has ended. The object `except` never ends.
    pub(super) fn displace(&mut self, now: Time, except: FlowId, rate: u64) -> bool {
        let others = self.incoming.iter().filter(|(flow, _)| **flow != except);
        let rates = others.filter_map(|(flow, inbound)| Some((inbound.rate(now)?, *flow)));
        match rates.min().filter(|(slowest, _)| *slowest < rate) {
            Some((_, flow)) => self.turn_out(now, flow),
            None => false,
        }
    }

    /// Makes room for a new object, if a slow object holds memory. Returns whether an object has ended.
    pub(super) fn make_room_for_new(&mut self, now: Time) -> bool {
        // No object has this number. So all objects are compared.
        self.displace(now, FlowId(u32::MAX), SLOW)
    }

    /// Ends an object because of a limit on memory. Returns whether its session was known.
    fn turn_out(&mut self, now: Time, flow: FlowId) -> bool {
        let session = self.incoming_sessions.session_of.get(&flow).copied();
        if let Some(session) = session {
            self.refuse(now, session, Reason::Busy);
        }
        session.is_some()
    }

    /// Ends a transfer that this host receives, and sends the reason to all senders.
    pub(super) fn refuse(&mut self, now: Time, session: u64, reason: Reason) {
        let Some(known) = self.incoming_sessions.sessions.get(&session) else {
            return;
        };
        // The list is copied, because `close` needs the whole engine.
        let (flow, connections) = (known.flow, known.connections.clone());
        for (_, id) in connections {
            self.close(id, reason);
        }
        self.host.refuse(now, flow);
        self.end_incoming(flow);
    }

    /// Handles a complete object. With a key, the object waits until its sender has proved that it has the key.
    /// Without this proof, an attacker could replay the packets of an old session.
    pub(super) fn on_completed(&mut self, now: Time, flow: FlowId) {
        let session = self.incoming_sessions.session_of.get(&flow).copied();
        let known = session.and_then(|id| self.incoming_sessions.sessions.get(&id));
        let connection = known.and_then(|known| known.connections.first());
        let connection = connection.and_then(|(_, connection)| self.connections.get(*connection));
        let seal = connection.and_then(|connection| connection.seal.as_ref());
        // If there are several senders, only senders with a proof have contributed.
        // `on_symbol` drops the symbols of all other senders.
        // An object from several senders has a separate port (`collect`). So the usual port means one sender.
        let is_one = known.is_some_and(|known| known.port == self.config.port);
        match (
            session,
            seal.is_some_and(|seal| !seal.is_proved() && is_one),
        ) {
            (Some(id), true) => self.incoming_sessions.wait(now, id),
            _ => self.deliver(flow),
        }
    }

    /// Gives an object to the application.
    pub(super) fn deliver(&mut self, flow: FlowId) {
        let Some(mut inbound) = self.incoming.remove(&flow) else {
            return;
        };
        let route = match self.incoming_sessions.session_of.get(&flow) {
            Some(&id) => {
                self.incoming_sessions.settle(id);
                let session = self.incoming_sessions.sessions.get(&id);
                let connection = session.and_then(|session| session.connections.first());
                let connection =
                    connection.and_then(|(_, connection)| self.connections.get(*connection));
                connection.map(|connection| Route {
                    to: connection.address,
                    from: connection.local,
                })
            }
            None => self.leave_paper(flow).map(Route::from),
        };
        // The address of the sender may not be validated yet.
        // If it is not validated, `prove` allocates the memory of the whole object now.
        if let (Some(route), true) = (route, inbound.prove()) {
            let (bytes, reservation) = inbound.into_bytes();
            self.news.push_back(News::Received {
                route,
                bytes,
                reservation,
            });
        }
    }

    /// Removes a received object and its session.
    pub(super) fn end_incoming(&mut self, flow: FlowId) {
        self.incoming.remove(&flow);
        match self.incoming_sessions.session_of.get(&flow) {
            Some(&id) => {
                for (_, connection) in self.incoming_sessions.remove(id) {
                    self.connections.remove(connection);
                }
            }
            None => {
                self.leave_paper(flow);
            }
        }
    }

    /// Removes the sessions that the transport has dropped.
    pub(super) fn forget(&mut self) {
        if !self.incoming_sessions.are_many() {
            return;
        }
        let is_known = |session: &Session| {
            // All connections of a session are removed together with the session.
            // So the first connection represents all connections of the session.
            let connection = session.connections.first();
            let tuple = connection.map(|(_, id)| self.incoming_sessions.tuple(*id, session.port));
            let known = tuple.and_then(|tuple| self.host.receiving(&tuple));
            known.is_some_and(|(flow, _)| flow == session.flow)
        };
        let gone: Vec<u64> = self
            .incoming_sessions
            .sessions
            .iter()
            .filter(|(_, session)| !is_known(session))
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            // A failed session was removed when it failed. So the whole object of this session has arrived.
            self.incoming_sessions.ended.insert(id);
            for (_, connection) in self.incoming_sessions.remove(id) {
                self.connections.remove(connection);
            }
        }
        self.incoming_sessions.looked();
    }
}
