"""Progress of a study: a bar of tqdm if it is installed, or plain text on standard error."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Time before the first output, in seconds. Shorter studies show no progress.
_PATIENCE_SECONDS = 0.5
#: Time between two updates of a bar, in seconds.
_EVERY_SECONDS = 0.1


class Progress:
    """Function object that shows the number of finished runs, as a fraction."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._started = time.monotonic()
        self._next = self._started + _PATIENCE_SECONDS
        self._bar: Any = None

    def __call__(self, done: float) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        if self._bar is None:
            self._bar = _bar(self._runs)
        self._bar.show(done)

    def end(self, done: float) -> None:
        """Shows the final state, which stays on the screen."""
        if self._bar is not None:
            self._bar.show(done)
            self._bar.close()


def _bar(runs: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Plain(runs)
    return _Tqdm(tqdm(total=runs, unit="run", leave=True))


class _Tqdm:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def show(self, done: float) -> None:
        self._bar.n = round(done, 1)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Plain:
    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._is_terminal = sys.stderr.isatty()
        self._told = -1

    def show(self, done: float) -> None:
        line = f"{done:.1f} of {self._runs} runs"
        if self._is_terminal:
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
        elif int(10 * done / self._runs) > self._told:
            # Output to a file gets only ten lines.
            self._told = int(10 * done / self._runs)
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._is_terminal:
            print(file=sys.stderr)
