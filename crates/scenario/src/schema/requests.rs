//! The keys of servers, and of what is done about their slow answers.

use super::key::{ANY_SPAN, SIZE, SPAN, Section, count, key, sets, typed, up_to};

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
            sets!(settings.designs.requests.work.cpu),
            "Processor time of a copy, in the mean; 0s: no processor.",
        ),
        typed(
            "cpu_times",
            sets!(settings.designs.requests.work.cpu_times),
            "How processor time is drawn, for each copy on its own.",
        ),
        key(
            "straggler_share",
            up_to(1.0),
            sets!(settings.designs.requests.work.straggler_share),
            "The share of copies whose processor time is longer by straggler_factor.",
        )
        .or(&["off"]),
        key(
            "straggler_factor",
            up_to(1e6),
            sets!(settings.designs.requests.work.straggler_factor),
            "How many times longer.",
        ),
        typed(
            "disk",
            sets!(settings.designs.requests.disk),
            "How fast the disk reads an answer.",
        )
        .or(&["off"]),
        key(
            "seek",
            ANY_SPAN,
            sets!(settings.designs.requests.work.seek),
            "Time until the disk's first byte.",
        ),
        typed(
            "link",
            sets!(settings.designs.requests.link),
            "The rate of a server's link.",
        ),
        typed(
            "client_link",
            sets!(settings.designs.requests.client_link),
            "The rate of a client's link; unlimited: answers wait at servers only.",
        )
        .or(&["unlimited"]),
        key(
            "request_size",
            SIZE,
            sets!(settings.designs.requests.request_size),
            "Bytes of a request on its way to a server, where there are packets. The header of its message comes on \
             top.",
        ),
        key(
            "chunk",
            SIZE,
            sets!(settings.designs.requests.chunk),
            "Bytes that disks and links of the design stations serve as one unit, and that its clients count \
             together; disks also elsewhere. Where the bytes of three copies or more count, each but the \
             first is asked for so many at a time. Over packets, a header goes before each.",
        ),
        typed(
            "discipline",
            sets!(settings.designs.requests.discipline),
            "The order among copies of one class, at every station: first come first served, or \
             processor sharing, as TCP shares a link.",
        ),
        typed(
            "preemption",
            sets!(settings.designs.requests.preemption),
            "When high work interrupts low work: at once (and the low work resumes later), after the \
             chunk in service, or never. Processor sharing resumes.",
        ),
        key(
            "delay",
            ANY_SPAN,
            sets!(settings.designs.requests.delay),
            "The delay of a message between client and server.",
        ),
        key(
            "purge_delay",
            ANY_SPAN,
            sets!(settings.designs.requests.purge_delay),
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
            sets!(settings.designs.requests.copies),
            "Copies of a request at most, N, each to another server. With rans the bytes of all count.",
        ),
        key(
            "quorum",
            count(1, 8),
            sets!(settings.designs.requests.quorum),
            "Whole answers that a request needs, K: so many copies go at once and high, also without \
             duplicates.",
        ),
        typed(
            "purge",
            sets!(settings.designs.requests.purge),
            "What the end of a request takes away at servers: copies in service too, or only those that \
             wait.",
        ),
        typed(
            "split",
            sets!(settings.designs.requests.split),
            "How rans splits an object: the second copy sends from the tail until they meet, or both are asked \
             for one servers.chunk at a time, from both ends, and send it forwards, as HTTP's ranges.",
        ),
        key(
            "swap_lead",
            SIZE,
            sets!(settings.designs.requests.swap_lead),
            "Priorities of two copies are exchanged once the low one is so many bytes ahead: in what the \
             client has received, or, where there are packets, in the congestion window of its server.",
        )
        .or(&["off"]),
        key(
            "hedge_percentile",
            up_to(99.9),
            sets!(joint.hedge.percent),
            "The percentile of a client's latest latencies after which a hedge is sent.",
        ),
        key(
            "hedge_window",
            count(1, 1_000_000),
            sets!(joint.hedge.window),
            "How many latencies that percentile is over at most; before, it is over those that are known.",
        ),
        key(
            "hedge_first",
            SPAN,
            sets!(joint.hedge.first),
            "The delay of a hedge while its client knows no latency yet. As a retransmission timer before \
             its first sample, it should be above what most requests take.",
        ),
        key(
            "hedge_after",
            SPAN,
            sets!(joint.hedge.after),
            "A fixed delay in place of the percentile.",
        )
        .or(&["percentile"]),
        key(
            "budget",
            up_to(100.0),
            sets!(joint.budget),
            "For hedge-budget: hedges in per cent of requests.",
        ),
        key(
            "budget_burst",
            count(1, 1_000_000),
            sets!(settings.designs.requests.budget.burst),
            "For hedge-budget: hedges that may follow each other at once; so many may be sent at first.",
        ),
    ],
};
