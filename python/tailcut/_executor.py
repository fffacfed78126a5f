"""Cases of a study on an executor: that of a process pool, of a cluster, or any other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, wait

from tailcut import _native, _parts

#: How often Python may act on a signal, in seconds.
_LOOK_UP_EVERY = 0.05


def run_case(
    scenario: str,
    files: dict[str, bytes],
    parts: list[type[_parts.Part]],
    cases: list[int],
) -> list[bytes]:
    """Runs cases of a scenario by their numbers; what a worker calls.

    Args:
        scenario: the whole scenario as one text in TOML, as the native module gives it.
        files: the files that it names.
        parts: classes of queues, controllers and balancers that its designs name.
        cases: the numbers of the cases, in the order of :meth:`tailcut.Scenario.cases`.

    Returns:
        The record of each case, which the same version of tailcut reads.
    """
    for part in parts:
        _parts.register(part)
    return _native.run_cases(scenario, files, cases)


def run(
    scenario: _native.Scenario,
    executor: Executor,
    tick: Callable[[float], None] | None,
) -> _native.Study:
    """Runs all cases of a scenario on an executor, each as one task."""
    text, files = scenario.for_worker(), scenario.files()
    parts = _parts.named_in(scenario.designs())
    count = len(scenario.cases())
    tasks: list[Future[list[bytes]]] = []
    try:
        for case in range(count):
            tasks.append(executor.submit(run_case, text, files, parts, [case]))
        _await(tasks, tick)
        records: list[bytes | None] = [task.result()[0] for task in tasks]
    finally:
        # After an error, or Ctrl-C, nothing more is begun.
        for task in tasks:
            task.cancel()
    return scenario.collect(records)


def _await(tasks: list[Future[list[bytes]]], tick: Callable[[float], None] | None) -> None:
    pending = set(tasks)
    while pending:
        done, pending = wait(pending, timeout=_LOOK_UP_EVERY, return_when=FIRST_EXCEPTION)
        for task in done:
            # The first error ends the study.
            task.result()
        if tick is not None:
            tick(len(tasks) - len(pending))
