"""Tests of tables that other libraries read through Arrow's C stream."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow

import tailcut as tc


def test_polars_pandas_pyarrow_and_duckdb_take_a_table(study: tc.Study) -> None:
    flows = study.flows
    assert len(flows) == 8 * 60
    frame = flows.to_polars()
    assert frame.equals(polars.DataFrame(flows))
    assert len(flows.to_pandas()) == len(frame)
    table = pyarrow.table(flows)
    assert table.schema.field("fct_ns").nullable
    assert table.column_names == flows.columns
    counted: Any = duckdb.sql("select count(*) from flows where fct_ns >= ideal_fct_ns")
    ((rows,),) = counted.fetchall()
    assert rows == len(frame)


def test_flows_say_whether_the_answer_measures_them(small: tc.Scenario) -> None:
    scenario = small.with_(measure__from="50%", measure__until="75%")
    flows = scenario.run(progress=False).flows.to_polars()
    of_runs = flows.sort("run", "start_ns").group_by("run", maintain_order=True)
    measured = of_runs.agg("measured")["measured"].to_list()
    runs = flows["run"].n_unique()
    flows_of_run = len(flows) // runs
    first, last = flows_of_run // 2, flows_of_run * 3 // 4
    expected = [first <= number < last for number in range(flows_of_run)]
    assert measured == [expected] * runs


def test_flows_that_only_carry_load_are_not_measured(small: tc.Scenario) -> None:
    study = small.with_(seeds=1, measure__continue_load=True).run(progress=False)
    flows = study.flows.to_polars()
    later = flows.filter(polars.col("load_only") == 1)
    assert 0 < len(later) == study.runs.to_polars()["load_only"].sum()
    assert not later["measured"].any()
    assert len(flows) - len(later) == study.runs.to_polars()["flows"].sum() == 4 * 60


def test_a_table_can_be_taken_again_and_outlives_its_study(small: tc.Scenario) -> None:
    runs = small.with_(seeds=1, flows=5).run(progress=False).runs
    assert runs.to_polars().equals(runs.to_polars())
    assert runs.to_polars()["flows"].to_list() == [5, 5, 5, 5]


def test_a_stream_that_nobody_reads_is_given_back(study: tc.Study) -> None:
    for _ in range(100):
        study.flows.__arrow_c_stream__()
        study.flows.__arrow_c_schema__()


def test_an_empty_table_has_its_columns(study: tc.Study) -> None:
    assert len(study.requests) == 0
    assert "latency_ns" in study.requests.to_polars().columns


def test_importing_tailcut_imports_no_other_library(tmp_path: Path) -> None:
    code = (
        "import sys, tailcut\n"
        "heavy = {'numpy', 'pandas', 'polars', 'pyarrow', 'tqdm', 'duckdb'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
