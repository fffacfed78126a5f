"""Tests of workloads that are lists of flows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import Command, hashes

import tailcut as tc

STARTS = [0, 1_250, 2_000, 90_000]
SRC, DST, BYTES = [0, 1, 2, 3], [12, 13, 14, 15], [2_920, 100_000, 5_000_000, 1]


def test_any_kind_of_column_gives_the_same_flows() -> None:
    expected = tc.flows(STARTS, SRC, DST, BYTES).trace
    kinds: list[Any] = [
        numpy.array,
        pandas.Series,
        polars.Series,
        pyarrow.array,
        lambda values: pyarrow.chunked_array([values]),
        tuple,
        lambda values: [numpy.uint32(value) for value in values],
    ]
    for kind in kinds:
        columns = [kind(values) for values in (STARTS, SRC, DST, BYTES)]
        assert tc.flows(*columns).trace == expected
    assert tc.flows([0.0, 0.25], [0, 1], [2, 3], [5, 6]).trace.splitlines()[2] == b"0.250,1,3,6"


def test_the_flows_of_arrays_are_those_of_a_file(command: Command, tmp_path: Path) -> None:
    workload = tc.flows(numpy.array(STARTS), numpy.array(SRC), DST, BYTES)
    assert len(workload) == 4
    study = tc.compare(["tcp", "ndp"], workload=workload, seeds=2, progress=False)
    assert study.flows.to_polars()["bytes"].to_list() == BYTES * 4
    (tmp_path / "flows.csv").write_bytes(workload.trace)
    flags = f"--seeds 2 --workload trace:{tmp_path}/flows.csv --json --out {tmp_path}/out".split()
    printed = json.loads(command("compare", "tcp", "ndp", *flags))
    assert hashes(study) == [run["record_hash"] for run in printed]


def test_a_dictionary_takes_such_a_workload() -> None:
    workload = tc.flows(STARTS, SRC, DST, BYTES, name="mine")
    scenario = tc.Scenario.from_dict({"designs": ["tcp"], "workload": workload})
    assert scenario.cases()[0].workload == "trace:mine"
    assert scenario.files == {"mine": workload.trace}


def test_a_value_that_is_none_is_told_with_its_row() -> None:
    with pytest.raises(tc.ScenarioError, match=r"dst: found -1 in row 2; allowed: a whole number"):
        tc.flows([0, 0, 0], [0, 0, 0], [1, 1, -1], [10, 10, 10])
    with pytest.raises(tc.ScenarioError, match=r"start_ns: found nan in row 0"):
        tc.flows([float("nan")], [0], [1], [10])
    with pytest.raises(tc.ScenarioError, match=r"src: found 2 values, and 1 of start_ns"):
        tc.flows([0], [0, 1], [1], [10])
    with pytest.raises(tc.ScenarioError, match="flows:2: column dst: found `4000`; allowed"):
        tc.compare(["tcp"], workload=tc.flows([0], [0], [4_000], [10]), progress=False)
