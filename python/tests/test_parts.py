"""Tests of queues, controllers and balancers that are written in Python."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from conftest import hashes

import tailcut as tc

LIMIT = 60_000


class TailDrop(tc.Queue):
    name = "py-tail-drop"

    def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> bool:
        return backlog + size <= LIMIT


class Limited(tc.Queue):
    name = "py-limited"
    limit = LIMIT


class Threshold(tc.Queue):
    """Queue with DCTCP's rule: a packet is marked if the queue is longer than the threshold."""

    name = "py-threshold"
    like = "dctcp"
    limit = 100_000

    def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> int:
        return tc.MARK if backlog > 30_000 else tc.QUEUE


class Spared(TailDrop):
    name = "py-spared"
    ask_above = LIMIT - 2_000


class DropFront(tc.Queue):
    name = "py-drop-front"

    def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> int:
        return tc.DROP_FRONT if backlog + size > LIMIT else tc.QUEUE


class Impatient(tc.Queue):
    """Queue that drops packets when they leave, if they were queued for too long."""

    name = "py-impatient"
    limit = LIMIT

    def dequeue(self, now_ns: int, backlog: int, size: int, waited_ns: int) -> int:
        assert 0 < size <= backlog
        return tc.DROP if waited_ns > 40_000 else tc.QUEUE


class Reno(tc.Controller):
    name = "py-reno"


class Gentle(tc.Controller):
    """Controller that keeps four fifths of the window after a loss."""

    name = "py-gentle"

    def on_timeout(self, window: tc.Window, congested: tc.Congested) -> None:
        window.ssthresh = max(congested.in_flight * 0.8, 2 * congested.mss)


class Least(tc.Balancer):
    name = "py-least"

    def select(self, now_ns: int, flow: int, size: int, backlogs: Sequence[int | None]) -> int:
        up = [(queued, port) for port, queued in enumerate(backlogs) if queued is not None]
        return min(up)[1] if up else 0


SCENE: dict[str, Any] = {
    "loads": 0.7,
    "flows": 200,
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts": 4},
    "workload": [{"sizes": "websearch"}],
}


def run(*designs: str, **values: Any) -> tc.Study:
    scenario = tc.Scenario.from_dict({"designs": list(designs), **SCENE})
    return scenario.with_(**values).run(progress=False)


def test_a_queue_in_python_with_the_rules_of_a_built_in_one_gives_its_run() -> None:
    study = run("tcp", "py-tail-drop", "py-spared", "py-limited", queue__limit=f"{LIMIT}B")
    assert len(set(hashes(study))) == 1
    assert min(study.runs.to_polars()["dropped_packets"].to_list()) > 0


def test_a_queue_that_marks_is_dctcps() -> None:
    study = run("dctcp", "py-threshold", queue__limit="100KB", queue__mark_above="30KB")
    assert len(set(hashes(study))) == 1
    assert min(study.runs.to_polars()["marks"].to_list()) > 0


def test_packets_can_be_dropped_from_the_front_and_on_the_way_out() -> None:
    study = run("tcp", "py-drop-front", "py-impatient")
    runs = study.runs.to_polars()
    assert len(set(hashes(study))) == 3
    assert runs["unfinished"].to_list() == [0, 0, 0]
    balance = (
        runs["sent_packets"]
        - runs["delivered_packets"]
        - runs["dropped_packets"]
        - runs["remaining_packets"]
    )
    assert balance.to_list() == [0, 0, 0]


def test_a_controller_with_the_rules_of_newreno_gives_its_run() -> None:
    study = run("tcp", "py-reno", "py-gentle", "repflow+py-gentle")
    tcp, reno, gentle, _ = hashes(study)
    assert tcp == reno != gentle


def test_a_balancer_sends_packets_where_the_queue_is_short() -> None:
    runs = run("ndp@spray", "ndp@py-least").runs.to_polars()
    sprayed, chosen = runs["trimmed_packets"].to_list()
    assert chosen < sprayed


def test_a_queue_may_cost_three_times_the_run_in_rust() -> None:
    # Other programs share the machine, so the three designs run in turn, and the fastest of several runs is used.
    def cost(design: str) -> float:
        study = run(design, flows=400)
        seconds: float = study.runs.to_polars()["cpu_seconds"].item()
        return seconds

    tries = [(cost("tcp"), cost("py-spared"), cost("py-tail-drop")) for _ in range(4)]
    rust, spared, asked = (min(costs) for costs in zip(*tries, strict=True))
    assert spared < 3 * rust
    # If every packet causes a call, the cost is close to three times the run in Rust.
    # The real cost may be above or below.
    assert asked < 5 * rust


def test_what_a_part_raises_ends_the_study() -> None:
    class Broken(tc.Queue):
        name = "py-broken"

        def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> int:
            return 1 // 0

    with pytest.raises(ZeroDivisionError) as caught:
        run("tcp", "py-broken")
    assert caught.traceback[-1].name == "enqueue"

    class Odd(tc.Queue):
        name = "py-odd"

        def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> Any:
            return "drop"

    with pytest.raises(ValueError, match="a queue returned 'drop'; allowed: tailcut.QUEUE"):
        run("py-odd")

    class Lost(tc.Balancer):
        name = "py-lost"

        def select(self, now_ns: int, flow: int, size: int, backlogs: Any) -> int:
            return 7

    with pytest.raises(ValueError, match="a balancer chose 7 of 3 ports"):
        run("ndp@py-lost")


def test_a_class_that_is_written_again_takes_the_name() -> None:
    def define(below: int) -> None:
        class Again(tc.Queue):
            name = "py-again"
            limit = below

    define(LIMIT)
    first = hashes(run("py-again"))
    define(LIMIT // 4)
    assert hashes(run("py-again")) != first

    with pytest.raises(tc.ScenarioError, match="the name of another kind of part"):

        class Other(tc.Controller):
            name = "py-again"


def test_a_name_that_cannot_be_one_is_refused() -> None:
    for wrong, why in [("tcp", "taken"), ("Mine", "lowercase"), ("py-reno", "another kind")]:
        with pytest.raises(tc.ScenarioError, match=why):
            type("Wrong", (tc.Queue,), {"name": wrong})
    with pytest.raises(tc.ScenarioError, match="like: found 'dtcp'.*did you mean 'dctcp'"):
        type("Wrong", (tc.Queue,), {"name": "py-unlike", "like": "dtcp"})


def test_ctrl_c_ends_runs_in_python_too() -> None:
    pressed = 0.0

    def press(_done: float) -> None:
        nonlocal pressed
        pressed = pressed or time.monotonic()
        raise KeyboardInterrupt

    scenario = tc.Scenario.from_dict({"designs": ["py-tail-drop"], **SCENE, "flows": 100_000})
    waits = []
    for _ in range(3):
        pressed = 0.0
        with pytest.raises(KeyboardInterrupt):
            scenario._native.run(1, press)
        waits.append(time.monotonic() - pressed)
    assert min(waits) < 0.1


def test_workers_get_the_classes_that_designs_name() -> None:
    context = multiprocessing.get_context("spawn")
    scenario = tc.Scenario.from_dict({"designs": ["py-tail-drop", "ndp@py-least"], **SCENE})
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        there = scenario.run(progress=False, executor=pool)
    assert hashes(there) == hashes(scenario.run(progress=False))
