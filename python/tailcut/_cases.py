"""Studies in a directory. A case that has finished there is never run again."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from tailcut import _custom_parts, _executor, _native
from tailcut._errors import RunError
from tailcut._executor import ScenarioSource
from tailcut._hyperqueue import HyperQueue
from tailcut._study_dir import StudyDir, run_in_directory

#: Directory in a study's directory for the files that the command also writes.
COLLECTED = "collected"

#: Time between two checks of cases that other processes run, in seconds.
_POLL_INTERVAL = 0.5

Tick = Callable[[float], None]


def run(
    source: ScenarioSource,
    directory: str | os.PathLike[str],
    executor: Executor | HyperQueue | None,
    threads: int | None,
    tick: Tick | None,
) -> _native.Study:
    """Runs the unfinished cases of a scenario in a directory, and collects all cases."""
    scenario = source.make()
    parts = _custom_parts.named_in(scenario.designs())
    study_dir = StudyDir(
        os.path.abspath(directory), tuple(parts), _code_of(parts), uuid.uuid4().hex
    )
    cases = _native.Cases.plan(
        scenario,
        study_dir.directory,
        list(sys.argv),
        _native.__file__,
        study_dir.code,
        isinstance(executor, HyperQueue),
    )
    _run_all(cases, _engine(cases, study_dir, executor, threads), tick or _no_tick)
    failures = cases.failures()
    if failures:
        more = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
        raise RunError(f"{failures[0]}{more}; the other cases are done in {study_dir.directory}")
    return cases.collect(os.path.join(study_dir.directory, COLLECTED))


#: Function that runs cases by their indices and calls ``tick`` with the number of finished cases.
#: The function returns an error if cases without an error can still run.
_Engine = Callable[[list[int], Tick], str | None]


def _engine(
    cases: _native.Cases,
    study_dir: StudyDir,
    executor: Executor | HyperQueue | None,
    threads: int | None,
) -> _Engine:
    def here(waiting: list[int], tick: Tick) -> None:
        cases.run(waiting, threads, tick)

    def elsewhere(waiting: list[int], tick: Tick) -> None:
        assert isinstance(executor, Executor)
        _executor.each(executor, run_in_directory, ((study_dir, [case]) for case in waiting), tick)

    if isinstance(executor, HyperQueue):
        return executor.engine(cases, study_dir)
    return here if executor is None else elsewhere


def _run_all(cases: _native.Cases, engine: _Engine, tick: Tick) -> None:
    wrong: str | None = None
    last: int | None = None
    while True:
        done, failed, running, waiting = cases.tally()
        over = done + len(failed)
        tick(over)
        if not waiting and not running:
            return
        if not waiting:
            # Other processes run all remaining cases.
            # If another process ends without a result, its case waits again.
            last = None
            time.sleep(_POLL_INTERVAL)
            continue
        if over == last:
            why = wrong or "no worker has run it"
            raise RunError(f"case {waiting[0]} of {done + len(failed + running + waiting)}: {why}")
        last = over
        wrong = engine(waiting, _tick_after(over, tick))


def _tick_after(over: int, tick: Tick) -> Tick:
    """Returns a function that calls ``tick`` with its argument plus ``over``."""
    return lambda more: tick(over + more)


def _no_tick(_done: float) -> None:
    pass


def _code_of(parts: Sequence[type[_custom_parts.Part]]) -> str:
    """Returns a hash of the classes' source code, or an empty text if there are no classes."""
    if not parts:
        return ""
    code = hashlib.sha256()
    for part in parts:
        for each in part.__mro__:
            if each is object or each.__module__ == _custom_parts.__name__:
                continue
            try:
                code.update(inspect.getsource(each).encode())
            except (OSError, TypeError):
                # The source is not available. A random text makes this code differ from all other code.
                return uuid.uuid4().hex
    return code.hexdigest()
