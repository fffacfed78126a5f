"""Tests that a study of the package equals the same study of the command."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest
from conftest import SMALL, Command, hashes

import tailcut as tc

TABLES = ["flows", "ports", "nodes", "topology", "queues", "links"]


@pytest.fixture(scope="module")
def written(command: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Runs the small study with the command. Returns its directory and the output."""
    directory = tmp_path_factory.mktemp("command")
    scenario = directory / "scenario.toml"
    scenario.write_text(SMALL)
    return directory / "out", command("run", scenario, "--out", directory / "out")


def _runs(directory: Path) -> list[Path]:
    manifest = json.loads((directory / "manifest.json").read_text())
    return [directory / "runs" / run["id"] for run in manifest["runs"]]


def test_each_run_has_the_hash_of_the_commands(
    written: tuple[Path, str], study: tc.Study
) -> None:
    of_command = [json.loads((run / "run.json").read_text()) for run in _runs(written[0])]
    assert hashes(study) == [run["record_hash"] for run in of_command]
    assert len(set(hashes(study))) == 8


def test_the_answer_is_the_one_that_the_command_prints(
    written: tuple[Path, str], study: tc.Study
) -> None:
    printed = written[1].split("\nReport: ")[0].strip()
    assert printed == f"{study.answer}\n\n{study.summary}".strip()


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_the_columns_and_values_of_the_files(
    written: tuple[Path, str], study: tc.Study, name: str
) -> None:
    ours = getattr(study, name).to_polars()
    assert ours.columns[:6] == ["run", "design", "topology", "workload", "load", "seed"]
    for index, run in enumerate(_runs(written[0])):
        file = polars.read_parquet(run / f"{name}.parquet")
        here = ours.filter(polars.col("run") == index)
        assert here.select(file.columns).equals(file)
        told = [column for column in file.columns if column not in ours.columns[:6]]
        # Files do not have the last column, because the answer decides which flows it measures.
        assert ours.columns[6:] == told + ["measured"] * (name == "flows")


@pytest.mark.parametrize("kind", ["requests", "storage"])
def test_requests_and_sessions_are_tables_too(
    command: Command, tmp_path: Path, kind: str
) -> None:
    design = "rans+tcp" if kind == "requests" else "scdp"
    table = "requests" if kind == "requests" else "sessions"
    rate = {} if kind == "requests" else {"sessions_per_second": 2_000}
    scenario = tc.Scenario.from_dict(
        {
            "designs": [design],
            "flows": 30,
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 12},
            "workload": [{"kind": kind, "sizes": "fixed:100KB", **rate}],
        }
    )
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    command("run", tmp_path / "s.toml", "--out", tmp_path / "out")
    (run,) = _runs(tmp_path / "out")
    study = scenario.run(progress=False)
    file = polars.read_parquet(run / f"{table}.parquet")
    ours = getattr(study, table).to_polars()
    assert len(file) > 0
    assert ours.select(file.columns).equals(file)
    assert hashes(study) == [json.loads((run / "run.json").read_text())["record_hash"]]


def test_compare_is_the_commands_compare(command: Command, tmp_path: Path) -> None:
    flags = "--flows 50 --seeds 1 --load 0.4 --set tcp.min_rto=5ms --json --out".split()
    topology = ["--topology", "fat-tree:k=4"]
    printed = command("compare", "tcp", "repsyn", *topology, *flags, tmp_path)
    study = tc.compare(
        ["tcp", "repsyn"],
        load=0.4,
        seeds=1,
        flows=50,
        topology="fat-tree:k=4",
        tcp__min_rto="5ms",
        progress=False,
    )
    assert hashes(study) == [run["record_hash"] for run in json.loads(printed)]
