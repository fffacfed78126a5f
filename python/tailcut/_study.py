"""Finished studies."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

from tailcut import _native


class Study:
    """Finished runs: their tables, the answer, plots, and the report.

    Tables are made when they are taken. Anything that reads Arrow's C stream takes them: polars,
    duckdb, pyarrow, pandas. Columns and units are those of docs/output.md; in front of them stand
    ``run``, ``design``, ``topology``, ``workload``, ``load`` and ``seed``.
    """

    def __init__(self, native: _native.Study) -> None:
        self._native = native

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Study:
        """Reads the study that ``tailcut run``, ``tailcut compare`` or :meth:`save` wrote.

        Raises:
            StudyError: where the directory holds none, or a file of it is not what was written.
        """
        return cls(_native.Study.open(os.fspath(directory)))

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes it into a directory, with the same files as the command, and the report.

        A directory with other files in it is left alone; one that holds runs of this study keeps
        them.

        Raises:
            StudyError: where the directory is not the study's, or cannot be written.
        """
        path = Path(directory)
        if self._native.directory is not None:
            shutil.copytree(self._native.directory, path, ignore=shutil.ignore_patterns(".lock"))
            return path
        build = _native.__file__
        self._native.save(os.fspath(path), list(sys.argv), build, uuid.uuid4().hex)
        return self.open(path).report(path / "report.html").parent

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report as one HTML file that loads nothing.

        Raises:
            StudyError: where it cannot be written.
        """
        self._native.report(os.fspath(path))
        return Path(path)

    @property
    def answer(self) -> str:
        """The answer in words, as the command prints it."""
        return self._native.answer()

    @property
    def summary(self) -> str:
        """The table that the command prints below the answer."""
        return self._native.summary()

    @property
    def figures(self) -> dict[str, Any]:
        """Every table of the report, as ``tailcut report DIR --json`` prints it."""
        figures: dict[str, Any] = json.loads(self._native.json())
        return figures

    @property
    def pictures(self) -> dict[str, str]:
        """Every plot of the report as SVG, by its name."""
        return dict(self._native.pictures())

    @property
    def runs(self) -> _native.Table:
        """One row a run: what it counted, and completion times by groups of sizes."""
        return self._native.table("runs")

    @property
    def flows(self) -> _native.Table:
        """One row a flow."""
        return self._native.table("flows")

    @property
    def requests(self) -> _native.Table:
        """One row a request; empty for a workload without any."""
        return self._native.table("requests")

    @property
    def sessions(self) -> _native.Table:
        """One row a receiver of a storage session; empty for a workload without any."""
        return self._native.table("sessions")

    @property
    def ports(self) -> _native.Table:
        """One row a port."""
        return self._native.table("ports")

    @property
    def nodes(self) -> _native.Table:
        """One row a host or switch, with its name."""
        return self._native.table("nodes")

    @property
    def topology(self) -> _native.Table:
        """One row a link, by the port that feeds it."""
        return self._native.table("topology")

    @property
    def failures(self) -> _native.Table:
        """One row a link that is down or slow."""
        return self._native.table("failures")

    @property
    def losses(self) -> _native.Table:
        """One row a link that loses packets at random."""
        return self._native.table("losses")

    @property
    def queues(self) -> _native.Table:
        """Samples of queues, where they were sampled (``sample_every``)."""
        return self._native.table("queues")

    @property
    def links(self) -> _native.Table:
        """Samples of links, where they were sampled (``sample_every``)."""
        return self._native.table("links")

    def __len__(self) -> int:
        """How many runs have finished."""
        return self._native.counts()[1]

    def __repr__(self) -> str:
        planned, finished = self._native.counts()
        of = "" if planned == finished else f" of {planned}"
        return f"Study {self._native.name}: {finished}{of} runs\n{self.answer}\n\n{self.summary}"

    def _repr_html_(self) -> str:
        """For notebooks: the answer, and the plots that belong to it as pictures."""
        first, *rest = self.answer.split("\n- ")
        items = "".join(f"<li>{html.escape(line)}</li>" for line in rest)
        pictures = [self._picture(name, svg) for name, svg in self._native.pictures()]
        shown = "".join(picture for picture in pictures if picture)
        return f"<div><p><b>{html.escape(first)}</b></p><ul>{items}</ul>{shown}</div>"

    @staticmethod
    def _picture(name: str, svg: str) -> str:
        if not _IN_NOTEBOOKS.match(name):
            return ""
        # As an image it has styles of its own, and no script can run.
        data = base64.b64encode(svg.encode()).decode()
        return (
            f'<img alt="{html.escape(name)}" style="max-width:48%" '
            f'src="data:image/svg+xml;base64,{data}">'
        )


#: Plots that a notebook shows; the report has all.
_IN_NOTEBOOKS = re.compile(
    r"(all|mice)-p99-(by-design|vs-baseline)|ccdf-(all|mice)|load-\d+-(all|mice)"
)
