//! The keys of switches that choose paths.

use super::key::{Fallback, Key, SIZE, SPAN, Section, count, key, sets, typed, up_to};

/// ECMP.
pub const ECMP: Section = Section {
    name: "ecmp",
    repeated: false,
    about: "ECMP, where designs name no other routing.",
    keys: &[typed(
        "hash",
        sets!(settings.designs.paths.ecmp_hash),
        "What switches hash a flow by. \"mixed\": all bits well mixed, with a seed a switch. \"crc32\" and \
         \"xor\" of addresses and ports: the same at every switch, and the path is the remainder, so that \
         ports p and p + 1 of a server take always or never the same of 2, 4, 8, ... paths.",
    )],
};

/// LetFlow.
pub const LETFLOW: Section = Section {
    name: "letflow",
    repeated: false,
    about: "LetFlow, in designs that end in @letflow.",
    keys: &[key(
        "gap",
        SPAN,
        sets!(settings.designs.paths.letflow.gap),
        "A flow that has sent nothing for longer than this begins a new flowlet, on a path drawn at \
         random (LetFlow paper).",
    )],
};

const fn dre_levels(sets: Fallback, about: &'static str) -> Key {
    key("levels", count(2, 254), sets, about)
}

const fn dre_keep(sets: Fallback, about: &'static str) -> Key {
    let share = up_to(0.999);
    key("dre_keep", share, sets, about)
}

const fn entry_timeout(sets: Fallback) -> Key {
    key(
        "entry_timeout",
        SPAN,
        sets,
        "The route of a flow that sends nothing for longer than this is forgotten (authors' code).",
    )
}

/// CONGA.
pub const CONGA: Section = Section {
    name: "conga",
    repeated: false,
    about: "CONGA, in designs that end in @conga.",
    keys: &[
        key(
            "gap",
            SPAN,
            sets!(settings.designs.paths.conga.gap),
            "A flow that has sent nothing for longer than this begins a new flowlet (CONGA paper, T_fl).",
        ),
        key(
            "dre_interval",
            SPAN,
            sets!(settings.designs.paths.conga.dre.interval),
            "T: how often the counters of the rate estimators shrink. The paper has the time constant tau, \
             T / (1 - dre_keep), of 160 us.",
        ),
        dre_keep(
            sets!(settings.designs.paths.conga.dre.keep),
            "1 - alpha: what is left of a counter each time. Not in the paper, which has tau.",
        ),
        dre_levels(
            sets!(settings.designs.paths.conga.dre.levels),
            "Levels of congestion, 2^Q (CONGA paper, Q = 3).",
        ),
        key(
            "metric_timeout",
            SPAN,
            sets!(settings.designs.paths.conga.metric_timeout),
            "A metric that is older than this counts as no congestion (CONGA paper, section 3.3).",
        ),
        typed(
            "between_pods",
            sets!(settings.designs.paths.conga.between_pods),
            "On three tiers, what is done with packets between pods: leaves choose as within a pod and ECMP \
             chooses the core (CONGA paper, section 7); aggregation switches also send each flowlet over the \
             least loaded of their uplinks; or leaves send each flowlet over any uplink (Expeditus authors' code).",
        ),
    ],
};

/// Expeditus.
pub const EXPEDITUS: Section = Section {
    name: "expeditus",
    repeated: false,
    about: "Expeditus, in designs that end in @expeditus.",
    keys: &[
        key(
            "dre_interval",
            SPAN,
            sets!(settings.designs.paths.expeditus.dre.interval),
            "T: how often the counters of the rate estimators shrink (authors' code).",
        ),
        dre_keep(
            sets!(settings.designs.paths.expeditus.dre.keep),
            "w: what is left of a counter each time; the time constant is T / (1 - w), 66.7 us (authors' \
             code).",
        ),
        dre_levels(
            sets!(settings.designs.paths.expeditus.dre.levels),
            "L: levels of congestion (authors' code).",
        ),
        entry_timeout(sets!(settings.designs.paths.expeditus.entry_timeout)),
    ],
};

/// Expeditus in its first form.
pub const EXPEDITUS_DECK: Section = Section {
    name: "expeditus_deck",
    repeated: false,
    about: "Expeditus in the form of its slides, in designs that end in @expeditus-deck. The slides give no \
            numbers.",
    keys: &[
        key(
            "level_bytes",
            SIZE,
            sets!(settings.designs.paths.expeditus_deck.level_bytes),
            "Bytes that wait for each level of congestion; there are 254.",
        ),
        typed(
            "combination",
            sets!(settings.designs.paths.expeditus_deck.combination),
            "What counts of two hops: the worse, or both together.",
        ),
        key(
            "heard_timeout",
            SPAN,
            sets!(settings.designs.paths.expeditus_deck.heard_timeout),
            "What a switch heard from above longer ago than this counts as no congestion.",
        ),
        key(
            "southbound_bytes",
            count(0, 255),
            sets!(settings.designs.paths.expeditus_deck.southbound_bytes),
            "Bytes that the level of the link takes on every packet that comes down from switch to switch.",
        ),
        key(
            "encapsulation",
            count(0, 1_000),
            sets!(settings.designs.paths.expeditus_deck.encapsulation),
            "Bytes that the tunnel adds to a packet on its way up (an IPv4 header).",
        ),
        entry_timeout(sets!(settings.designs.paths.expeditus_deck.entry_timeout)),
    ],
};

/// The bound.
pub const OMNISCIENT: Section = Section {
    name: "omniscient",
    repeated: false,
    about: "The bound that sees every link, in designs that end in @omniscient.",
    keys: &[
        typed(
            "sight",
            sets!(settings.designs.paths.omniscient.sight),
            "What it sees of a link: its load by a rate estimator, without levels, or the time that what \
             waits before it takes to send.",
        ),
        key(
            "dre_interval",
            SPAN,
            sets!(settings.designs.paths.omniscient.dre.interval),
            "T of the rate estimators, as in expeditus.",
        ),
        dre_keep(
            sets!(settings.designs.paths.omniscient.dre.keep),
            "w of the rate estimators, as in expeditus.",
        ),
        entry_timeout(sets!(settings.designs.paths.omniscient.entry_timeout)),
    ],
};
