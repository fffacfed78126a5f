//! Player: passes the steps of a case to a machine, and lists the differences from the expected answers.

use super::parse::{Block, Case, Check, Input, Sent, Step};
use std::fmt::Write as _;
use std::time::Duration;

/// TCP stack under test, with its clock.
pub trait Machine {
    /// Passes an input to the stack. The time of the step starts with this call.
    ///
    /// # Errors
    /// The stack does not support this input.
    fn apply(&mut self, input: &Input) -> Result<(), String>;

    /// Returns the segments that left immediately after an input or a timer.
    /// If answers need time, the machine may wait while `are_all` returns `false`.
    fn answers(&mut self, are_all: &dyn Fn(&[Sent]) -> bool) -> Vec<Sent>;

    /// Lets time pass from the start of the step up to `delay`, or up to the first segment that leaves.
    /// If a segment left, returns the time that passed, and the next step starts.
    fn pass(&mut self, delay: Duration) -> Option<Duration>;

    /// Returns the state of the connection.
    fn state(&mut self) -> State;
}

/// State of a connection. A field is `None` if the machine cannot read the value.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct State {
    /// Congestion window in bytes.
    pub window: Option<u64>,
    /// Slow-start threshold in bytes; [`u64::MAX`] if it is not set yet.
    pub threshold: Option<u64>,
    /// Retransmission timeout.
    pub timeout: Option<Duration>,
    /// DCTCP's estimate of the fraction of marked bytes.
    pub alpha: Option<f64>,
    /// Whether the last data segment was ECN-capable.
    pub capable: Option<bool>,
}

/// Fraction by which a retransmission timeout may differ. The kernel rounds its timeout to the ticks of its clock.
const TIMEOUT_TOLERANCE: f64 = 0.06;

/// Plays a case. Returns the differences, one per line of text.
pub fn play(case: &Case, machine: &mut dyn Machine) -> Vec<String> {
    let mut player = Player {
        mss: case.settings.mss,
        machine,
        deviations: Vec::new(),
    };
    for step in &case.steps {
        player.step(step);
    }
    if let Some(last) = case.steps.last() {
        player.expect(last, &[]);
    }
    player.deviations
}

struct Player<'a> {
    mss: u64,
    machine: &'a mut dyn Machine,
    deviations: Vec<String>,
}

impl Player<'_> {
    fn step(&mut self, step: &Step) {
        match &step.input {
            Some(input) => {
                let mut left = step.delay;
                while let Some(after) = self.machine.pass(left) {
                    left = left.saturating_sub(after);
                    let sent = merged(self.machine.answers(&|_| true));
                    self.deviate(
                        step,
                        &format!("before this step, sent {}", self.show(&sent)),
                    );
                }
                if let Err(reason) = self.machine.apply(input) {
                    self.deviate(step, &reason);
                    return;
                }
            }
            None => match self.machine.pass(step.delay + step.tolerance) {
                Some(after) if after + step.tolerance < step.delay => {
                    self.deviate(step, &format!("the timer expired after {after:.1?}"));
                }
                Some(_) => {}
                None => {
                    let expected = self.show(&step.answers);
                    self.deviate(step, &format!("expected {expected}, no timer expired"));
                    return;
                }
            },
        }
        self.expect(step, &step.answers);
        for check in &step.checks {
            self.check(step, check);
        }
    }

    fn expect(&mut self, step: &Step, expected: &[Sent]) {
        let sent = self
            .machine
            .answers(&|sent| merged(sent.to_vec()) == *expected);
        let sent = merged(sent);
        if sent != *expected {
            let (expected, sent) = (self.show(expected), self.show(&sent));
            self.deviate(step, &format!("expected {expected}, sent {sent}"));
        }
    }

    fn check(&mut self, step: &Step, check: &Check) {
        let state = self.machine.state();
        let segments = |bytes: Option<u64>| bytes.map(|bytes| bytes / self.mss);
        let holds = match check {
            Check::Window(expected) => segments(state.window) == Some(*expected),
            Check::Threshold(None) => state.threshold == Some(u64::MAX),
            Check::Threshold(expected) => segments(state.threshold) == *expected,
            Check::Timeout(expected) => state.timeout.is_some_and(|timeout| {
                let allowed = expected.mul_f64(TIMEOUT_TOLERANCE);
                timeout.abs_diff(*expected) <= allowed
            }),
            Check::Alpha(expected) => state.alpha.is_some_and(|a| (a - expected).abs() < 1e-3),
            Check::Capable(expected) => state.capable == Some(*expected),
        };
        if !holds {
            let mut found = String::new();
            match check {
                Check::Window(_) => show_segments(&mut found, state.window, self.mss),
                Check::Threshold(_) => show_segments(&mut found, state.threshold, self.mss),
                Check::Timeout(_) => found = format!("{:.1?}", state.timeout),
                Check::Alpha(_) => found = format!("{:.4?}", state.alpha),
                Check::Capable(_) => found = format!("{:?}", state.capable),
            }
            self.deviate(step, &format!("expected {check:?}, found {found}"));
        }
    }

    fn deviate(&mut self, step: &Step, text: &str) {
        self.deviations.push(format!("line {}: {text}", step.line));
    }

    fn show(&self, list: &[Sent]) -> String {
        if list.is_empty() {
            return "nothing".to_owned();
        }
        let shown = list.iter().map(|sent| show(sent, self.mss));
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn show_segments(text: &mut String, bytes: Option<u64>, mss: u64) {
    *text = match bytes {
        None => "nothing".to_owned(),
        Some(u64::MAX) => "none".to_owned(),
        Some(bytes) => format!("{:.2}", bytes as f64 / mss as f64),
    };
}

/// Merges adjacent data segments into one value.
fn merged(list: Vec<Sent>) -> Vec<Sent> {
    let mut all: Vec<Sent> = Vec::new();
    for sent in list {
        if let (
            Some(Sent::Data { bytes, fin, .. }),
            Sent::Data {
                bytes: more,
                cwr: false,
                fin: last,
            },
        ) = (all.last_mut(), &sent)
            && bytes.1 == more.0
            && !*fin
        {
            (bytes.1, *fin) = (more.1, *last);
        } else {
            all.push(sent);
        }
    }
    all
}

/// Returns a segment in the notation of the cases.
fn show(sent: &Sent, mss: u64) -> String {
    let offset = |offset: u64| match (offset / mss, offset % mss) {
        (segments, 0) => segments.to_string(),
        (segments, bytes) => format!("{segments}+{bytes}"),
    };
    let block = |(start, end): Block| format!("{}..{}", offset(start), offset(end));
    let mut text = match sent {
        Sent::Data { bytes, .. } => block(*bytes),
        Sent::Ack { ack, .. } => format!("ack {}", offset(*ack)),
        Sent::Fin(at) => format!("fin {}", offset(*at)),
        Sent::Syn { .. } => "syn".to_owned(),
        Sent::SynAck { .. } => "syn-ack".to_owned(),
        Sent::Reset => "reset".to_owned(),
    };
    match sent {
        Sent::Data { cwr, fin, .. } => {
            text.push_str(if *cwr { " cwr" } else { "" });
            text.push_str(if *fin { " fin" } else { "" });
        }
        Sent::Ack { sack, ece, .. } => {
            text.push_str(if sack.is_empty() { "" } else { " sack" });
            for bytes in sack {
                let _ = write!(text, " {}", block(*bytes));
            }
            text.push_str(if *ece { " ece" } else { "" });
        }
        Sent::Syn { ecn } | Sent::SynAck { ecn } => text.push_str(if *ecn { " ecn" } else { "" }),
        Sent::Fin(_) | Sent::Reset => {}
    }
    text
}
