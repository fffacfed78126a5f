"""What goes wrong, in words and in parts."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario says something that is not allowed.

    Attributes:
        place: where: a file with its line, or the name of an argument.
        key: the key, with its section; empty where the error is about no key.
        found: what was found.
        allowed: what is allowed.
        meant: what may have been meant, or ``None``.
    """

    def __init__(
        self, place: str, key: str, found: str, allowed: str, meant: str | None = None
    ) -> None:
        # All of them are arguments, so that the error can be pickled.
        super().__init__(place, key, found, allowed, meant)
        self.place = place
        self.key = key
        self.found = found
        self.allowed = allowed
        self.meant = meant

    def __str__(self) -> str:
        words = f"{self.place}: "
        if self.key and self.key != self.place:
            words += f"{self.key}: "
        words += f"found {self.found}"
        if self.allowed:
            words += f"; allowed: {self.allowed}"
        if self.meant is not None:
            words += f"; did you mean '{self.meant}'?"
        return words


class RunError(RuntimeError):
    """A run could not be run to its end."""


class StudyError(OSError):
    """A directory cannot be read as a study, or no study can be written there."""
