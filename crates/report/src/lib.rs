//! Reports: from the records of runs to an answer.
//! A report has percentiles with their uncertainty, tables, plots, and an HTML page.
//!
//! [`load`] reads a directory into a [`Study`]. [`Study::new`] creates a study from runs in memory.
//! [`answer`], [`text_answer`], [`text_table`], [`json`](fn@json), [`pictures`](fn@pictures) and [`write_html`]
//! show the study in different forms.
//! The first design of a study is the baseline of all comparisons.
//!
//! The report shows its uncertainty: each figure has its number of flows and a 95 % interval.
//! A change is only called significant if the interval of the change does not contain zero.
//! Flows that never finished count as the slowest flows.

mod analysis;
mod answer;
mod axes;
mod bisection;
mod capacity;
mod caveat;
mod comparison;
mod curves;
mod design_comparison;
mod estimate;
mod figure;
mod fixed_flows;
mod format;
mod gap;
mod goodput;
mod group;
mod headline;
mod heat_map;
mod html;
mod ineffective_keys;
mod lateness;
mod load;
mod markup;
mod measure;
mod network;
mod over_axes;
mod overhead;
mod page;
mod plot;
mod plots;
mod queue;
mod requests;
mod resamples;
mod run;
mod same_runs;
mod sample;
mod scales;
mod screen;
mod sections;
mod sensitivity;
mod sessions;
mod settings;
mod side_effects;
mod study;
mod table;
mod table_text;
mod tables;
mod threshold;
mod timers;
mod variant;
mod waited_timer;
mod warm_up;

pub use answer::{answer, text_answer, text_answer_on};
pub use bisection::{SearchNext, SearchOutcome, SearchRange};
pub use caveat::missing_figures;
pub use comparison::{Comparison, ComparisonRow, Verdict, seeds_needed, write_comparisons};
pub use estimate::{
    BeyondGap, Estimate, Measured, Ratio, SEEDS_FOR_QUANTILES, SEEDS_FOR_T, Share, TooFew,
    of_quantiles, t_interval,
};
pub use format::Quantity;
pub use gap::Gap;
pub use html::{html, write_html};
pub use page::{Page, PageSection};
#[cfg(feature = "images")]
pub use plot::ImageError;
pub use plot::{
    Axis, CellValue, Mark, Picture, Plot, Point, Reference, RowKey, Scale, Series, SeriesRun, Size,
    Whisker,
};
pub use plots::{pictures, plots};
pub use run::{Cell as StudyCell, Flow, Run, Setting};
pub use sample::{Sample, Statistic};
pub use screen::Screen;
pub use sensitivity::order;
pub use study::{Study, load};
pub use table::{Cell, Table, Tendency};
pub use tables::{json, text_table, text_table_on};
pub use threshold::{Judged, Side, judge};
pub use variant::{FILE as SENSITIVITY_FILE, Ranked, Variant, write_variants};
pub use waited_timer::WaitedTimer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
