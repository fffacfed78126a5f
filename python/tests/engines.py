"""Engines that run the cases of a grid, in a separate process that a test kills.

``engines.py ENGINE DIRECTORY`` runs the grid.
``engines.py cluster DIRECTORY`` is a server of HyperQueue with a worker.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import tailcut as tc

#: Scenario with three keys of four values each, ten seeds, and a tenth of the flows of `make demo`.
GRID = """
designs = ["tcp"]
loads = 0.5
flows = 100
seeds = 10
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 3
[[workload]]
sizes = "fixed:20KB"
[sweep]
queue.limit = ["10 packets", "25 packets", "50 packets", "100 packets"]
tcp.min_rto = ["1ms", "2ms", "5ms", "10ms"]
tcp.initial_window = ["2 segments", "4 segments", "10 segments", "20 segments"]
"""

CASES = 640


def threads(directory: Path) -> tc.Study:
    """Runs the grid in this process, without an executor."""
    return grid().run(2, progress=False, directory=directory)


def thread_pool(directory: Path) -> tc.Study:
    """Runs the grid on Python threads."""
    with ThreadPoolExecutor(2) as pool:
        return grid().run(progress=False, executor=pool, directory=directory)


def process_pool(directory: Path) -> tc.Study:
    """Runs the grid on Python processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        return grid().run(progress=False, executor=pool, directory=directory)


ENGINES = {"threads": threads, "thread-pool": thread_pool, "process-pool": process_pool}


def grid() -> tc.Scenario:
    """Returns the grid as a scenario."""
    return tc.Scenario.from_toml(GRID)


def start(what: str, directory: Path) -> subprocess.Popen[str]:
    """Starts this file in a separate process group, and waits until it is ready to run cases."""
    process = subprocess.Popen(
        [sys.executable, __file__, what, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    # HyperQueue prints a table before this line.
    assert "up\n" in iter(process.stdout.readline, ""), f"{what} has ended early"
    return process


def _cluster(directory: Path) -> None:
    from hyperqueue import LocalCluster
    from hyperqueue.cluster import WorkerConfig

    with LocalCluster(str(directory), WorkerConfig(cores=2)):
        print("up", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "cluster":
        _cluster(Path(sys.argv[2]))
    else:
        print("up", flush=True)
        ENGINES[sys.argv[1]](Path(sys.argv[2]))
