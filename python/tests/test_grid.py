"""Tests of a grid that is killed in the middle and continues.

Each engine gives the command's results.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Command
from engines import CASES, ENGINES, GRID, grid, start

import tailcut as tc


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, command: Command) -> Path:
    """Returns the results of the command, which runs the whole grid."""
    place = tmp_path_factory.mktemp("whole")
    (place / "grid.toml").write_text(GRID)
    command("run", place / "grid.toml", "--out", place / "out")
    return place / "out"


def done(directory: Path) -> dict[str, int]:
    """Returns the results in a study's directory, and the times when they were written."""
    results = (result for result in directory.glob("done/*") if result.suffix != ".partial")
    return {result.name: (result / "run.json").stat().st_mtime_ns for result in results}


def tables(study: Path) -> Iterator[dict[str, bytes]]:
    """Returns the bytes of each run's tables, by run.

    Folder names depend on the build, so they are not used.
    """
    runs = json.loads((study / "manifest.json").read_text())["runs"]
    assert len(runs) == CASES
    for run in runs:
        found = (study / "runs" / run["id"]).glob("*.parquet")
        yield {table.name: table.read_bytes() for table in found}


def kill_in_the_middle(process: subprocess.Popen[str], directory: Path) -> None:
    """Kills all processes of the group when a sixteenth of the grid has finished."""
    while sum(1 for _ in directory.glob("done/*")) < CASES // 16:
        assert process.poll() is None, "it has ended early"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def assert_whole(study: tc.Study, directory: Path, whole: Path, before: dict[str, int]) -> None:
    assert 0 < len(before) < CASES, "the engine was killed in the middle"
    after = done(directory)
    assert len(after) == CASES
    assert before.items() <= after.items(), "finished cases were not run again"
    ours, theirs = study.runs.to_polars(), tc.Study.open(whole).runs.to_polars()
    cost = ["cpu_seconds", "wall_seconds", "peak_rss_bytes"]
    assert ours.drop(cost).equals(theirs.drop(cost))
    assert (study.answer, study.summary) == (tc.Study.open(whole).answer, study.summary)
    assert all(one == other for one, other in zip(tables(directory / "collected"), tables(whole)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_grid_that_is_killed_goes_on_where_it_was(
    engine: str, tmp_path: Path, whole: Path
) -> None:
    process = start(engine, tmp_path / "grid")
    kill_in_the_middle(process, tmp_path / "grid")
    before = done(tmp_path / "grid")
    study = ENGINES[engine](tmp_path / "grid")
    assert_whole(study, tmp_path / "grid", whole, before)


def test_a_cluster_of_hyperqueue_that_is_killed_loses_no_case(tmp_path: Path, whole: Path) -> None:
    directory = tmp_path / "grid"
    # The tasks have only a few cases each, so most tasks have not started when the process is killed.
    first = start("cluster", tmp_path / "first")
    killer = threading.Thread(target=kill_in_the_middle, args=(first, directory))
    killer.start()
    with pytest.raises(tc.RunError, match="the same call with a server that answers"):
        grid().run(
            progress=False,
            executor=tc.HyperQueue(tmp_path / "first", chunk=0.05),
            directory=directory,
        )
    killer.join()
    before, printed = done(directory), set((directory / "jobs").iterdir())
    second = start("cluster", tmp_path / "second")
    try:
        queue = tc.HyperQueue(tmp_path / "second", chunk=0.05)
        study = grid().run(progress=False, executor=queue, directory=directory)
    finally:
        second.communicate()
    assert_whole(study, directory, whole, before)
    assert set((directory / "jobs").iterdir()) == printed, "tasks that end well leave no files"
