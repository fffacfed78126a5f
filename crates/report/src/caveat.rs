//! Caveats of an answer. A caveat is one line with a link to its section of `docs/caveats.md`.

/// Section of `docs/caveats.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caveat {
    TooFew,
    Overload,
    HotSpot,
    OfferedLoad,
    Backlog,
    Timers,
    Gap,
    Unfinished,
    MissingRuns,
    NotValid,
    NotSteady,
    SameRuns,
    OneTrace,
    NoEffect,
    Flowlets,
    Chunks,
    Codec,
}

impl Caveat {
    /// Returns the link, as the last sentence of a line.
    pub fn see(self) -> String {
        format!(" See docs/caveats.md#{}.", self.anchor())
    }

    const fn anchor(self) -> &'static str {
        match self {
            Self::TooFew => "too-few",
            Self::Overload => "overload",
            Self::HotSpot => "hot-spot",
            Self::OfferedLoad => "offered-load",
            Self::Backlog => "backlog",
            Self::Timers => "timers",
            Self::Gap => "gap",
            Self::Unfinished => "unfinished",
            Self::MissingRuns => "missing-runs",
            Self::NotValid => "not-valid",
            Self::NotSteady => "not-steady",
            Self::SameRuns => "same-runs",
            Self::OneTrace => "one-trace",
            Self::NoEffect => "no-effect",
            Self::Flowlets => "flowlets",
            Self::Chunks => "chunks",
            Self::Codec => "codec",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Caveat; 17] = [
        Caveat::TooFew,
        Caveat::Overload,
        Caveat::HotSpot,
        Caveat::OfferedLoad,
        Caveat::Backlog,
        Caveat::Timers,
        Caveat::Gap,
        Caveat::Unfinished,
        Caveat::MissingRuns,
        Caveat::NotValid,
        Caveat::NotSteady,
        Caveat::SameRuns,
        Caveat::OneTrace,
        Caveat::NoEffect,
        Caveat::Flowlets,
        Caveat::Chunks,
        Caveat::Codec,
    ];

    #[test]
    fn every_link_leads_to_a_section_and_every_section_has_a_link() {
        let page = include_str!("../../../docs/caveats.md");
        let titles = page.lines().filter_map(|line| line.strip_prefix("## "));
        let titles: Vec<String> = titles
            .map(|title| title.to_lowercase().replace(' ', "-"))
            .collect();
        let anchors = ALL.map(Caveat::anchor);
        assert_eq!(titles, anchors);
    }
}
