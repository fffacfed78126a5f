//! The keys of servers, and of what is done about their slow answers.

use super::key::Fallback::Is;
use super::key::{ANY_SPAN, SIZE, SPAN, Section, count, key};
use crate::value::Kind;

/// Servers of requests.
pub const SERVERS: Section = Section {
    name: "servers",
    repeated: false,
    about: "The servers of requests: stations that a copy passes one after the other, processor, disk, \
            link. Links and delays are those of the design stations, which has no packets; all others \
            take the topology's, where the first hosts are servers and the next ones clients.",
    keys: &[
        key(
            "cpu",
            ANY_SPAN,
            Is("0s"),
            "Processor time of a copy, in the mean; 0s: no processor.",
        ),
        key(
            "cpu_times",
            Kind::Choice,
            Is("fixed"),
            "How processor time is drawn, for each copy on its own.",
        )
        .or(&["fixed", "exponential"]),
        key(
            "straggler_share",
            Kind::Number {
                above: 0.0,
                most: 1.0,
            },
            Is("off"),
            "The share of copies whose processor time is longer by straggler_factor.",
        )
        .or(&["off"]),
        key(
            "straggler_factor",
            Kind::Number {
                above: 0.0,
                most: 1e6,
            },
            Is("10"),
            "How many times longer.",
        ),
        key(
            "disk",
            Kind::Rate,
            Is("off"),
            "How fast the disk reads an answer.",
        )
        .or(&["off"]),
        key(
            "seek",
            ANY_SPAN,
            Is("0s"),
            "Time until the disk's first byte.",
        ),
        key(
            "link",
            Kind::Rate,
            Is("1Gbps"),
            "The rate of a server's link.",
        ),
        key(
            "client_link",
            Kind::Rate,
            Is("unlimited"),
            "The rate of a client's link; unlimited: answers wait at servers only.",
        )
        .or(&["unlimited"]),
        key(
            "request_size",
            SIZE,
            Is("100B"),
            "Bytes of a request on its way to a server, where there are packets. The header of its message comes on \
             top.",
        ),
        key(
            "chunk",
            SIZE,
            Is("1MB"),
            "Bytes that disks and links of the design stations serve as one unit, and that its clients count \
             together; disks also elsewhere. Where the bytes of three copies or more count, each but the \
             first is asked for so many at a time. Over packets, a header goes before each.",
        ),
        key(
            "discipline",
            Kind::Choice,
            Is("fifo"),
            "The order among copies of one class, at every station: first come first served, or \
             processor sharing, as TCP shares a link.",
        )
        .or(&["fifo", "processor-sharing"]),
        key(
            "preemption",
            Kind::Choice,
            Is("resume"),
            "When high work interrupts low work: at once (and the low work resumes later), after the \
             chunk in service, or never. Processor sharing resumes.",
        )
        .or(&["resume", "chunk", "never"]),
        key(
            "delay",
            ANY_SPAN,
            Is("50us"),
            "The delay of a message between client and server.",
        ),
        key(
            "purge_delay",
            ANY_SPAN,
            Is("auto"),
            "The delay of a cancellation, not less than delay. \"auto\": the same.",
        )
        .or(&["auto"]),
    ],
};

/// Duplicates.
pub const RANS: Section = Section {
    name: "rans",
    repeated: false,
    about: "What clients do about slow answers: the designs duplicate, duplicate-purge, duplicate-low, \
            das, rans, hedge, hedge-purge, hedge-budget.",
    keys: &[
        key(
            "copies",
            count(1, 8),
            Is("2"),
            "Copies of a request at most, N, each to another server. With rans the bytes of all count.",
        ),
        key(
            "quorum",
            count(1, 8),
            Is("1"),
            "Whole answers that a request needs, K: so many copies go at once and high, also without \
             duplicates.",
        ),
        key(
            "purge",
            Kind::Choice,
            Is("running"),
            "What the end of a request takes away at servers: copies in service too, or only those that \
             wait.",
        )
        .or(&["running", "queued"]),
        key(
            "swap_lead",
            SIZE,
            Is("off"),
            "Priorities of two copies are exchanged once the low one is so many bytes ahead: in what the \
             client has received, or, where there are packets, in the congestion window of its server.",
        )
        .or(&["off"]),
        key(
            "hedge_percentile",
            Kind::Number {
                above: 0.0,
                most: 99.9,
            },
            Is("95"),
            "The percentile of a client's latest latencies after which a hedge is sent.",
        ),
        key(
            "hedge_window",
            count(1, 1_000_000),
            Is("100"),
            "How many latencies that percentile is over at most; before, it is over those that are known.",
        ),
        key(
            "hedge_first",
            SPAN,
            Is("10ms"),
            "The delay of a hedge while its client knows no latency yet. As a retransmission timer before \
             its first sample, it should be above what most requests take.",
        ),
        key(
            "hedge_after",
            SPAN,
            Is("percentile"),
            "A fixed delay in place of the percentile.",
        )
        .or(&["percentile"]),
        key(
            "budget",
            Kind::Number {
                above: 0.0,
                most: 100.0,
            },
            Is("10"),
            "For hedge-budget: hedges in per cent of requests.",
        ),
        key(
            "budget_burst",
            count(1, 1_000_000),
            Is("10"),
            "For hedge-budget: hedges that may follow each other at once; so many may be sent at first.",
        ),
    ],
};
