//! Receiver of transfers that senders offer. It runs several transfers at the same time in one thread.

use super::channel::{Channel, Post};
use super::error::Error;
use super::fetch::{Fetch, State, Step, Taken, outcome};
use super::holder::Holder;
use super::message::{Message, Offer};
use super::places::{IDLE, Room, Standing, room};
use super::progress::Event;
use super::queue::Queue;
use crate::driver::{Endpoint, Route, Sending, new_session};
use crate::files::Sink;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Number of transfers that run at the same time by default.
pub const AT_ONCE: usize = 8;
/// Number of bytes that all running transfers together request ahead.
/// The default memory limit of an endpoint has room for one more of the largest slabs.
const AHEAD: u64 = 48 << 20;

/// Transfer that a sender has offered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Offered {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Address of this host that the sender has used. `None`: the endpoint has only one address.
    pub at: Option<IpAddr>,
    /// Number of the sender's process.
    pub process: u64,
    /// Offer of the sender. It contains session numbers and the layout of the slabs.
    pub offer: Offer,
}

impl Offered {
    pub(super) fn route(&self) -> Route {
        Route {
            to: self.from,
            from: self.at,
        }
    }

    /// Returns whether this offer comes from the address `from` and has the session number `number`.
    pub(super) fn is(&self, from: SocketAddr, number: u64) -> bool {
        self.from == from && self.offer.from == number
    }
}

/// Transfer that a receiver runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arriving {
    /// Offer of the sender.
    pub offered: Offered,
    /// Final path of the data. `None` until it is known, and for a pipe.
    pub destination: Option<PathBuf>,
}

/// Next event of a listener that its user must handle.
#[derive(Debug)]
pub enum Happened {
    /// A sender offers a transfer, and a place is free.
    /// The user must call [`Listener::begin`] or [`Listener::refuse`].
    Offered(Offered),
    /// A transfer has ended. The sender has been informed.
    Ended(Arriving, Result<Taken, Error>),
}

/// Running transfer with its sink.
struct Active<'a> {
    arriving: Arriving,
    mine: u64,
    state: State,
    sink: Box<dyn Sink + 'a>,
    /// Acceptance that the sender has not confirmed yet.
    accepting: Option<Sending>,
    is_proven: bool,
    /// Whether the event that the sender takes part was reported.
    is_reported: bool,
}

impl Active<'_> {
    fn offered(&self) -> &Offered {
        &self.arriving.offered
    }

    fn standing(&self) -> Standing {
        Standing {
            address: self.offered().from.ip(),
            is_proven: self.is_proven,
            idle: self.state.progress_at().elapsed(),
        }
    }
}

/// Receiver of the transfers that senders offer.
pub struct Listener<'a> {
    channel: Channel<'a>,
    queue: Queue,
    running: Vec<Active<'a>>,
    /// Largest number of transfers with a place.
    most: usize,
    /// Events that were not returned yet.
    happened: VecDeque<Happened>,
}

impl<'a> Listener<'a> {
    /// Creates a listener at an endpoint. It works until `stop` is set.
    /// All further calls must come from the calling thread.
    pub fn new(endpoint: &'a Endpoint, stop: &'a AtomicBool) -> Self {
        Self {
            channel: Channel::new(endpoint, stop),
            queue: Queue::default(),
            running: Vec::new(),
            most: AT_ONCE,
            happened: VecDeque::new(),
        }
    }

    /// Sets the largest number of transfers that run at the same time.
    /// A transfer without progress for 10 seconds does not count.
    #[must_use]
    pub fn at_once(mut self, most: usize) -> Self {
        self.most = most.max(1);
        self
    }

    /// Runs the transfers until an event occurs that the user must handle.
    ///
    /// # Errors
    /// The user has set `stop`, or the socket has failed. All transfers have ended, and the senders have been informed.
    pub fn next(&mut self, notify: &mut dyn FnMut(&Arriving, Event)) -> Result<Happened, Error> {
        loop {
            if let Some(happened) = self.turn(notify, true)? {
                return Ok(happened);
            }
        }
    }

    /// Begins to receive an offered transfer into a sink.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn begin(&mut self, offered: Offered, sink: Box<dyn Sink + 'a>) -> Result<(), Error> {
        let mine = new_session().map_err(Error::System)?;
        let (route, offer) = (offered.route(), offered.offer);
        let accepting = self.channel.post(route, offer.from, &Message::Accept(mine));
        let holder = Holder::new(route, offered.process, offer);
        self.running.push(Active {
            arriving: Arriving {
                offered,
                destination: None,
            },
            mine,
            state: State::new(mine, vec![holder], None, Vec::new()),
            sink,
            accepting: Some(accepting),
            is_proven: false,
            is_reported: false,
        });
        Ok(())
    }

    /// Refuses an offer with a reason.
    pub fn refuse(&mut self, offered: &Offered, error: &Error) {
        let fail = Message::Fail(error.code(), error.to_string());
        self.channel
            .send(offered.route(), offered.offer.from, &fail);
    }

    /// Waits for the next offer and returns it. For users that receive one transfer at a time.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub fn accept(&mut self) -> Result<Offered, Error> {
        loop {
            if let Happened::Offered(offered) = self.next(&mut |_, _| ())? {
                return Ok(offered);
            }
        }
    }

    /// Receives an offered transfer. The offers of other senders wait during this time.
    ///
    /// # Errors
    /// One of the two ends has failed or has ended the transfer. The sender has been informed.
    pub fn receive(
        &mut self,
        offered: Offered,
        sink: Box<dyn Sink + 'a>,
        notify: &mut dyn FnMut(Event),
    ) -> Result<Taken, Error> {
        let (_, result) = self.receive_with(offered, sink, &mut |_, event| notify(event))?;
        result
    }

    /// Receives an offered transfer as [`Self::receive`] does. Returns also the destination of the data.
    ///
    /// # Errors
    /// As for [`Self::next`].
    pub fn receive_with(
        &mut self,
        offered: Offered,
        sink: Box<dyn Sink + 'a>,
        notify: &mut dyn FnMut(&Arriving, Event),
    ) -> Result<(Arriving, Result<Taken, Error>), Error> {
        self.begin(offered, sink)?;
        loop {
            let happened = self.turn(notify, false)?;
            if let Some(Happened::Ended(arriving, result)) = happened
                && arriving.offered == offered
            {
                self.farewell();
                return Ok((arriving, result));
            }
        }
    }

    /// Waits until the last messages are delivered, for at most 2 seconds. Call it before the endpoint is closed.
    pub fn farewell(&mut self) {
        self.channel.farewell();
    }

    /// Runs all transfers once. If nothing is left to do, waits for the next message.
    /// `takes_offers` shows whether offers may be returned.
    fn turn(
        &mut self,
        notify: &mut dyn FnMut(&Arriving, Event),
        takes_offers: bool,
    ) -> Result<Option<Happened>, Error> {
        let worked = self.work(notify);
        let moved = worked.inspect_err(|error| self.give_up(error))?;
        if let Some(happened) = self.happened.pop_front() {
            return Ok(Some(happened));
        }
        if takes_offers && let Some(offered) = self.next_offer() {
            return Ok(Some(Happened::Offered(offered)));
        }
        self.give_notice();
        if !moved {
            self.channel.sleep();
        }
        // A transfer may have ended to make room for an offer.
        Ok(self.happened.pop_front())
    }

    /// Handles all messages and runs one step of each transfer. Returns whether more can be done at once.
    fn work(&mut self, notify: &mut dyn FnMut(&Arriving, Event)) -> Result<bool, Error> {
        self.channel.check()?;
        let mut moved = false;
        while let Some(post) = self.channel.next()? {
            moved = true;
            self.on_post(post, notify);
        }
        for (peer, failure) in self.channel.lost() {
            while let Some(at) = self.running.iter().position(|one| one.state.has(peer)) {
                self.end(at, Err(Error::Lost { peer, failure }));
            }
        }
        self.check_acceptances(notify);
        self.share();
        // The last transfer comes first, because a transfer that ends is removed from the list.
        for at in (0..self.running.len()).rev() {
            match self.fetch(at, notify, |fetch| fetch.step()) {
                Some(Ok(Step::Idle)) | None => {}
                Some(Ok(Step::Busy)) => moved = true,
                Some(Ok(Step::Taken(taken))) => self.end(at, Ok(taken)),
                Some(Err(error)) => self.end(at, Err(error)),
            }
        }
        Ok(moved)
    }

    /// Calls a function for a running transfer.
    fn fetch<T>(
        &mut self,
        at: usize,
        notify: &mut dyn FnMut(&Arriving, Event),
        call: impl FnOnce(&mut Fetch<'_, 'a>) -> T,
    ) -> Option<T> {
        let Active {
            arriving,
            state,
            sink,
            ..
        } = self.running.get_mut(at)?;
        let mut fetch = Fetch {
            channel: &mut self.channel,
            sink: &mut **sink,
            notify: &mut |event| notify(arriving, event),
            state,
        };
        let result = call(&mut fetch);
        if arriving.destination.is_none() {
            arriving.destination = sink.destination();
        }
        Some(result)
    }

    fn on_post(&mut self, post: Post, notify: &mut dyn FnMut(&Arriving, Event)) {
        let Some(at) = self.running.iter().position(|one| one.state.owns(&post)) else {
            let running: Vec<Offered> = self.running.iter().map(|one| *one.offered()).collect();
            self.queue.on_message(&mut self.channel, &post, &running);
            self.check_restart(&post);
            return;
        };
        if let Some(one) = self.running.get_mut(at) {
            // Only the sender knows this number. It is in the acceptance, which went to this address.
            one.is_proven |= post.to == one.mine;
        }
        match self.fetch(at, notify, |fetch| fetch.on_post(post)) {
            Some(Ok(Some(taken))) => self.end(at, Ok(taken)),
            Some(Err(error)) => self.end(at, Err(error)),
            Some(Ok(None)) | None => {}
        }
    }

    /// The process of a sender may have restarted at the same port and offers its data again.
    /// The answer to a ping shows this. So the old transfer ends soon.
    fn check_restart(&mut self, post: &Post) {
        if !matches!(post.message, Message::Offer(_)) {
            return;
        }
        let offers = self.running.iter().map(Active::offered);
        let mut old = offers.filter(|old| old.from == post.from.to && old.process != post.process);
        if let Some(old) = old.next()
            && !self.channel.is_sending_to(old.from)
        {
            self.channel
                .send(old.route(), old.offer.from, &Message::Ping);
        }
    }

    /// Checks which senders have confirmed the acceptance, and reports them.
    fn check_acceptances(&mut self, notify: &mut dyn FnMut(&Arriving, Event)) {
        for at in (0..self.running.len()).rev() {
            let Some(one) = self.running.get_mut(at) else {
                continue;
            };
            let result = one.accepting.as_mut();
            match result.and_then(|accepting| self.channel.result_of(accepting)) {
                Some(Ok(_)) => {
                    one.accepting = None;
                    one.is_proven = true;
                }
                Some(Err(failure)) => {
                    one.accepting = None;
                    let peer = one.offered().from;
                    self.end(at, Err(Error::Lost { peer, failure }));
                    continue;
                }
                None => {}
            }
            if one.is_proven && !one.is_reported {
                one.is_reported = true;
                notify(&one.arriving, Event::Joined(one.offered().from));
            }
        }
    }

    /// Divides the slabs that may be requested ahead among the transfers.
    fn share(&mut self) {
        let count = self.running.len();
        if let [only] = &mut self.running[..] {
            return only.state.limit(usize::MAX);
        }
        let is_idle = |one: &Active<'_>| one.state.progress_at().elapsed() >= IDLE;
        // The requests of a transfer that stalls must not stop the others.
        let open = self.running.iter().filter(|one| !is_idle(one));
        let open: u64 = open.map(|one| one.state.requested()).sum();
        let mut left = AHEAD.saturating_sub(open);
        let mut order: Vec<&mut Active<'_>> = self.running.iter_mut().collect();
        // Who has waited longest for a slab comes first.
        order.sort_by_key(|one| one.state.progress_at());
        for one in order {
            let (slab, open) = (one.state.slab().max(1), one.state.requested());
            let share = (AHEAD / count.max(1) as u64).max(slab);
            let fits = open + slab <= share && slab <= left;
            if fits {
                left -= slab;
            }
            one.state.limit((open / slab) as usize + usize::from(fits));
        }
    }

    /// Returns the next offer if a place is free.
    fn next_offer(&mut self) -> Option<Offered> {
        if self.queue.is_empty() {
            return None;
        }
        let standings: Vec<Standing> = self.running.iter().map(Active::standing).collect();
        let room = room(&standings, self.most);
        if room == Room::None {
            return None;
        }
        let offers: Vec<Offered> = self.running.iter().map(|one| *one.offered()).collect();
        let hosts: Vec<SocketAddr> = offers.iter().map(|one| one.from).collect();
        // Two processes cannot have the same address. So the transfer of the old process ends soon.
        let is_stale =
            |old: &Offered, new: &Offered| old.from == new.from && old.process != new.process;
        let may_begin = |new: &Offered| !offers.iter().any(|old| is_stale(old, new));
        let offered = self.queue.take(&hosts, may_begin)?;
        if let Room::InsteadOf(at) = room
            && let Some(one) = self.running.get(at)
        {
            let peer = one.offered().from;
            self.end(at, Err(Error::Idle(peer)));
        }
        Some(offered)
    }

    fn give_notice(&mut self) {
        let all = self.running.len();
        let why = format!(
            "{all} other transfers run there, and it begins when one of them ends or stalls"
        );
        self.queue.give_notice(&self.channel, &why);
    }

    /// Ends a transfer and informs its sender.
    fn end(&mut self, at: usize, mut result: Result<Taken, Error>) {
        if at >= self.running.len() {
            return;
        }
        if result.is_err() {
            // If the user has interrupted the transfer, a waiting sink may have returned another error.
            // The interruption is the true cause.
            result = self.channel.check().and(result);
        }
        self.fetch(at, &mut |_, _| (), |fetch| fetch.report(&result));
        let ended = self.running.remove(at);
        let message = outcome(result.as_ref());
        self.queue.end(*ended.offered(), ended.mine, message);
        self.happened
            .push_back(Happened::Ended(ended.arriving, result));
    }

    /// Ends all transfers for the same reason.
    fn give_up(&mut self, error: &Error) {
        for at in 0..self.running.len() {
            self.fetch(at, &mut |_, _| (), |fetch| fetch.give_up(error));
        }
        self.running.clear();
        self.channel.farewell();
    }
}
