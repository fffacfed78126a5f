//! Parser of the notation for measured cases.

use std::fmt;
use std::time::Duration;

/// Case: a sequence of steps. It starts without a connection.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name, unique in its file.
    pub name: String,
    /// Mechanism of TCP that the case tests.
    pub mechanism: String,
    /// Settings of the stack under test.
    pub settings: Settings,
    /// Steps in order of time.
    pub steps: Vec<Step>,
}

/// Settings of the TCP stack under test. The defaults are as in Linux.
/// Only the following defaults differ: the segment size, the congestion control and the restart after idle times.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of a segment.
    pub mss: u64,
    /// Congestion control.
    pub controller: Controller,
    /// Whether the stack uses selective acknowledgements.
    pub sack: bool,
    /// Whether the stack uses classic ECN.
    pub ecn: bool,
    /// Whether the stack uses time stamps.
    pub timestamps: bool,
    /// Whether the window is reset after an idle time.
    pub restart_after_idle: bool,
    /// Whether the stack sends tail loss probes.
    pub probes: bool,
    /// Whether the stack detects spurious timeouts (F-RTO).
    pub frto: bool,
}

/// Congestion control of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Controller {
    /// NewReno.
    Reno,
    /// CUBIC with HyStart.
    Cubic,
    /// DCTCP.
    Dctcp,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mss: 1_000,
            controller: Controller::Reno,
            sack: true,
            ecn: false,
            timestamps: false,
            restart_after_idle: false,
            probes: true,
            frto: true,
        }
    }
}

/// Step of a case: an input some time after the previous step, and the answers of the stack.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of the step's line in the file.
    pub line: usize,
    /// Time since the previous step.
    pub delay: Duration,
    /// Largest deviation from `delay`, for timers.
    pub tolerance: Duration,
    /// Input; `None` if a timer of the stack expires.
    pub input: Option<Input>,
    /// Segments that the stack sends immediately.
    pub answers: Vec<Sent>,
    /// Expected state of the stack after the answers.
    pub checks: Vec<Check>,
}

/// End that opens the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The peer.
    Peer,
    /// The stack under test.
    Own,
}

/// Byte range: from the first offset up to, but not including, the second.
pub type Block = (u64, u64);

/// Input of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The peer and the stack complete a handshake with a round trip of `rtt`, with or without ECN.
    Handshake {
        opener: Side,
        rtt: Duration,
        ecn: bool,
    },
    /// The program opens a connection.
    Connect,
    /// The program writes bytes.
    Write(u64),
    /// The program ends its direction.
    Close,
    /// The program aborts the connection.
    Abort,
    /// The peer sends a SYN.
    Syn,
    /// The peer sends a SYN-ACK.
    SynAck,
    /// The peer sends a RST.
    Reset,
    /// The peer sends an ACK without data.
    Ack {
        ack: u64,
        sack: Vec<Block>,
        ece: bool,
        fin: bool,
        /// First byte of a segment. The time stamp that the ACK echoes is from the first transmission of this segment.
        echo: Option<u64>,
    },
    /// The peer sends data.
    Data {
        bytes: Block,
        ack: u64,
        marked: bool,
        capable: bool,
        cwr: bool,
        fin: bool,
    },
}

/// Segment that the stack sends. Adjacent data segments form one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Data. `cwr` belongs to the first segment, and `fin` to the last.
    Data { bytes: Block, cwr: bool, fin: bool },
    /// ACK without data, with at most three SACK blocks.
    Ack {
        ack: u64,
        sack: Vec<Block>,
        ece: bool,
    },
    /// FIN without data.
    Fin(u64),
    /// SYN, with or without the request for ECN.
    Syn { ecn: bool },
    /// SYN-ACK, with or without the acceptance of ECN.
    SynAck { ecn: bool },
    /// RST.
    Reset,
}

/// Check of the stack's state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Check {
    /// Congestion window in whole segments.
    Window(u64),
    /// Slow-start threshold in whole segments; `None` if it is not set yet.
    Threshold(Option<u64>),
    /// Retransmission timeout.
    Timeout(Duration),
    /// DCTCP's estimate of the fraction of marked bytes.
    Alpha(f64),
    /// Whether the last data segment was ECN-capable.
    Capable(bool),
}

/// Error in a line of a file, with the number of the line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    pub line: usize,
    pub reason: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// Returns the cases of a file.
///
/// # Errors
/// A line does not follow the notation, or two cases have the same name.
pub fn parse(text: &str) -> Result<Vec<Case>, SyntaxError> {
    let mut cases: Vec<Case> = Vec::new();
    let mut mechanism = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let at = |reason| SyntaxError {
            line: number + 1,
            reason,
        };
        if let Some(title) = line.strip_prefix('[') {
            let title = title.strip_suffix(']').ok_or("a heading ends with ]");
            mechanism = title.map_err(|error| at(error.to_owned()))?.to_owned();
        } else if let Some(name) = line.strip_prefix("case ") {
            if cases.iter().any(|case| case.name == name) {
                return Err(at(format!("a second case {name}")));
            }
            cases.push(Case {
                name: name.to_owned(),
                mechanism: mechanism.clone(),
                settings: Settings::default(),
                steps: Vec::new(),
            });
        } else if !line.is_empty() {
            let case = cases.last_mut();
            let case = case.ok_or_else(|| at("a step before the first case".to_owned()))?;
            let read = match line.strip_prefix("with ") {
                Some(list) => settings(&mut case.settings, list),
                None => step(line, number + 1, case.settings.mss).map(|step| case.steps.push(step)),
            };
            read.map_err(at)?;
        }
    }
    Ok(cases)
}

fn settings(settings: &mut Settings, list: &str) -> Result<(), String> {
    for word in list.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or("a setting is KEY=VALUE")?;
        let on = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("{key} is on or off, not {value}")),
        };
        match key {
            "mss" => settings.mss = number(value)?,
            "cc" => {
                settings.controller = match value {
                    "reno" => Controller::Reno,
                    "cubic" => Controller::Cubic,
                    "dctcp" => Controller::Dctcp,
                    _ => return Err(format!("no congestion control {value}")),
                };
            }
            "sack" => settings.sack = on()?,
            "ecn" => settings.ecn = on()?,
            "timestamps" => settings.timestamps = on()?,
            "idle-restart" => settings.restart_after_idle = on()?,
            "tlp" => settings.probes = on()?,
            "frto" => settings.frto = on()?,
            _ => return Err(format!("no setting {key}")),
        }
    }
    Ok(())
}

fn step(line: &str, number: usize, mss: u64) -> Result<Step, String> {
    let (line, checks) = line.split_once('?').unwrap_or((line, ""));
    let (line, answers) = line.split_once("->").unwrap_or((line, ""));
    let mut words = Words::new(line, mss);
    let time = words.next().ok_or("a step starts with a time")?;
    let time = time.strip_prefix('+').ok_or("a step starts with +MS")?;
    let (delay, tolerance) = time.split_once('~').unwrap_or((time, "0"));
    Ok(Step {
        line: number,
        delay: millis(delay)?,
        tolerance: millis(tolerance)?,
        input: words.input()?,
        answers: parts(answers)
            .map(|part| Words::new(part, mss).sent())
            .collect::<Result<_, _>>()?,
        checks: parts(checks)
            .map(|part| Words::new(part, mss).check())
            .collect::<Result<_, _>>()?,
    })
}

fn parts(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|part| !part.trim().is_empty())
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    let value = text.parse();
    value.map_err(|_| format!("{text} is no number"))
}

fn millis(text: &str) -> Result<Duration, String> {
    let value: f64 = number(text)?;
    Duration::try_from_secs_f64(value / 1e3).map_err(|_| format!("{text} is no time in ms"))
}

/// Remaining words in a part of a line.
struct Words<'a> {
    words: std::iter::Peekable<std::str::SplitWhitespace<'a>>,
    mss: u64,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, mss: u64) -> Self {
        Self {
            words: text.split_whitespace().peekable(),
            mss,
        }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.words.next()
    }

    fn skip(&mut self, word: &str) -> bool {
        self.words.next_if_eq(&word).is_some()
    }

    fn word(&mut self) -> Result<&'a str, String> {
        self.next()
            .ok_or_else(|| "the line is incomplete".to_owned())
    }

    /// Returns the offset that `text` represents: whole segments, or `SEGMENTS+BYTES`.
    fn offset(&self, text: &str) -> Result<u64, String> {
        let (segments, bytes) = text.split_once('+').unwrap_or((text, "0"));
        let offset = number::<u64>(segments)?.checked_mul(self.mss);
        let offset = offset.and_then(|offset| offset.checked_add(number(bytes).ok()?));
        offset.ok_or_else(|| format!("{text} is no offset"))
    }

    fn block(&self, text: &str) -> Result<Block, String> {
        let (start, end) = text
            .split_once("..")
            .ok_or_else(|| format!("{text} is no range"))?;
        Ok((self.offset(start)?, self.offset(end)?))
    }

    fn take_offset(&mut self) -> Result<u64, String> {
        let word = self.word()?;
        self.offset(word)
    }

    fn take_block(&mut self) -> Result<Block, String> {
        let word = self.word()?;
        self.block(word)
    }

    /// Returns the SACK blocks after the word `sack`, if this is the next word.
    fn take_sack(&mut self) -> Result<Vec<Block>, String> {
        let mut blocks = Vec::new();
        if self.skip("sack") {
            while let Some(word) = self.words.next_if(|word| word.contains("..")) {
                blocks.push(self.block(word)?);
            }
        }
        Ok(blocks)
    }

    fn end<T>(&mut self, value: T) -> Result<T, String> {
        match self.next() {
            None => Ok(value),
            Some(word) => Err(format!("the word {word} is too many")),
        }
    }

    fn input(&mut self) -> Result<Option<Input>, String> {
        let input = match self.word()? {
            "timer" => return self.end(None),
            word @ ("accept" | "open") => Input::Handshake {
                opener: if word == "open" {
                    Side::Own
                } else {
                    Side::Peer
                },
                rtt: millis(self.word()?)?,
                ecn: self.skip("ecn"),
            },
            "connect" => Input::Connect,
            "write" => Input::Write(self.take_offset()?),
            "close" => Input::Close,
            "abort" => Input::Abort,
            "syn" => Input::Syn,
            "syn-ack" => Input::SynAck,
            "reset" => Input::Reset,
            "ack" => Input::Ack {
                ack: self.take_offset()?,
                sack: self.take_sack()?,
                ece: self.skip("ece"),
                fin: self.skip("fin"),
                echo: self.skip("echo").then(|| self.take_offset()).transpose()?,
            },
            "data" => Input::Data {
                bytes: self.take_block()?,
                marked: self.skip("ce"),
                capable: self.skip("ect"),
                cwr: self.skip("cwr"),
                fin: self.skip("fin"),
                ack: if self.skip("ack") {
                    self.take_offset()?
                } else {
                    0
                },
            },
            word => return Err(format!("no input {word}")),
        };
        self.end(Some(input))
    }

    fn sent(&mut self) -> Result<Sent, String> {
        let sent = match self.word()? {
            "ack" => Sent::Ack {
                ack: self.take_offset()?,
                sack: self.take_sack()?,
                ece: self.skip("ece"),
            },
            "fin" => Sent::Fin(self.take_offset()?),
            "syn" => Sent::Syn {
                ecn: self.skip("ecn"),
            },
            "syn-ack" => Sent::SynAck {
                ecn: self.skip("ecn"),
            },
            "reset" => Sent::Reset,
            word => Sent::Data {
                bytes: self.block(word)?,
                cwr: self.skip("cwr"),
                fin: self.skip("fin"),
            },
        };
        self.end(sent)
    }

    fn check(&mut self) -> Result<Check, String> {
        let (what, value) = (self.word()?, self.word()?);
        let check = match what {
            "cwnd" => Check::Window(number(value)?),
            "ssthresh" if value == "none" => Check::Threshold(None),
            "ssthresh" => Check::Threshold(Some(number(value)?)),
            "rto" => Check::Timeout(millis(value)?),
            "alpha" => Check::Alpha(number(value)?),
            "ect" => Check::Capable(value == "yes"),
            _ => return Err(format!("no check {what}")),
        };
        self.end(check)
    }
}
