//! Tests of flow sizes: the tables agree with the literature, and drawn sizes follow the tables.

use proptest::prelude::*;
use tailcut_workload::sizes::{NAMES, Point};
use tailcut_workload::{Error, SizeDistribution, Stream};

fn named(name: &str) -> SizeDistribution {
    SizeDistribution::named(name).expect("a known name")
}

#[test]
fn interpolated_means_are_those_of_the_tables() {
    // Means in bytes, computed by hand as sums over the published points.
    let expected = [
        ("websearch", 1_665_830.8),
        ("websearch-bytes", 1_711_250.0),
        ("datamining", 5_116.6 * 1460.0),
        ("datamining-bytes", 12_658_198.6),
        ("facebook-cache", 342.2351),
        ("facebook-hadoop", 120_420.75),
        ("alibaba-storage", 40_869.8),
    ];
    assert_eq!(expected.len(), NAMES.len());
    for (name, mean) in expected {
        let derived = named(name).mean();
        assert!(
            (derived / mean - 1.0).abs() < 1e-12,
            "{name}: {derived} against {mean}"
        );
    }
}

#[test]
fn burstiness_is_what_makes_data_mining_slow_to_converge() {
    let ratio = |name| {
        let sizes = named(name);
        sizes.second_moment() / (sizes.mean() * sizes.mean())
    };
    assert!((ratio("websearch") - 6.3706).abs() < 1e-4);
    assert!((ratio("datamining") - 65.1548).abs() < 1e-4);
}

#[test]
fn moments_of_a_uniform_distribution_are_the_textbook_ones() {
    let uniform = SizeDistribution::uniform(1_000, 3_000);
    assert_eq!(uniform.mean(), 2_000.0);
    assert!((uniform.second_moment() / ((27e9 - 1e9) / 6e3) - 1.0).abs() < 1e-12);
    assert!((uniform.moment(3) / ((81e12 - 1e12) / 8e3) - 1.0).abs() < 1e-12);
}

#[test]
fn packet_tables_have_an_atom_at_the_first_point_and_byte_tables_do_not() {
    assert_eq!(named("websearch").quantile(0.0), 6 * 1460);
    assert_eq!(named("websearch").quantile(0.1499), 6 * 1460);
    assert_eq!(named("websearch").cdf(6.0 * 1460.0 - 1.0), 0.0);
    assert_eq!(named("websearch-bytes").quantile(0.0), 1);
    assert_eq!(named("websearch-bytes").quantile(0.075), 5_000);
}

#[test]
fn quantile_inverts_the_cdf_on_every_table() {
    for entry in NAMES {
        let sizes = entry.distribution();
        let atom = sizes.points()[0].cumulative;
        for step in 1..1_000 {
            let probability = f64::from(step) / 1_000.0;
            let size = sizes.quantile(probability) as f64;
            // Rounding to a whole byte changes the probability by at most the probability of this byte.
            // Sizes below one byte become one byte.
            let below = sizes.cdf(size - 0.51);
            let above = sizes.cdf(size + 0.51);
            assert!(
                probability <= atom
                    || size == 1.0
                    || (below <= probability && probability <= above),
                "{}: {probability} at {size}",
                entry.name
            );
        }
    }
}

#[test]
fn draws_stay_within_the_band_of_dvoretzky_kiefer_and_wolfowitz() {
    const DRAWS: usize = 100_000;
    // P(sup |F_n - F| > band) <= 2 exp(-2 n band^2) = 1e-6 (Massart's constant).
    let band = ((2.0f64 / 1e-6).ln() / (2.0 * DRAWS as f64)).sqrt();
    for entry in NAMES {
        let sizes = entry.distribution();
        let mut stream = Stream::new(2024, 0, 0);
        let mut drawn: Vec<u64> = (0..DRAWS).map(|_| sizes.sample(&mut stream)).collect();
        drawn.sort_unstable();
        for size in drawn.iter().copied().step_by(97) {
            let share = drawn.partition_point(|&d| d <= size) as f64 / DRAWS as f64;
            // A size is rounded to `size` or less if it is at most half a byte above `size`.
            let expected = sizes.cdf(size as f64 + 0.5);
            assert!(
                (share - expected).abs() <= band,
                "{}: {share} against {expected} at {size}",
                entry.name
            );
        }
    }
}

#[test]
fn the_mean_of_draws_agrees_with_the_derived_mean() {
    for name in ["websearch", "websearch-bytes", "alibaba-storage"] {
        let sizes = named(name);
        let mut stream = Stream::new(7, 1, 0);
        let draws = 200_000;
        let sum: f64 = (0..draws).map(|_| sizes.sample(&mut stream) as f64).sum();
        let variance = sizes.second_moment() - sizes.mean() * sizes.mean();
        let error = sum / f64::from(draws) - sizes.mean();
        let deviations = error / (variance / f64::from(draws)).sqrt();
        assert!(deviations.abs() < 4.0, "{name}: {deviations} deviations");
    }
}

#[test]
fn byte_shares_add_up_and_mice_carry_few_bytes_in_web_search() {
    let sizes = named("websearch");
    assert_eq!(sizes.byte_share_below(u64::MAX), 1.0);
    assert_eq!(sizes.byte_share_below(0), 0.0);
    // The shares are computed by hand from the points of the table. The sizes of the points are in packets.
    // The limit of 100 KB is x = 100,000 / 1460 packets. It is in the segment from 53 to 133 packets.
    let x = 100_000.0 / 1460.0;
    let mass = 0.07 * (x - 53.0) / 80.0;
    let expected = (0.9 + 0.475 + 1.6 + 2.6 + 5.59 + mass * (53.0 + x) / 2.0) / 1140.98;
    let bytes = sizes.byte_share_below(100_000);
    assert!(
        (bytes - expected).abs() < 1e-12,
        "{bytes} against {expected}"
    );
    let flows = sizes.flow_share_below(100_000);
    assert!((flows - 0.53 - mass).abs() < 1e-12, "{flows}");
}

#[test]
fn a_limit_at_an_atom_leaves_the_atom_out() {
    let sizes = SizeDistribution::fixed(100_000);
    assert_eq!(sizes.flow_share_below(100_000), 0.0);
    assert_eq!(sizes.flow_share_below(100_001), 1.0);
    assert_eq!(sizes.byte_share_below(100_000), 0.0);
}

#[test]
fn mean_packets_counts_every_size_of_a_uniform_distribution() {
    // Before rounding, sizes are uniform between 1 and 5001.
    // After rounding, the sizes 1 and 5001 have half the probability of any other size.
    let sizes = SizeDistribution::uniform(1, 5_001);
    for payload in [1u32, 7, 100, 1460, 6_000] {
        let counted: f64 = (1..=5_001u32)
            .map(|size| {
                let weight = if size == 1 || size == 5_001 { 0.5 } else { 1.0 };
                weight / 5_000.0 * f64::from(size.div_ceil(payload))
            })
            .sum();
        let derived = sizes.mean_packets(payload);
        assert!(
            (derived / counted - 1.0).abs() < 1e-9,
            "{payload}: {derived} against {counted}"
        );
    }
}

#[test]
fn mean_packets_of_fixed_sizes_is_exact_at_the_edge_of_a_packet() {
    let packets = |bytes| SizeDistribution::fixed(bytes).mean_packets(1460);
    assert_eq!(packets(1), 1.0);
    assert_eq!(packets(1460), 1.0);
    assert_eq!(packets(1461), 2.0);
    assert_eq!(packets(14_600), 10.0);
}

#[test]
fn mean_packets_of_every_table_agrees_with_draws() {
    for entry in NAMES
        .iter()
        .filter(|entry| !entry.name.starts_with("datamining"))
    {
        let sizes = entry.distribution();
        let mut stream = Stream::new(5, 5, 5);
        let draws = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws {
            let packets = sizes.sample(&mut stream).div_ceil(1460) as f64;
            sum += packets;
            squares += packets * packets;
        }
        let n = f64::from(draws);
        let mean = sum / n;
        let error = ((squares / n - mean * mean) / n).sqrt();
        let derived = sizes.mean_packets(1460);
        assert!(
            (derived - mean).abs() < 4.0 * error,
            "{}: {derived} against {mean} +- {error}",
            entry.name
        );
    }
}

#[test]
fn an_unknown_name_is_answered_with_names_spelled_alike() {
    let alike = |name: &str| match SizeDistribution::named(name) {
        Err(Error::UnknownSizes { alike, .. }) => alike,
        other => panic!("{other:?}"),
    };
    assert_eq!(alike("webserch")[0], "websearch");
    assert_eq!(alike("web")[0], "websearch");
    assert_eq!(alike("data-mining")[0], "datamining");
    assert!(alike("zzzzzzzz").is_empty());
    let message = SizeDistribution::named("webserch").unwrap_err().to_string();
    assert_eq!(
        message,
        "no flow-size distribution is called `webserch`; did you mean `websearch`? Allowed: \
         websearch, websearch-bytes, datamining, datamining-bytes, facebook-cache, \
         facebook-hadoop, alibaba-storage, fixed:BYTES, uniform:MIN:MAX"
    );
}

#[test]
fn fixed_and_uniform_sizes_are_named_with_their_parameters() {
    assert_eq!(named("fixed:1460").mean(), 1460.0);
    assert_eq!(named("fixed:100KB").mean(), 100_000.0);
    assert_eq!(named("uniform:1K:3KB").mean(), 2_000.0);
    for wrong in [
        "fixed:",
        "fixed:0",
        "fixed:-1",
        "fixed:K",
        "fixed:9999999999G",
        "fixed:99999999999999999999",
        "uniform:5",
        "uniform:5:4",
        "uniform:0:4",
    ] {
        let error = SizeDistribution::named(wrong).unwrap_err();
        assert!(
            matches!(error, Error::SizesParameter { .. }),
            "{wrong}: {error}"
        );
        assert!(error.to_string().contains(wrong), "{error}");
    }
}

#[test]
fn a_table_of_a_file_may_have_a_header_comments_and_empty_rows() {
    let text =
        "# sizes of our own\r\nbytes,cumulative\r\n\r\n0,0\r\n1000, 0.5 # half\r\n9000,1\r\n";
    let sizes = SizeDistribution::from_table(text, None).expect("a table");
    assert_eq!(sizes.mean(), 0.5 * 500.0 + 0.5 * 5_000.0);
    assert_eq!(
        sizes.points()[1],
        Point {
            bytes: 1_000,
            cumulative: 0.5
        }
    );
}

#[test]
fn two_rows_of_one_size_are_an_atom_in_the_middle() {
    let sizes =
        SizeDistribution::from_table("0,0\n1000,0.2\n1000,0.7\n2000,1", None).expect("a table");
    assert_eq!(sizes.quantile(0.3), 1_000);
    assert_eq!(sizes.quantile(0.69), 1_000);
    assert_eq!(sizes.flow_share_below(1_000), 0.2);
    assert_eq!(sizes.flow_share_below(1_001), 0.7 + 0.3 / 1_000.0);
    assert!((sizes.mean() - (0.2 * 500.0 + 0.5 * 1_000.0 + 0.3 * 1_500.0)).abs() < 1e-9);
}

#[test]
fn a_wrong_table_names_the_line_what_was_found_and_what_is_allowed() {
    let cases = [
        (
            "0,0\n10;1\n",
            "line 2: found `10;1`; allowed: a row `bytes,cumulative`",
        ),
        (
            "0,0\nten,1\n",
            "line 2, column `bytes`: found `ten`; allowed: a size from 0 (the row before) to 1000000000000",
        ),
        (
            "5,0.5\n4,1\n",
            "line 2, column `bytes`: found `4`; allowed: a size from 5 (the row before) to 1000000000000",
        ),
        (
            "5,50\n",
            "line 1, column `cumulative`: found `50`; allowed: a number from 0 (the row before) to 1",
        ),
        (
            "5,NaN\n",
            "line 1, column `cumulative`: found `NaN`; allowed: a number from 0 (the row before) to 1",
        ),
        (
            "5,0.5\n6,0.4\n",
            "line 2, column `cumulative`: found `0.4`; allowed: a number from 0.5 (the row before) to 1",
        ),
        (
            "0,0\n5,0.9\n",
            "line 2: found the last row `5,0.9`; allowed: a last row with a size above 0 and a cumulative probability of 1 (100 in per cent)",
        ),
        (
            "",
            "line 1: found no rows; allowed: a last row with a size above 0 and a cumulative probability of 1 (100 in per cent)",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(
            SizeDistribution::from_table(text, None)
                .unwrap_err()
                .to_string(),
            message
        );
    }
}

#[test]
fn a_table_has_units_and_per_cent() {
    let plain = SizeDistribution::from_table("0,0\n10000,0.5\n1048576,1\n", None);
    let other = SizeDistribution::from_table("0,0\n10KB, 50%\n1 MiB,100 %\n", None);
    assert_eq!(plain, other);
    let tens = SizeDistribution::from_table("0,0\n1e3,0.5\n104857.6,1\n", Some(10));
    assert!(tens.is_err(), "a part of a unit");
    let tens = SizeDistribution::from_table("0,0\n1e3,0.5\n200,1\n", Some(10));
    let error = tens.expect_err("sizes that fall").to_string();
    assert!(
        error.contains("1000 (the row before) to 100000000000"),
        "{error}"
    );
}

/// Returns the distribution of a table that has the layout of another program.
fn imported(text: &str, unit: Option<u64>) -> SizeDistribution {
    SizeDistribution::from_table(text, unit).expect("a table")
}

#[test]
fn the_files_of_other_generators_give_their_distributions() {
    // The table of HPCC's traffic generator has bytes and per cent.
    let named = |name| SizeDistribution::named(name).expect("a name");
    let hpcc = "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n\
                2000000 80\n5000000 90\n10000000 97\n30000000 100\n";
    assert_eq!(imported(hpcc, None), named("websearch-bytes"));
    assert_eq!(
        imported("0 0\n1000\t0.5\n2000  1\n", None).quantile(0.75),
        1_500
    );

    // A table of ns-2 has packets, a number that is not used, and the cumulative probability.
    let ns2 = "6 1 0.15\n13 1 0.2\n19 1 0.3\n33 1 0.4\n53 1 0.53\n133 1 0.6\n667 1 0.7\n1333 1 0.8\n\
               3333 1 0.9\n6667 1 0.97\n20000 1 1\n";
    assert_eq!(imported(ns2, None), named("websearch"));
    assert_eq!(imported(ns2, Some(1_000)).largest(), 20_000_000);

    // A table of Homa's simulator has the mean, followed by sizes. Only the exact sizes of the table are drawn.
    let homa = imported(
        "3300\n1000   0.3\n2000   0.5\n4000   0.4\n5000   1.0\n",
        None,
    );
    let drawn = [0.1, 0.31, 0.49, 0.51, 0.99].map(|share| homa.quantile(share));
    assert_eq!(drawn, [1_000, 2_000, 2_000, 5_000, 5_000]);
    let steps: f64 = 0.3 * 1_000.0 + 0.2 * 2_000.0 + 0.5 * 5_000.0;
    assert!((homa.mean() - steps).abs() < 1e-9);

    let wrong = [
        ("1000 50\n2000 99\n", "line 2: found the last row `2000 99`"),
        (
            "1 1 0.5\n2 1\n",
            "line 2: found `2 1`; allowed: a row `packets count cumulative`",
        ),
        (
            "1 1 1 1\n",
            "line 1: found `1 1 1 1`; allowed: a row `bytes,cumulative`, or two or three",
        ),
        (
            "mean\n1 1\n",
            "line 1: found `mean`; allowed: a row `bytes cumulative`",
        ),
    ];
    for (text, message) in wrong {
        let error = SizeDistribution::from_table(text, None).expect_err("refused");
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_table_parser_panic(text in ".{0,200}") {
        let _ = SizeDistribution::from_table(&text, None);
        let _ = SizeDistribution::named(&text);
    }

    #[test]
    fn any_table_that_parses_can_be_drawn_from(
        mut sizes in proptest::collection::vec(0u64..100_000, 2..20),
        mut shares in proptest::collection::vec(0.0f64..1.0, 2..20),
        probability in 0.0f64..1.0,
        payload in 1u32..10_000,
    ) {
        sizes.sort_unstable();
        shares.sort_by(f64::total_cmp);
        let mut text: String = sizes
            .iter()
            .zip(&shares)
            .map(|(size, share)| format!("{size},{share}\n"))
            .collect();
        text.push_str("100000,1\n");
        let table = SizeDistribution::from_table(&text, None).expect("a rising table");
        prop_assert!((1..=100_000).contains(&table.quantile(probability)));
        prop_assert!(table.mean_packets(payload) >= 1.0);
        prop_assert!(table.mean_packets(payload) >= table.mean() / f64::from(payload) - 1e-6);
        prop_assert!((0.0..=1.0 + 1e-12).contains(&table.byte_share_below(50_000)));
    }
}
