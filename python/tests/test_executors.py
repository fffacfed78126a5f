"""Tests that a study on an executor equals the same study without one."""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG, hashes

import tailcut as tc


def test_a_process_pool_gives_the_same_study(small: tc.Scenario, study: tc.Study) -> None:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        there = small.run(progress=False, executor=pool)
    assert hashes(there) == hashes(study)
    assert there.answer == study.answer
    for table in ("flows", "ports", "topology", "queues", "links"):
        assert getattr(there, table).to_polars().equals(getattr(study, table).to_polars())


def test_threads_are_an_executor_too(small: tc.Scenario, study: tc.Study) -> None:
    with ThreadPoolExecutor(2) as pool:
        assert hashes(small.run(progress=False, executor=pool)) == hashes(study)


class Elsewhere(Executor):
    """Executor that runs each task at once, like a worker without the package's source files."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("kind", ["trace", "table"])
def test_workers_need_no_files(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flows.csv").write_text("start_ns,src,dst,bytes\n0,0,9,50000\n10.5,1,9,50000\n")
    (tmp_path / "sizes.csv").write_text("bytes,cumulative\n2920,0.5\n29200,1\n")
    workload = {"trace": 'kind = "trace"\nfile = "flows.csv"', "table": 'sizes = "table:sizes.csv"'}
    limit = "" if kind == "trace" else "flows = 20\n"
    text = f'designs = ["tcp", "dctcp"]\n{limit}[[workload]]\n{workload[kind]}\n'
    (tmp_path / "s.toml").write_text(text)
    scenario = tc.Scenario.from_toml(tmp_path / "s.toml")
    here = scenario.run(progress=False)
    assert hashes(here) == hashes(scenario.run(progress=False, executor=Elsewhere()))
    assert set(scenario.files) == {"flows.csv" if kind == "trace" else "sizes.csv"}


def test_compare_on_an_executor_is_compare() -> None:
    def compare(**how: Any) -> tc.Study:
        return tc.compare(
            ["stations", "rans+stations"],
            workload="requests:fixed:1MB",
            flows=50,
            seeds=1,
            progress=False,
            **how,
        )

    assert hashes(compare()) == hashes(compare(executor=Elsewhere()))


def test_ctrl_c_cancels_what_has_not_begun() -> None:
    sent: list[Future[Any]] = []

    class Busy(Executor):
        """Executor that starts no task, and simulates Ctrl-C at the third task."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if len(sent) == 2:
                signal.raise_signal(signal.SIGINT)
            sent.append(Future())
            return sent[-1]

    with pytest.raises(KeyboardInterrupt):
        tc.Scenario.from_toml(LONG).with_(seeds=5).run(progress=False, executor=Busy())
    assert len(sent) >= 2
    assert all(future.cancelled() for future in sent[:2])


def test_threads_beside_an_executor_are_refused(small: tc.Scenario) -> None:
    with pytest.raises(ValueError, match="threads: found a number with an executor"):
        small.run(threads=2, executor=Elsewhere())
