"""Errors of tailcut. Each error has a text. Some errors have parts of it as attributes."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario contains a value that is not allowed.

    Attributes:
        place: the location of the error: a file with its line, or the name of an argument.
        key: the key, with its section; empty if the error is not about a key.
        found: the value found.
        allowed: the allowed values.
        meant: the value that the user probably meant, or ``None``.
    """

    def __init__(
        self, place: str, key: str, found: str, allowed: str, meant: str | None = None
    ) -> None:
        # All values are arguments of ``Exception``, so that the error can be pickled.
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
    """A run has failed."""


class StudyError(OSError):
    """A directory cannot be read as a study, or no study can be written there."""
