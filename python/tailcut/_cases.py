"""Studies that are kept in a directory: a case that is done there is never run again."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from tailcut import _executor, _native, _parts
from tailcut._errors import RunError
from tailcut._executor import Recipe
from tailcut._hyperqueue import HyperQueue
from tailcut._place import Place, run_there

#: Where in a study's directory the files of the command are.
COLLECTED = "collected"

#: How often cases are looked at that other processes are at, in seconds.
_LOOK_AT_OTHERS_EVERY = 0.5

Tick = Callable[[float], None]


def run(
    recipe: Recipe,
    directory: str | os.PathLike[str],
    executor: Executor | HyperQueue | None,
    threads: int | None,
    tick: Tick | None,
) -> _native.Study:
    """Runs the cases of a scenario that are not done in a directory, and collects all."""
    scenario = recipe.make()
    parts = _parts.named_in(scenario.designs())
    place = Place(os.path.abspath(directory), tuple(parts), _code_of(parts), uuid.uuid4().hex)
    cases = _native.Cases.plan(
        scenario,
        place.directory,
        list(sys.argv),
        _native.__file__,
        place.code,
        isinstance(executor, HyperQueue),
    )
    _run_all(cases, _engine(cases, place, executor, threads), tick or _nobody)
    failures = cases.failures()
    if failures:
        more = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
        raise RunError(f"{failures[0]}{more}; the other cases are done in {place.directory}")
    return cases.collect(os.path.join(place.directory, COLLECTED))


#: Runs cases by their places and ticks with how many of them are over. Gives what went wrong, if
#: others may go on none the less.
_Engine = Callable[[list[int], Tick], str | None]


def _engine(
    cases: _native.Cases,
    place: Place,
    executor: Executor | HyperQueue | None,
    threads: int | None,
) -> _Engine:
    def here(waiting: list[int], tick: Tick) -> None:
        cases.run(waiting, threads, tick)

    def elsewhere(waiting: list[int], tick: Tick) -> None:
        assert isinstance(executor, Executor)
        _executor.each(executor, run_there, ((place, [case]) for case in waiting), tick)

    if isinstance(executor, HyperQueue):
        return executor.engine(cases, place)
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
            # Other processes are at all that is left. Whoever ends without a word gives it up.
            last = None
            time.sleep(_LOOK_AT_OTHERS_EVERY)
            continue
        if over == last:
            why = wrong or "no worker has run it"
            raise RunError(f"case {waiting[0]} of {done + len(failed + running + waiting)}: {why}")
        last = over
        wrong = engine(waiting, _beside(over, tick))


def _beside(over: int, tick: Tick) -> Tick:
    """Ticks with what is over beside what was over before."""
    return lambda more: tick(over + more)


def _nobody(_done: float) -> None:
    pass


def _code_of(parts: Sequence[type[_parts.Part]]) -> str:
    """What tells the code of classes from any other; nothing for no classes."""
    if not parts:
        return ""
    code = hashlib.sha256()
    for part in parts:
        for each in part.__mro__:
            if each is object or each.__module__ == _parts.__name__:
                continue
            try:
                code.update(inspect.getsource(each).encode())
            except (OSError, TypeError):
                # Nobody can tell what it is, so it is never the same.
                return uuid.uuid4().hex
    return code.hexdigest()
