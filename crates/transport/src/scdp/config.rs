//! Parameters of SCDP.

use super::common::limits::{Limits, MAX_WINDOW};
use super::credit::config::CreditConfig;
use crate::config::{
    ConfigError, SERVICE_PORT, check, no_shorter, payload, positive, service_port, within,
};
use crate::receiver_driven::Demotion;

use tailcut_units::{Duration, Time};

/// Rule by which complete data of an object is reported to the application of a receiver.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// [`Event::Completed`](crate::Event::Completed) reports the whole object.
    /// All data that has arrived counts as read by the application.
    #[default]
    Whole,
    /// [`Event::Block`](crate::Event::Block) reports each block.
    /// [`Event::Failed`](crate::Event::Failed) reports a failed session.
    Blocks {
        /// Order of the reports.
        order: BlockOrder,
        /// Window of the application in bytes: largest amount of data that one session may request in advance.
        /// The application frees a part of the window when it [consumes](super::Host::consume) data.
        /// The receiver does not pull blocks beyond this window.
        /// The receiver rejects an object if one block is larger than the window. `u64::MAX` means no limit.
        window: u64,
    },
}

/// Order in which complete blocks are reported to the application.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum BlockOrder {
    /// Ascending block numbers. A complete block waits until all blocks before it are complete.
    #[default]
    Ascending,
    /// Order of completion. Each block is reported as soon as it is complete.
    AsWhole,
}

/// Protocol variant. Both ends of a session must use the same variant.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub enum Mode {
    /// The paper's protocol: a fixed window of symbols is in flight, for networks that trim.
    #[default]
    Paper,
    /// Credits: for networks that do not trim.
    /// Delay, losses and marks limit the symbols in flight to the capacity of the path.
    Credit(CreditConfig),
}

/// SCDP parameters of one host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScdpConfig {
    /// Payload bytes of a full symbol, 1 to 65,535. Default 1,460.
    pub symbol: u32,
    /// Number of symbols that a sender pushes before the first pull, 1 to 4,096.
    /// Default 12 (SCDP paper, section V, at 1 Gb/s; 24 at 5 Gb/s and 32 at 10 Gb/s).
    /// A window below the bandwidth-delay product reduces throughput.
    pub initial_window: u32,
    /// Number of symbols that each of several senders pushes, 1 to 4,096.
    /// Together, several senders should push more symbols than a single sender.
    /// With more pushed symbols, some of the senders can fill the receiver's link without the remaining senders.
    /// The paper leaves the value to the application.
    /// Default 8: three senders together push twice the symbols of a single sender.
    pub shared_window: u32,
    /// Largest number of source symbols in a block, 1 to 56,403. The paper's value is unknown.
    /// Default 100, because codecs are fast up to this size.
    pub block_symbols: u32,
    /// Number of symbols beyond K that a receiver requests after a trimmed header has arrived.
    /// Default 2 (section IV-C).
    pub overhead: u32,
    /// Priority classes by bytes sent. Default thresholds: 10 KB, 100 KB, 1 MB and 10 MB (section V).
    pub demotion: Demotion,
    /// Whether the host serves its own sessions in strict priority, by class. Otherwise sessions take turns.
    /// Default: true. Sessions are served in strict priority.
    pub in_order: bool,
    /// Time between two pulls of this host, more than 0.
    /// The interval is the time of a full symbol on the host's link, with headers, preamble and gap.
    /// Default 1,230.4 ns: 1,538 B at 10 Gb/s.
    pub pull_interval: Duration,
    /// Time of one payload byte on the host's link. It gives the time of a short symbol. Default 0.8 ns: 10 Gb/s.
    pub byte_time: Duration,
    /// Timeout of a sender or receiver that waits for a packet, more than 0. Each timeout in a row doubles the time.
    /// The paper gives no value. Default 20 ms.
    pub timeout: Duration,
    /// Upper bound of the timeout. Default 1 s.
    pub max_timeout: Duration,
    /// Number of timeouts in a row after which a session fails. Default 15, as in Linux's TCP.
    pub max_timeouts: u32,
    /// Time for which a receiver remembers a finished session, counted from the last packet that arrives.
    /// The sender keeps the addresses of the session for twice this time. Default 100 ms.
    pub time_wait: Duration,
    /// Port of the service on every host, 1 to 32,765. Default 80.
    pub port: u16,
    /// Delivery of objects to the host's application. Default: whole objects.
    pub delivery: Delivery,
    /// Protocol variant. Default: the variant of the paper.
    pub mode: Mode,
    /// Limits for values that peers send. Default: [`Limits::WIDEST`].
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
            demotion: Demotion::at(&Demotion::SCDP).unwrap_or(Demotion::NONE),
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
    /// Checks all parameters.
    ///
    /// # Errors
    /// A parameter is outside its range. The error contains the first such parameter.
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

    /// Returns the time at which a sender or receiver gives up, if no packet has arrived since `start`.
    pub(crate) fn given_up_at(&self, start: Time) -> Time {
        // `backed_off` does not increase after 30 doublings, so all later timeouts are equally long.
        let growing = self.max_timeouts.min(31);
        let spans = (0..=growing).map(|timeouts| self.backed_off(timeouts));
        let rest = u64::from(self.max_timeouts - growing);
        spans
            .fold(start, Time::saturating_add)
            .saturating_add(self.max_timeout.saturating_mul(rest))
    }

    /// Returns the timeout after a number of timeouts in a row.
    pub(crate) fn backed_off(&self, timeouts: u32) -> Duration {
        // The limit keeps the shift in range, for any number of timeouts.
        let factor = 1 << timeouts.min(30);
        self.timeout.saturating_mul(factor).min(self.max_timeout)
    }
}
