"""Description of a study's directory that is sent to workers."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import NamedTuple

from tailcut import _custom_parts, _native


class StudyDir(NamedTuple):
    """Description of a study's directory for a worker."""

    directory: str
    #: Classes of queues, controllers and balancers that the study's designs name.
    parts: tuple[type[_custom_parts.Part], ...]
    #: Hash of the code of the classes in ``parts``.
    code: str
    #: Random text that identifies this plan in the directory.
    plan: str

    def open(self) -> _native.Cases:
        """Opens the directory to run cases in it."""
        for part in self.parts:
            _custom_parts.register(part)
        return _native.Cases.open(self.directory, list(sys.argv), _native.__file__, self.code)


#: Opened directory. A worker gets many chunks of one plan, so the directory stays open.
_opened = lru_cache(maxsize=1)(StudyDir.open)


def run_in_directory(study_dir: StudyDir, cases: list[int]) -> None:
    """Runs cases in a study's directory. Workers of an executor call this."""
    _opened(study_dir).run(cases, 1)
