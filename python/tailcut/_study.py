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
    """Finished runs with their tables, answer, plots, and report.

    Tables are created when they are read. docs/output.md lists columns and units.
    Any library that reads Arrow's C stream can read tables: polars, duckdb, pyarrow, pandas.
    The first columns are ``run``, ``design``, ``topology``, ``workload``, ``load`` and ``seed``.
    """

    def __init__(self, native: _native.Study) -> None:
        self._native = native

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Study:
        """Reads a study that ``tailcut run``, ``tailcut compare`` or :meth:`save` has written.

        Raises:
            StudyError: if the directory contains no study, or a file has changed.
        """
        return cls(_native.Study.open(os.fspath(directory)))

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Writes the study into a directory, with the same files as the command, and the report.

        A directory with files of no study is refused and stays unchanged.
        A directory with runs of this study keeps its runs.

        Raises:
            StudyError: if the directory belongs to another study, or cannot be written.
        """
        path = Path(directory)
        if self._native.directory is not None:
            shutil.copytree(self._native.directory, path, ignore=shutil.ignore_patterns(".lock"))
            return path
        build = _native.__file__
        self._native.save(os.fspath(path), list(sys.argv), build, uuid.uuid4().hex)
        return self.open(path).report(path / "report.html").parent

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report as one HTML file that loads no other file.

        Raises:
            StudyError: if the file cannot be written.
        """
        self._native.report(os.fspath(path))
        return Path(path)

    @property
    def answer(self) -> str:
        """Answer as text, as the command prints it."""
        return self._native.answer()

    @property
    def summary(self) -> str:
        """Table that the command prints below the answer."""
        return self._native.summary()

    @property
    def figures(self) -> dict[str, Any]:
        """All tables of the report, as ``tailcut report DIR --json`` prints them."""
        figures: dict[str, Any] = json.loads(self._native.json())
        return figures

    @property
    def pictures(self) -> dict[str, str]:
        """All plots of the report as SVG, by their names."""
        return dict(self._native.pictures())

    @property
    def runs(self) -> _native.Table:
        """One row for each run: its counters, and completion times by groups of sizes."""
        return self._native.table("runs")

    @property
    def flows(self) -> _native.Table:
        """One row for each flow."""
        return self._native.table("flows")

    @property
    def requests(self) -> _native.Table:
        """One row for each request; empty for a workload without requests."""
        return self._native.table("requests")

    @property
    def sessions(self) -> _native.Table:
        """One row for each receiver of a storage session; empty for a workload without sessions."""
        return self._native.table("sessions")

    @property
    def coflows(self) -> _native.Table:
        """One row for each query or coflow; empty for a workload without them."""
        return self._native.table("coflows")

    @property
    def ports(self) -> _native.Table:
        """One row for each port."""
        return self._native.table("ports")

    @property
    def nodes(self) -> _native.Table:
        """One row for each host or switch, with its name."""
        return self._native.table("nodes")

    @property
    def topology(self) -> _native.Table:
        """One row for each link, by its sending port."""
        return self._native.table("topology")

    @property
    def failures(self) -> _native.Table:
        """One row for each link that is down or slow."""
        return self._native.table("failures")

    @property
    def losses(self) -> _native.Table:
        """One row for each link that loses packets at random."""
        return self._native.table("losses")

    @property
    def queues(self) -> _native.Table:
        """Samples of queues, if the scenario samples them (``sample_every``)."""
        return self._native.table("queues")

    @property
    def links(self) -> _native.Table:
        """Samples of links, if the scenario samples them (``sample_every``)."""
        return self._native.table("links")

    def __len__(self) -> int:
        """Number of finished runs."""
        return self._native.counts()[1]

    def __repr__(self) -> str:
        planned, finished = self._native.counts()
        of = "" if planned == finished else f" of {planned}"
        return f"Study {self._native.name}: {finished}{of} runs\n{self.answer}\n\n{self.summary}"

    def _repr_html_(self) -> str:
        """Returns the answer and its plots for notebooks."""
        first, *rest = self.answer.split("\n- ")
        items = "".join(f"<li>{html.escape(line)}</li>" for line in rest)
        pictures = [self._picture(name, svg) for name, svg in self._native.pictures()]
        shown = "".join(picture for picture in pictures if picture)
        return f"<div><p><b>{html.escape(first)}</b></p><ul>{items}</ul>{shown}</div>"

    @staticmethod
    def _picture(name: str, svg: str) -> str:
        if not _IN_NOTEBOOKS.match(name):
            return ""
        # An image element keeps the styles of the plot separate, and no script in it can run.
        data = base64.b64encode(svg.encode()).decode()
        return (
            f'<img alt="{html.escape(name)}" style="max-width:48%" '
            f'src="data:image/svg+xml;base64,{data}">'
        )


#: Plots that a notebook shows. The report has all plots.
_IN_NOTEBOOKS = re.compile(
    r"(all|mice)-p99-(by-design|vs-baseline)|ccdf-(all|mice)|load-\d+-(all|mice)"
)
