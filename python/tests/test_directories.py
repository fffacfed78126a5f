"""Tests of studies in a directory, which continue after an interruption."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import LONG, Command, hashes

import tailcut as tc


def written(directory: Path) -> dict[str, int]:
    """Returns the files of all results, with the times when they were written."""
    return {str(run): run.stat().st_mtime_ns for run in directory.glob("done/*/run.json")}


def test_what_is_done_is_not_run_again(
    small: tc.Scenario, study: tc.Study, tmp_path: Path
) -> None:
    grid = tmp_path / "grid"
    half = small.with_(seeds=1).run(progress=False, directory=grid)
    before = written(grid)
    assert (len(half), len(before)) == (4, 4)
    whole = small.run(progress=False, directory=grid)
    assert before.items() <= written(grid).items()
    assert hashes(whole) == hashes(study)
    assert (whole.answer, whole.summary) == (study.answer, study.summary)
    for table in ("flows", "ports", "topology", "queues", "links"):
        assert getattr(whole, table).to_polars().equals(getattr(study, table).to_polars())
    opened = tc.Study.open(grid / "collected")
    assert hashes(opened) == hashes(study)


def test_the_command_says_how_far_it_is(
    small: tc.Scenario, tmp_path: Path, command: Command
) -> None:
    small.run(2, progress=False, directory=tmp_path / "grid")
    status = json.loads(command("study", "status", tmp_path / "grid", "--json"))
    assert (status["done"], status["waiting"]) == (8, 0)
    collected = command("study", "collect", tmp_path / "grid", "--out", tmp_path / "out")
    assert tc.Study.open(tmp_path / "out").answer in collected


def test_ctrl_c_gives_cases_back(tmp_path: Path) -> None:
    grid = tmp_path / "grid"

    def interrupt() -> None:
        end = time.monotonic() + 60
        while not any(grid.glob("locks/*.lock")) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        tc.Scenario.from_toml(LONG).run(progress=False, directory=grid)
    thread.join()
    assert not any(grid.glob("locks/*.lock"))
    assert not any(grid.glob("done/*"))


#: Scenario with two fan-ins, of six and of two senders.
#: The network has four senders, so six senders fail.
FAILING = """
designs = ["tcp"]
loads = 0.3
flows = 20
seeds = 2
[topology]
kind = "single-switch"
hosts = 8
[[workload]]
sizes = "fixed:20KB"
matrix = "pairs"
pairs = [[0, 4], [1, 5], [2, 6], [3, 7]]
fan_in_below = "100KB"
[sweep]
workload.fan_in_senders = [6, 2]
"""


@pytest.mark.parametrize("pooled", [False, True])
def test_a_case_that_fails_does_not_end_the_others(pooled: bool, tmp_path: Path) -> None:
    for _ in range(2):
        with (
            ThreadPoolExecutor(2) as pool,
            pytest.raises(tc.RunError, match=r"fan_in_senders 6.*: workload: .*, and 1 more"),
        ):
            tc.Scenario.from_toml(FAILING).run(
                progress=False, directory=tmp_path / "grid", executor=pool if pooled else None
            )
        assert len(written(tmp_path / "grid")) == 2


def test_other_files_are_left_alone(small: tc.Scenario, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(tc.StudyError, match=r"found files and no plan\.json"):
        small.run(progress=False, directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


PART = """
import tailcut as tc

class Short(tc.Queue):
    name = "short"
    limit = {limit}
"""


def test_cases_of_other_code_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(directory: str, seeds: int) -> tc.Study:
        return tc.compare(
            ["short"], flows=30, seeds=seeds, progress=False, directory=tmp_path / directory
        )

    def define(limit: int) -> None:
        (tmp_path / f"short_{limit}.py").write_text(PART.format(limit=limit))
        __import__(f"short_{limit}")

    monkeypatch.syspath_prepend(tmp_path)
    define(30_000)
    first = run("grid", 1)
    assert hashes(run("grid", 2))[:1] == hashes(first)
    define(60_000)
    with pytest.raises(tc.StudyError, match="found 2 cases that another build of tailcut ran, or"):
        run("grid", 2)
    assert len(run("another", 1)) == 1
