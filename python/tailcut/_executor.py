"""Cases of a study on an executor, such as a process pool or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, wait
from typing import Any, NamedTuple, TypeVar

from tailcut import _custom_parts, _native
from tailcut._errors import RunError

Result = TypeVar("Result")

#: Time between two checks for signals, in seconds.
_CHECK_INTERVAL = 0.05


class ScenarioSource(NamedTuple):
    """Source of a scenario, from which another process can create the same scenario."""

    #: Text of the scenario's file. ``None``: ``file`` is the name of a built-in scenario.
    text: bytes | None
    #: Name of the file that errors use.
    file: str
    #: Directory in which relative paths start.
    directory: str
    #: Contents of the files that the scenario names, by path.
    files: dict[str, bytes]
    #: Whether the scenario may contain keys that no design reads.
    is_start: bool
    #: Changes of the scenario, in the order in which they were made.
    changes: tuple[dict[str, Any], ...]

    def make(self) -> _native.Scenario:
        """Creates the scenario.

        Raises:
            ScenarioError: the first error in the scenario.
        """
        if self.text is None:
            made = _native.Scenario.built_in(self.file)
            if made is None:
                raise RunError(f"this version of tailcut has no scenario called {self.file}")
        else:
            made = _native.Scenario.parse(self.text, self.file, self.directory)
        for path, content in self.files.items():
            made = made.with_file(path, content)
        if self.is_start:
            made = made.as_start()
        for change in self.changes:
            made = made.with_values(change)
        return made


def run_case(
    source: ScenarioSource, parts: list[type[_custom_parts.Part]], cases: list[int]
) -> list[bytes]:
    """Runs cases of a scenario by their numbers. Workers call this.

    Args:
        source: the scenario, with the files that it names.
        parts: classes of queues, controllers and balancers that its designs name.
        cases: the numbers of the cases, in the order of :meth:`tailcut.Scenario.cases`.

    Returns:
        The record of each case, which the same version of tailcut reads.
    """
    for part in parts:
        _custom_parts.register(part)
    return source.make().run_cases(cases)


def run(
    source: ScenarioSource, executor: Executor, tick: Callable[[float], None] | None
) -> _native.Study:
    """Runs all cases of a scenario on an executor. Each case is one task."""
    scenario = source.make()
    source = source._replace(files=scenario.files())
    parts = _custom_parts.named_in(scenario.designs())
    tasks = ((source, parts, [case]) for case in range(len(scenario.cases())))
    records: list[bytes | None] = [first for first, in each(executor, run_case, tasks, tick)]
    return scenario.collect(records)


def each(
    executor: Executor,
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    tick: Callable[[float], None] | None,
) -> list[Result]:
    """Calls a function on an executor, once for each tuple of arguments."""
    futures: list[Future[Result]] = []
    try:
        for arguments in tasks:
            futures.append(executor.submit(function, *arguments))
        _await(futures, tick)
        return [future.result() for future in futures]
    finally:
        # After an error or Ctrl-C, no further case starts.
        for future in futures:
            future.cancel()


def _await(futures: list[Future[Result]], tick: Callable[[float], None] | None) -> None:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_CHECK_INTERVAL, return_when=FIRST_EXCEPTION)
        for future in done:
            # An error in one case ends the study.
            future.result()
        if tick is not None:
            tick(len(futures) - len(pending))
