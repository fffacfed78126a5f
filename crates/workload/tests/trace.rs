//! Tests of traces.
//! The flows are equal to the rows of the file, errors are useful, and a written trace can be read again.

use proptest::prelude::*;
use tailcut_units::{FlowId, HostId, Time};
use tailcut_workload::{
    Arrivals, Class, Flow, Generated, GeneratedSpec, Limits, Matrix, SizeDistribution, Source,
    Trace, TraceSource,
};

const LIMITS: Limits = Limits {
    hosts: 16,
    paths: 4,
};

fn parse(text: &str) -> Trace {
    Trace::parse(text.as_bytes(), LIMITS).expect("a trace")
}

fn message(text: &str) -> String {
    Trace::parse(text.as_bytes(), LIMITS)
        .expect_err("not a trace")
        .to_string()
}

fn written(trace: &Trace) -> String {
    let mut text = String::new();
    trace.write(&mut text).expect("a string takes everything");
    text
}

#[test]
fn a_trace_gives_exactly_its_flows_sorted_by_start() {
    let trace = parse("start_ns,src,dst,bytes,path\n500,1,2,1000,3\n20.5,4,5,1,\n500,6,7,9,0\n");
    let flow = |id, ps, src, dst, bytes, path| Flow {
        id: FlowId(id),
        start: Time::from_ps(ps),
        src: HostId(src),
        dst: HostId(dst),
        bytes,
        path,
        class: Class::Foreground,
    };
    assert_eq!(
        trace.flows(),
        [
            flow(1, 20_500, 4, 5, 1, None),
            flow(0, 500_000, 1, 2, 1000, Some(3)),
            flow(2, 500_000, 6, 7, 9, Some(0)),
        ]
    );
    let mut source = TraceSource::new(trace.clone());
    assert_eq!(source.peek(), Some(Time::from_ps(20_500)));
    let replayed: Vec<Flow> = std::iter::from_fn(|| source.next()).collect();
    assert_eq!(replayed, trace.flows());
    assert_eq!(source.peek(), None);
}

#[test]
fn columns_may_come_in_any_order_with_comments_empty_lines_and_windows_line_ends() {
    let plain = parse("start_ns,src,dst,bytes\n7,1,2,3\n");
    let other = parse(
        "\u{feff}# made by hand\r\n\r\nbytes, dst ,src,start_ns\r\n# a flow\r\n3, 2,1,7\r\n\r\n",
    );
    assert_eq!(plain, other);
}

#[test]
fn traces_of_other_programs_have_quotes_further_columns_and_exponents() {
    let plain = parse("start_ns,src,dst,bytes,path\n1500,1,2,1000000,3\n2500.5,4,5,64000,\n");
    let other = parse(
        "id,\"src\",\"dst\",start_ns,\"bytes\",note,path\n\
         a,\"1\",2,1.5e3,1e6,\"a \"\"quoted\"\" note, with a comma\",\"3\"\n\
         b,4,5,25005E-1,64KB,\"a note of\ntwo lines\",\n",
    );
    assert_eq!(plain, other);
    assert_eq!(
        message("start_ns,src,dst,bytes,note\n1,2,3,4,\"a\nb\"\n5,6,7,x,\n"),
        "line 4, column `bytes`: found `x`; allowed: bytes from 1 to 1000TB, a number or with a \
         unit, such as \"100KB\" (10^5) or \"64KiB\" (2^16)"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_is_allowed() {
    const HEADER: &str = "allowed: a header with the columns start_ns, src, dst, bytes and, if \
                          wanted, path, each once";
    const SIZES: &str = "allowed: bytes from 1 to 1000TB, a number or with a unit, such as \"100KB\" \
                         (10^5) or \"64KiB\" (2^16)";
    let row = |row: &str| message(&format!("start_ns,src,dst,bytes,path\n1,2,3,4,0\n{row}\n"));
    assert_eq!(
        message(""),
        format!("line 1: found no header and no flows; {HEADER}, then at least one flow")
    );
    assert_eq!(
        message("start_ns,src,dst,bytes\n"),
        format!("line 1: found a header without any flow; {HEADER}, then at least one flow")
    );
    assert_eq!(
        message("1,2,3,4\n"),
        format!("line 1: found no column `start_ns`; {HEADER}")
    );
    assert_eq!(
        message("start_ns,src,dst\n"),
        format!("line 1: found no column `bytes`; {HEADER}")
    );
    assert_eq!(
        message("start_ns,src,dst,bytes,src\n"),
        format!("line 1: found the column `src` twice; {HEADER}")
    );
    assert_eq!(
        row("1,2,3"),
        "line 3: found 3 values; allowed: 5 values, as the header says"
    );
    assert_eq!(
        row("1,16,3,4,0"),
        "line 3, column `src`: found `16`; allowed: a host from 0 to 15"
    );
    assert_eq!(
        row("1,2,99999999999999999999,4,0"),
        "line 3, column `dst`: found `99999999999999999999`; allowed: a host from 0 to 15"
    );
    assert_eq!(
        row("1,2,2,4,0"),
        "line 3, column `dst`: found `2`, the source itself; allowed: a host other than src"
    );
    assert_eq!(
        row("1,2,3,0,0"),
        format!("line 3, column `bytes`: found `0`; {SIZES}")
    );
    assert_eq!(
        row("1,2,3,1.5,0"),
        format!("line 3, column `bytes`: found `1.5`; {SIZES}")
    );
    assert_eq!(
        row("1,2,3,4,4"),
        "line 3, column `path`: found `4`; allowed: a path from 0 to 3, or nothing"
    );
    assert_eq!(
        row("-1,2,3,4,0"),
        "line 3, column `start_ns`: found `-1`; allowed: nanoseconds from 0 to 18446744073709550, \
         with at most three decimals"
    );
    for start in [
        "",
        ".",
        "1.",
        "1.2345",
        "18446744073709551.616",
        "1e30",
        "1e-4",
        "1e",
        "+1",
        "NaN",
    ] {
        assert!(row(&format!("{start},2,3,4,0")).starts_with("line 3, column `start_ns`"));
    }
    let not_text = Trace::parse(b"start_ns,src,dst,bytes\n1,\xff,2,3\n", LIMITS).unwrap_err();
    assert_eq!(
        not_text.to_string(),
        "line 2: found a byte that is not UTF-8 at place 3; allowed: text in UTF-8"
    );
    let pathless = Limits { hosts: 4, paths: 0 };
    assert_eq!(
        Trace::parse(b"start_ns,src,dst,bytes,path\n1,2,3,4,0\n", pathless)
            .unwrap_err()
            .to_string(),
        "line 2, column `path`: found `0`; allowed: nothing: this topology has no paths to choose from"
    );
}

#[test]
fn a_long_value_is_cut_in_the_error() {
    let long = "9".repeat(10_000);
    let shown = message(&format!("start_ns,src,dst,bytes\n{long},0,1,1\n"));
    assert!(shown.len() < 200, "{shown}");
}

#[test]
fn a_generated_workload_saved_as_a_trace_gives_the_same_flows() {
    let hosts: Vec<HostId> = (0..16).map(HostId).collect();
    let spec = GeneratedSpec {
        seed: 3,
        label: 0,
        matrix: Matrix::anywhere(&hosts, &hosts).expect("a matrix"),
        sizes: SizeDistribution::named("facebook-hadoop").expect("a known name"),
        arrivals: Arrivals::Poisson,
        flows_per_second: 1e6,
        start: Time::ZERO,
        until: Time::MAX,
        arrivals_at_most: Some(5_000),
        fan_in: None,
        class: Class::Foreground,
        path: None,
    };
    let trace = Trace::record(&mut Generated::new(spec).expect("a workload"), usize::MAX);
    assert_eq!(trace.flows().len(), 5_000);
    let text = written(&trace);
    assert!(text.starts_with("start_ns,src,dst,bytes\n"));
    assert_eq!(parse(&text), trace);
}

proptest! {
    #[test]
    fn writing_and_reading_any_trace_gives_the_same_flows(
        rows in proptest::collection::vec(
            (0u64..1 << 60, 0u32..16, 1u32..16, 1u64..1 << 40, proptest::option::of(0u16..4)),
            1..50,
        ),
    ) {
        let mut text = String::from("start_ns,src,dst,bytes,path\n");
        for (ps, src, step, bytes, path) in &rows {
            let path = path.map_or(String::new(), |path| path.to_string());
            let dst = (src + step) % 16;
            text += &format!("{}.{:03},{src},{dst},{bytes},{path}\n", ps / 1_000, ps % 1_000);
        }
        let trace = parse(&text);
        prop_assert_eq!(trace.flows().len(), rows.len());
        let again = parse(&written(&trace));
        for (index, (first, second)) in trace.flows().iter().zip(again.flows()).enumerate() {
            prop_assert_eq!(second.id, FlowId(index as u32));
            prop_assert_eq!(Flow { id: second.id, ..*first }, *second);
        }
        prop_assert_eq!(written(&again), written(&trace));
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Trace::parse(&bytes, LIMITS);
    }

    #[test]
    fn no_rows_that_look_like_a_trace_make_the_parser_panic(
        rows in "(start_ns,src,dst,bytes(,path)?\r?\n)?([0-9.,eE+#\" -]{0,24}\n){0,6}",
        hosts in 0u32..20,
        paths in 0u16..5,
    ) {
        if let Ok(trace) = Trace::parse(rows.as_bytes(), Limits { hosts, paths }) {
            for flow in trace.flows() {
                prop_assert!(flow.src.0 < hosts && flow.dst.0 < hosts && flow.src != flow.dst);
                prop_assert!(flow.bytes > 0 && flow.path.is_none_or(|path| path < paths));
            }
        }
    }
}

#[test]
fn a_trace_is_cut_short_by_time_and_by_number() {
    let limits = Limits { hosts: 9, paths: 1 };
    let text = b"start_ns,src,dst,bytes\n30,0,1,7\n10,0,1,7\n20,0,1,7\n";
    let trace = Trace::parse(text, limits).expect("a trace");
    let rows = |trace: Trace| -> Vec<u32> { trace.flows().iter().map(|flow| flow.id.0).collect() };
    let early = trace.clone().until(Time::from_ns(30), usize::MAX);
    assert_eq!(
        rows(early),
        [1, 2],
        "the rows of the file that start before"
    );
    assert_eq!(rows(trace.clone().until(Time::MAX, 1)), [1]);
    assert_eq!(rows(trace.until(Time::MAX, 9)), [1, 2, 0]);
}
