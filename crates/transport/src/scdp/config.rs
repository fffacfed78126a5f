//! SCDP's parameters.

use super::common::limits::{Limits, MAX_WINDOW};
use super::credit::config::CreditConfig;
use crate::config::{
    ConfigError, SERVICE_PORT, check, no_shorter, payload, positive, service_port, within,
};
use crate::receiver_driven::Demotion;

use tailcut_units::{Duration, Time};

/// How a receiver hands objects to its application.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// [`Event::Completed`](crate::Event::Completed) tells of the whole object. The application is
    /// taken to have read all that has arrived.
    #[default]
    Whole,
    /// [`Event::Block`](crate::Event::Block) tells of each block, and
    /// [`Event::Failed`](crate::Event::Failed) of a session that was given up.
    Blocks {
        /// Which block is told of first.
        order: BlockOrder,
        /// Bytes of the blocks of one session that are held for the application at most: those
        /// that have been asked for and that it has not [consumed](super::Host::consume). What is
        /// beyond is not pulled, and an object of which one block is more is not received.
        /// `u64::MAX`: no limit.
        window: u64,
    },
}

/// The order in which an application is told of whole blocks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum BlockOrder {
    /// The first one first: one that is whole before those in front of it waits for them.
    #[default]
    Ascending,
    /// Each as soon as it is whole.
    AsWhole,
}

/// The protocol. Both ends of a session have the same.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub enum Mode {
    /// The paper's: as many symbols are in flight as the sender pushes. For networks that trim.
    #[default]
    Paper,
    /// Receivers give credits: as many symbols are in flight as the path carries, by delay, losses and
    /// marks. For networks that do not trim.
    Credit(CreditConfig),
}

/// Parameters of one host's SCDP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScdpConfig {
    /// Payload bytes of a full symbol, 1 to 65,535. Default 1,460.
    pub symbol: u32,
    /// Symbols that a sender pushes before the first pull, 1 to 4,096. Default 12 (SCDP paper, section
    /// V, at 1 Gb/s; 24 at 5 and 32 at 10 Gb/s). Below the bandwidth-delay product throughput is lost.
    pub initial_window: u32,
    /// Symbols that each sender of several pushes, 1 to 4,096; all of them together should push more than
    /// one alone would, so that some fill the receiver's link without the rest. The paper leaves it to
    /// the application. Default 8: three senders push twice what one does.
    pub shared_window: u32,
    /// Source symbols of a block at most, 1 to 56,403. The paper's value is not known; default 100,
    /// up to which codecs are fast.
    pub block_symbols: u32,
    /// Symbols beyond K that a receiver asks for once a header has come. Default 2 (section IV-C).
    pub overhead: u32,
    /// Classes by bytes sent. Default 10 KB, 100 KB, 1 MB and 10 MB (section V).
    pub demotion: Demotion,
    /// Whether the host serves its own sessions by class, strictly; else all of them in turn. Default true.
    pub in_order: bool,
    /// The time between two pulls of this host, above 0: what a full symbol takes on its link, with
    /// headers, preamble and gap. Default 1,230.4 ns: 1,538 B at 10 Gb/s.
    pub pull_interval: Duration,
    /// What a payload byte takes on the host's link, for pulls of short symbols. Default 0.8 ns: 10 Gb/s.
    pub byte_time: Duration,
    /// How long either end hears nothing that it waits for before it tries again, above 0; twice as
    /// long each time it still hears nothing. The paper names no value. Default 20 ms.
    pub timeout: Duration,
    /// The upper bound of the timeout. Default 1 s.
    pub max_timeout: Duration,
    /// Timeouts in a row after which a session is given up. Default 15, as Linux's TCP.
    pub max_timeouts: u32,
    /// How long the receiver of a finished session remembers it after the last of its packets; the
    /// sender keeps the addresses for twice as long. Default 100 ms.
    pub time_wait: Duration,
    /// The port that hosts are reached at, 1 to 32,765. Default 80.
    pub port: u16,
    /// What the host's application is told of what arrives. Default: of whole objects.
    pub delivery: Delivery,
    /// The protocol. Default: the paper's.
    pub mode: Mode,
    /// What peers may claim. Default: [`Limits::WIDEST`].
    pub limits: Limits,
}

impl Default for ScdpConfig {
    fn default() -> Self {
        Self {
            symbol: 1_460,
            initial_window: 12,
            shared_window: 8,
            block_symbols: 100,
            overhead: 2,
            demotion: Demotion::at(&[10_000, 100_000, 1_000_000, 10_000_000])
                .unwrap_or(Demotion::NONE),
            in_order: true,
            pull_interval: Duration::from_ps(1_230_400),
            byte_time: Duration::from_ps(800),
            timeout: Duration::from_ms(20),
            max_timeout: Duration::from_ms(1_000),
            max_timeouts: 15,
            time_wait: Duration::from_ms(100),
            port: SERVICE_PORT,
            delivery: Delivery::Whole,
            mode: Mode::Paper,
            limits: Limits::WIDEST,
        }
    }
}

impl ScdpConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        service_port(self.port, "flows")?;
        payload("symbol", self.symbol)?;
        let windows = 1..=MAX_WINDOW;
        within(
            "initial_window",
            self.initial_window,
            windows.clone(),
            " symbols",
        )?;
        within("shared_window", self.shared_window, windows, " symbols")?;
        let block = self.block_symbols;
        within("block_symbols", block, 1..=56_403, " (RFC 6330)")?;
        positive("pull_interval", self.pull_interval)?;
        positive("timeout", self.timeout)?;
        no_shorter("max_timeout", self.max_timeout, ("timeout", self.timeout))?;
        self.limits.validate()?;
        if let Mode::Credit(credit) = &self.mode {
            credit.validate()?;
        }
        let has_room = !matches!(self.delivery, Delivery::Blocks { window: 0, .. });
        let window = "a window of more than 0 bytes";
        check("delivery", self.delivery, has_room, window)
    }

    /// When an end gives up that has heard nothing since `start`.
    pub(crate) fn given_up_at(&self, start: Time) -> Time {
        // The timeouts after these are all as long.
        let growing = self.max_timeouts.min(31);
        let spans = (0..=growing).map(|timeouts| self.backed_off(timeouts));
        let rest = u64::from(self.max_timeouts - growing);
        spans
            .fold(start, Time::saturating_add)
            .saturating_add(self.max_timeout.saturating_mul(rest))
    }

    /// The timeout after so many in a row.
    pub(crate) fn backed_off(&self, timeouts: u32) -> Duration {
        let factor = 1 << timeouts.min(30);
        self.timeout.saturating_mul(factor).min(self.max_timeout)
    }
}
