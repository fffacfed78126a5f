//! Metrics in the text format of Prometheus (version 0.0.4).

pub use prometheus_client::metrics::counter::{ConstCounter, Counter};
pub use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
pub use prometheus_client::metrics::histogram::Histogram;
pub use prometheus_client::registry::Unit;

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, prometheus_text};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use std::fmt::{self, Debug};

/// Metric without a Prometheus type. Its value may rise and fall.
#[derive(Clone, Copy, Debug)]
pub struct Untyped(pub u64);

impl TypedMetric for Untyped {}

impl EncodeMetric for Untyped {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.0)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// Samples of one metric family, in the order in which the page shows them.
#[derive(Debug)]
struct Samples<L, M>(Vec<(L, M)>);

impl<L: EncodeLabelSet, M: EncodeMetric + TypedMetric> EncodeMetric for Samples<L, M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let mut samples = self.0.iter();
        samples.try_for_each(|(labels, metric)| metric.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

/// Page of metrics.
#[derive(Debug)]
pub struct Page(Registry);

impl Page {
    /// Creates an empty page. All names start with `prefix` and `_`.
    pub fn new(prefix: &str) -> Self {
        Self(Registry::with_prefix(prefix))
    }

    /// Adds a metric family. The name on the page ends with the unit, and with `_total` for counters.
    /// A full stop is added to the help text.
    pub fn family<L, M>(
        &mut self,
        name: &str,
        unit: Option<Unit>,
        help: &str,
        samples: impl IntoIterator<Item = (L, M)>,
    ) where
        L: EncodeLabelSet + Debug + Send + Sync + 'static,
        M: EncodeMetric + TypedMetric + Debug + Send + Sync + 'static,
    {
        let samples = Samples(samples.into_iter().collect());
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, samples),
            None => self.0.register(name, help, samples),
        }
    }

    /// Adds a metric without labels.
    pub fn single<M>(&mut self, name: &str, help: &str, metric: M)
    where
        M: EncodeMetric + TypedMetric + Debug + Send + Sync + 'static,
    {
        self.0.register(name, help, metric);
    }

    /// Returns the page as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_text::encode(&mut text, &self.0);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_names_have_their_unit() {
        let mut page = Page::new("x");
        let labels = [("a", "b\"c\\d\n"), ("e", "f")];
        let counter = ConstCounter::new(1.5);
        page.family("y", Some(Unit::Seconds), "Ys", [(labels, counter)]);
        page.single("z", "Zs", Untyped(2));
        assert_eq!(
            page.text(),
            "# HELP x_y_seconds_total Ys.\n# TYPE x_y_seconds_total counter\n\
             x_y_seconds_total{a=\"b\\\"c\\\\d\\n\",e=\"f\"} 1.5\n\
             # HELP x_z Zs.\n# TYPE x_z untyped\nx_z 2\n"
        );
    }
}
