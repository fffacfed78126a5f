"""Scenarios, and the studies that they describe."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from tailcut import _cases, _executor, _native
from tailcut._executor import ScenarioSource
from tailcut._hyperqueue import HyperQueue
from tailcut._progress import Progress
from tailcut._study import Study
from tailcut._toml import toml
from tailcut._workload import Workload

#: Short names of keys, as the command's flags, and the keys that they set.
_SHORT = {"load": "loads", "matrix": "workload.matrix", "arrivals": "workload.arrivals"}
#: Keys that replace whole sections. They are set first, before keys that change the sections.
_SECTIONS = ("topology", "workload")


class Case(NamedTuple):
    """One run of a scenario."""

    design: str
    topology: str
    workload: str
    load: float | None
    seed: int
    #: Values of swept keys, as text.
    swept: dict[str, str]


class Scenario:
    """Description of runs: designs, a network, a workload, loads and seeds.

    Every key except ``designs`` has a default; docs/scenario.md lists all keys.
    A scenario is immutable: :meth:`with_` returns a changed copy.
    """

    def __init__(self, source: ScenarioSource) -> None:
        self._source = source
        self._native = source.make()

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario from a file, from a text, or by the name of a built-in scenario.

        A text with a line break or an equals sign is the scenario itself; any other text is a path.
        Paths in a file are relative to its directory, paths in a text to the current directory.

        Raises:
            ScenarioError: the first error in the scenario, with its line.
            FileNotFoundError: if the file does not exist.
        """
        if isinstance(source, str) and ("\n" in source or "=" in source):
            return cls(_of_text(source))
        path = Path(source)
        if not path.exists() and _native.Scenario.built_in(os.fspath(source)) is not None:
            return cls(ScenarioSource(None, os.fspath(source), "", {}, False, ()))
        return cls(ScenarioSource(path.read_bytes(), str(path), str(path.parent), {}, False, ()))

    @classmethod
    def from_dict(cls, scenario: Mapping[str, Any]) -> Scenario:
        """Reads a scenario from a dictionary with the structure of a file.

        ``{"designs": ["tcp"], "tcp": {"min_rto": "5ms"}, "workload": [{"sizes": "websearch"}]}``

        Raises:
            ScenarioError: the first error in the scenario.
                The place of the error is a line of the dictionary as a text.
        """
        values = dict(scenario)
        workload = values.get("workload")
        if isinstance(workload, Workload):
            del values["workload"]
        read = cls(_of_text(toml(values)))
        return read.with_(workload=workload) if isinstance(workload, Workload) else read

    def with_(self, **values: Any) -> Scenario:
        """Returns the same scenario with other values.

        Keys are written ``tcp__min_rto="5ms"``, or ``**{"tcp.min_rto": "5ms"}``.
        As on the command line, a value of any type may be a text: ``"0.1..0.5:0.1"``.
        ``topology="fat-tree:k=4"`` and ``workload="websearch"`` replace the whole section.
        A workload may also be a result of :func:`tailcut.flows`.
        Short names: ``load`` (``loads``), ``matrix`` and ``arrivals`` (keys of ``workload``).
        In a repeated section, a key belongs to the first table.

        Raises:
            ScenarioError: an unknown key, or a value that is not allowed.
        """
        named = {_path(key): value for key, value in values.items() if value is not None}
        first = {key: named.pop(key) for key in _SECTIONS if key in named}
        files, workload = self._source.files, first.get("workload")
        if isinstance(workload, Workload):
            files = {**files, workload.name: workload.trace}
            first["workload"] = f"trace:{workload.name}"
        changes = (*self._source.changes, {**first, **named})
        return Scenario(self._source._replace(files=files, changes=changes))

    def to_toml(self) -> str:
        """Returns the scenario as one text. With :attr:`files` it gives the same runs anywhere.

        Raises:
            ScenarioError: if the scenario cannot be run, or sweeps keys (not supported yet).
        """
        return self._native.resolved()

    @property
    def files(self) -> dict[str, bytes]:
        """Contents of the files that the scenario names, such as traces and tables of sizes."""
        return self._native.files()

    @property
    def name(self) -> str:
        """Name of the study."""
        return self._native.name

    @property
    def config(self) -> dict[str, Any]:
        """All keys with their values or defaults, by sections."""
        config: dict[str, Any] = json.loads(self._native.config())
        return config

    def cases(self) -> list[Case]:
        """Returns the runs of the scenario.

        Raises:
            ScenarioError: if the scenario cannot be run.
        """
        return [Case(*case) for case in self._native.cases()]

    def run(
        self,
        threads: int | None = None,
        progress: bool = True,
        executor: Executor | HyperQueue | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Study:
        """Runs all cases. Results depend neither on threads nor on an executor.

        Args:
            threads: number of runs at the same time; one for each core if ``None``.
            progress: whether to show the progress, after half a second.
            executor: where to run cases, such as a ``ProcessPoolExecutor`` or a cluster's executor.
                Each case is sent as text and returned as bytes.
            directory: where to keep finished cases, as ``tailcut study plan`` does.
                If a study ends early, the same call with this directory continues the study.
                Workers of an executor need the same path to the directory, and write there.
                With a directory, a run that fails does not end other runs.
        Raises:
            ScenarioError: if the scenario cannot be run.
            RunError: if a run fails.
            StudyError: if the directory belongs to no study, or cannot be written.
                Cases of another build of tailcut, or of other code in Python, are also an error.
            KeyboardInterrupt: after Ctrl-C, which ends all runs.
        """
        if executor is not None and threads is not None:
            raise ValueError("threads: found a number with an executor; allowed: only one of them")
        if isinstance(executor, HyperQueue) and directory is None:
            raise ValueError(
                "directory: found none with HyperQueue; allowed: one that all workers see"
            )
        shown = Progress(len(self.cases())) if progress else None
        if directory is not None:
            study = _cases.run(self._source, directory, executor, threads, shown)
        elif executor is None:
            study = self._native.run(threads, shown)
        else:
            assert isinstance(executor, Executor)
            study = _executor.run(self._source, executor, shown)
        if shown is not None:
            shown.end(study.counts()[1])
        return Study(study)

    def __repr__(self) -> str:
        return f"Scenario({self.name!r})"


def compare(
    designs: str | Sequence[str],
    *,
    load: float | str | Sequence[float] | None = None,
    topology: str | None = None,
    workload: str | Workload | None = None,
    seeds: int | None = None,
    flows: int | str | None = None,
    threads: int | None = None,
    progress: bool = True,
    executor: Executor | HyperQueue | None = None,
    directory: str | os.PathLike[str] | None = None,
    **values: Any,
) -> Study:
    """Compares designs as ``tailcut compare`` does, with the built-in scenario ``compare``.

    Args:
        designs: names of designs, ``[replication+]transport[@routing]``.
            The first design is the baseline of the comparison.
        load: the loads, as a share of the hosts' links: a number, a list or ``"0.1..0.7:0.2"``.
        topology: the network in short, such as ``"fat-tree:k=4,rate=25Gbps"``.
        workload: sizes by name, ``"requests:SIZES"`` or ``"trace:FILE"``.
            A workload may also be a result of :func:`tailcut.flows`.
        seeds: number of seeds; confidence intervals need several.
        flows: largest number of flows of a run.
        threads, progress, executor, directory: as for :meth:`Scenario.run`.
        values: any other key, as for :meth:`Scenario.with_`.

    Raises:
        ScenarioError, RunError, StudyError, KeyboardInterrupt: as for :meth:`Scenario.run`.
    """
    names = [designs] if isinstance(designs, str) else list(designs)
    scenario = Scenario(ScenarioSource(None, "compare", "", {}, True, ())).with_(
        topology=topology,
        workload=workload,
        load=load,
        seeds=seeds,
        flows=flows,
        **values,
    )
    return scenario.with_(designs=names).run(threads, progress, executor, directory)


def _of_text(text: str) -> ScenarioSource:
    return ScenarioSource(text.encode(), "scenario", "", {}, False, ())


def _path(key: str) -> str:
    path = key.replace("__", ".", 1)
    return _SHORT.get(path, path)
