"""Cases of a study on an executor: that of a process pool, of a cluster, or any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, wait
from typing import Any, NamedTuple, TypeVar

from tailcut import _native, _parts
from tailcut._errors import RunError

Result = TypeVar("Result")

#: How often Python may act on a signal, in seconds.
_LOOK_UP_EVERY = 0.05


class Recipe(NamedTuple):
    """How a scenario came to be, so that it can be made again elsewhere."""

    #: The text of its file; ``None`` for the built-in scenario called ``file``.
    text: bytes | None
    #: What errors call it.
    file: str
    #: Where relative paths in it start.
    directory: str
    #: Files that it brings along, by the paths under which it names them.
    files: dict[str, bytes]
    #: Whether keys of it that nothing reads are no error.
    is_start: bool
    #: What was set since, in order.
    changes: tuple[dict[str, Any], ...]

    def make(self) -> _native.Scenario:
        """The scenario.

        Raises:
            ScenarioError: at the first thing that is wrong.
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


def run_case(recipe: Recipe, parts: list[type[_parts.Part]], cases: list[int]) -> list[bytes]:
    """Runs cases of a scenario by their numbers; what a worker calls.

    Args:
        recipe: the scenario, with the files that it names.
        parts: classes of queues, controllers and balancers that its designs name.
        cases: the numbers of the cases, in the order of :meth:`tailcut.Scenario.cases`.

    Returns:
        The record of each case, which the same version of tailcut reads.
    """
    for part in parts:
        _parts.register(part)
    return recipe.make().run_cases(cases)


def run(
    recipe: Recipe, executor: Executor, tick: Callable[[float], None] | None
) -> _native.Study:
    """Runs all cases of a scenario on an executor, each as one task."""
    scenario = recipe.make()
    recipe = recipe._replace(files=scenario.files())
    parts = _parts.named_in(scenario.designs())
    tasks = ((recipe, parts, [case]) for case in range(len(scenario.cases())))
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
        # After an error, or Ctrl-C, nothing more is begun.
        for future in futures:
            future.cancel()


def _await(futures: list[Future[Result]], tick: Callable[[float], None] | None) -> None:
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_LOOK_UP_EVERY, return_when=FIRST_EXCEPTION)
        for future in done:
            # The first error ends the study.
            future.result()
        if tick is not None:
            tick(len(futures) - len(pending))
