//! Keys of servers, and keys for duplicates of requests.

use super::key::{ANY_SPAN, SIZE, SPAN, Section, count, key, sets, typed, up_to};

/// Keys of the servers of requests.
pub const SERVERS: Section = Section {
    name: "servers",
    repeated: false,
    about: "Servers of requests. A copy passes three stations in turn: processor, disk and link. The links and \
            delays of this section apply only to the design stations, which has no packets. All other designs use \
            the links of the topology: the first hosts are servers, the next ones clients.",
    keys: &[
        key(
            "cpu",
            ANY_SPAN,
            sets!(settings.designs.requests.work.cpu),
            "Mean processor time of a copy. 0s: no processor.",
        ),
        typed(
            "cpu_times",
            sets!(settings.designs.requests.work.cpu_times),
            "Distribution of processor times. Each copy draws its own time.",
        ),
        key(
            "straggler_share",
            up_to(1.0),
            sets!(settings.designs.requests.work.straggler_share),
            "Share of copies whose processor time is multiplied by straggler_factor.",
        )
        .or(&["off"]),
        key(
            "straggler_factor",
            up_to(1e6),
            sets!(settings.designs.requests.work.straggler_factor),
            "Factor by which the processor time of a straggler is longer.",
        ),
        typed(
            "disk",
            sets!(settings.designs.requests.disk),
            "Rate at which the disk reads an answer.",
        )
        .or(&["off"]),
        key(
            "seek",
            ANY_SPAN,
            sets!(settings.designs.requests.work.seek),
            "Time until the disk delivers its first byte.",
        ),
        typed(
            "link",
            sets!(settings.designs.requests.link),
            "Rate of a server's link.",
        ),
        typed(
            "client_link",
            sets!(settings.designs.requests.client_link),
            "Rate of a client's link. unlimited: answers queue only at servers.",
        )
        .or(&["unlimited"]),
        key(
            "request_size",
            SIZE,
            sets!(settings.designs.requests.request_size),
            "Bytes of a request to a server, in designs with packets. The header of its message is added.",
        ),
        key(
            "chunk",
            SIZE,
            sets!(settings.designs.requests.chunk),
            "Unit of service in bytes. Disks serve one chunk at a time, in all designs. In the design stations, \
             links also do so, and clients count received bytes in chunks. If the bytes of three or more copies \
             count, each copy except the first is requested chunk by chunk. In designs with packets, each chunk has \
             a header.",
        ),
        typed(
            "discipline",
            sets!(settings.designs.requests.discipline),
            "Order among copies of one class, at every station: first come, first served, or processor sharing, as \
             TCP shares a link.",
        ),
        typed(
            "preemption",
            sets!(settings.designs.requests.preemption),
            "Time when urgent work interrupts other work. resume: at once, and the interrupted work resumes later. \
             chunk: after the chunk in service. never: it waits. Processor sharing always resumes.",
        ),
        key(
            "delay",
            ANY_SPAN,
            sets!(settings.designs.requests.delay),
            "Delay of a message between client and server.",
        ),
        key(
            "purge_delay",
            ANY_SPAN,
            sets!(settings.designs.requests.purge_delay),
            "Delay of a cancellation, at least the value of delay. \"auto\": the same as delay.",
        )
        .or(&["auto"]),
    ],
};

/// Keys of the duplicates of requests.
pub const RANS: Section = Section {
    name: "rans",
    repeated: false,
    about: "Reaction of clients to slow answers, in the designs duplicate, duplicate-purge, duplicate-low, das, \
            rans, hedge, hedge-purge, hedge-budget.",
    keys: &[
        key(
            "copies",
            count(1, 8),
            sets!(settings.designs.requests.copies),
            "Largest number of copies of a request, N, each to a different server. With rans, the bytes of all \
             copies count.",
        ),
        key(
            "quorum",
            count(1, 8),
            sets!(settings.designs.requests.quorum),
            "Number of complete answers that a request needs, K. This many copies are sent at once and with high \
             priority, also in designs without duplicates.",
        ),
        typed(
            "purge",
            sets!(settings.designs.requests.purge),
            "Copies that servers cancel when a request ends: running and queued copies, or only queued copies.",
        ),
        typed(
            "split",
            sets!(settings.designs.requests.split),
            "Method by which rans splits an object. meet: the second copy sends from the tail until both meet. \
             ranges: both copies are requested one servers.chunk at a time, from both ends, and each chunk is sent \
             forwards, as with HTTP ranges.",
        ),
        key(
            "swap_lead",
            SIZE,
            sets!(settings.designs.requests.swap_lead),
            "Lead in bytes at which the low copy and the high copy exchange priorities. The lead is counted in bytes \
             that the client has received, or, in designs with packets, in the congestion window of the server.",
        )
        .or(&["off"]),
        key(
            "hedge_percentile",
            up_to(99.9),
            sets!(combined.hedge.percent),
            "Percentile of a client's most recent latencies after which a hedge is sent.",
        ),
        key(
            "hedge_window",
            count(1, 1_000_000),
            sets!(combined.hedge.window),
            "Largest number of latencies for this percentile. With fewer known latencies, all of them count.",
        ),
        key(
            "hedge_first",
            SPAN,
            sets!(combined.hedge.first),
            "Delay of a hedge while its client has measured no latency. It should be longer than most requests take, \
             like a retransmission timer before its first sample.",
        ),
        key(
            "hedge_after",
            SPAN,
            sets!(combined.hedge.after),
            "Fixed delay, which replaces the percentile.",
        )
        .or(&["percentile"]),
        key(
            "budget",
            up_to(100.0),
            sets!(combined.budget),
            "For hedge-budget: hedges in per cent of requests.",
        ),
        key(
            "budget_burst",
            count(1, 1_000_000),
            sets!(settings.designs.requests.budget.burst),
            "For hedge-budget: largest burst of hedges. The budget starts with this number.",
        ),
    ],
};
