"""Tests of running studies: other threads continue, Ctrl-C ends a study, and progress is shown."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest
from conftest import LONG

import tailcut as tc
from tailcut import _native
from tailcut._progress import Progress


def _interrupted_after(scenario: _native.Scenario) -> float:
    """Returns the time from Ctrl-C to its exception, in seconds."""
    pressed = 0.0

    def press(_done: float) -> None:
        nonlocal pressed
        if not pressed:
            pressed = time.monotonic()
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        scenario.run(2, press)
    return time.monotonic() - pressed


def test_ctrl_c_ends_a_study_within_a_tenth_of_a_second() -> None:
    scenario = _native.Scenario.parse(LONG.encode(), "long", "")
    # On a busy machine a thread may have to wait, but not in all five tries.
    assert min(_interrupted_after(scenario) for _ in range(5)) < 0.1


def test_other_threads_of_python_run_meanwhile() -> None:
    scenario = tc.Scenario.from_toml(LONG).with_(flows=2_000)
    ended = threading.Event()

    def run() -> None:
        scenario.run(threads=1, progress=False)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    steps = 0
    while not ended.is_set():
        steps += 1
    thread.join()
    # If the run held Python's lock, this thread would make almost no steps.
    assert steps > 10_000


def test_a_quick_run_costs_next_to_nothing() -> None:
    scenario = tc.Scenario.from_dict(
        {"designs": ["tcp"], "flows": 1, "workload": [{"sizes": "fixed:20KB"}]}
    )
    costs = []
    for _ in range(5):
        before = time.process_time()
        scenario.run()
        costs.append(time.process_time() - before)
    assert min(costs) < 0.01


def test_progress_is_lines_where_there_is_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    progress = Progress(4)
    progress._next = 0.0
    progress(1.5)
    progress.end(4)
    assert capsys.readouterr().err == "1.5 of 4 runs\n4.0 of 4 runs\n"


def test_progress_is_a_bar_of_tqdm_where_that_is_installed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(4)
    progress._next = 0.0
    progress(1.5)
    progress.end(4)
    assert "1.5/4" in capsys.readouterr().err


def test_a_short_study_and_one_without_progress_show_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    tc.Scenario.from_dict({"designs": ["tcp"], "flows": 1}).run()
    before = time.monotonic()
    tc.Scenario.from_toml(LONG).with_(flows=4_000).run(progress=False)
    assert time.monotonic() - before > 0.5
    assert capfd.readouterr().err == ""
