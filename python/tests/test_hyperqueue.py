"""Tests of cases as HyperQueue tasks: errors, and the end of tasks."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG, hashes
from engines import start

import tailcut as tc


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Starts a server with a worker, and yields the server's directory."""
    directory = tmp_path_factory.mktemp("hyperqueue")
    process = start("cluster", directory)
    yield directory
    process.communicate()


HERE = os.getpid()


class Homely(tc.Controller):
    """Queue that works only in this process."""

    name = "homely"

    def on_ack(self, window: tc.Window, ack: tc.Ack) -> None:
        if os.getpid() != HERE:
            raise LookupError("no such thing")
        super().on_ack(window, ack)


class Fair(tc.Queue):
    """Queue with the same rules as the built-in queue."""

    name = "fair"
    limit = 150_000


def test_a_study_on_hyperqueue_is_the_same(
    small: tc.Scenario, study: tc.Study, server: Path, tmp_path: Path
) -> None:
    queue = tc.HyperQueue(server, chunk=0)
    there = small.run(progress=False, executor=queue, directory=tmp_path / "grid")
    assert hashes(there) == hashes(study)
    assert there.answer == study.answer


def test_classes_of_a_test_go_along(server: Path, tmp_path: Path) -> None:
    def run(**how: Any) -> tc.Study:
        return tc.compare(["tcp", "fair"], flows=40, seeds=1, progress=False, **how)

    queue = tc.HyperQueue(server)
    assert hashes(run(executor=queue, directory=tmp_path / "grid")) == hashes(run())


def test_what_a_part_raises_on_a_worker_is_told(server: Path, tmp_path: Path) -> None:
    with pytest.raises(tc.RunError, match=r"(?s)task \d: .*LookupError: no such thing"):
        tc.compare(
            ["homely"],
            flows=40,
            seeds=3,
            progress=False,
            executor=tc.HyperQueue(server, chunk=0),
            directory=tmp_path / "grid",
        )


def test_a_task_that_cannot_begin_is_told(
    small: tc.Scenario, server: Path, tmp_path: Path
) -> None:
    queue = tc.HyperQueue(server, python="/nowhere/python")
    with pytest.raises(tc.RunError, match=r"case 0 of 8: HyperQueue at .*/nowhere/python"):
        small.run(progress=False, executor=queue, directory=tmp_path / "grid")


def test_a_server_that_is_not_there_is_told(small: tc.Scenario, tmp_path: Path) -> None:
    queue = tc.HyperQueue(tmp_path / "server")
    with pytest.raises(tc.RunError, match=r"HyperQueue at .*server: ") as told:
        small.run(progress=False, executor=queue, directory=tmp_path / "grid")
    assert len(str(told.value).splitlines()) == 1


def test_hyperqueue_needs_a_directory(small: tc.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="directory: found none with HyperQueue"):
        small.run(executor=tc.HyperQueue(tmp_path))
    with pytest.raises(ValueError, match="chunk: found -1; allowed: seconds, 0 or more"):
        tc.HyperQueue(chunk=-1)


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hyperqueue", None)
    with pytest.raises(ImportError, match="found no package hyperqueue; allowed: pip install"):
        tc.HyperQueue()


def until(there: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end, "the condition does not hold in time"
        time.sleep(0.01)


def test_ctrl_c_ends_the_tasks(server: Path, tmp_path: Path) -> None:
    grid = tmp_path / "grid"

    def interrupt() -> None:
        until(lambda: any(grid.glob("locks/*.lock")))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        tc.Scenario.from_toml(LONG).run(
            progress=False, executor=tc.HyperQueue(server), directory=grid
        )
    thread.join()
    until(lambda: not any(grid.glob("locks/*.lock")))
    assert not any(grid.glob("done/*")), "the case waits again"


def test_tasks_end_when_their_worker_is_killed(tmp_path: Path) -> None:
    grid = tmp_path / "grid"
    cluster = start("cluster", tmp_path / "server")

    def kill() -> None:
        until(lambda: any(grid.glob("locks/*.lock")))
        cluster.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(tc.RunError, match="cases that are done stay done"):
        tc.Scenario.from_toml(LONG).run(
            progress=False, executor=tc.HyperQueue(tmp_path / "server"), directory=grid
        )
    thread.join()
    cluster.communicate()
    until(lambda: not any(grid.glob("locks/*.lock")))
    assert not any(grid.glob("done/*")), "the case waits again"
