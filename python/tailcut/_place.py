"""A study's directory, as workers are told of it."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import NamedTuple

from tailcut import _native, _parts


class Place(NamedTuple):
    """A study's directory, as a worker is told of it."""

    directory: str
    #: Classes of queues, controllers and balancers that its designs name.
    parts: tuple[type[_parts.Part], ...]
    #: What tells their code from any other.
    code: str
    #: What tells this plan from any other in the same directory.
    plan: str

    def open(self) -> _native.Cases:
        """What runs cases there."""
        for part in self.parts:
            _parts.register(part)
        return _native.Cases.open(self.directory, list(sys.argv), _native.__file__, self.code)


#: A worker gets many cases of one plan.
_opened = lru_cache(maxsize=1)(Place.open)


def run_there(place: Place, cases: list[int]) -> None:
    """Runs cases in a study's directory; what a worker of an executor calls."""
    _opened(place).run(cases, 1)
