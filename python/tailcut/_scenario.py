"""Scenarios, and the studies that they describe."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from tailcut import _cases, _executor, _native
from tailcut._executor import Recipe
from tailcut._hyperqueue import HyperQueue
from tailcut._progress import Progress
from tailcut._study import Study
from tailcut._toml import toml
from tailcut._workload import Workload

#: Names of the command's flags, and the keys that they set.
_SHORT = {"load": "loads", "matrix": "workload.matrix", "arrivals": "workload.arrivals"}
#: What stands for whole sections, which other keys then change.
_SECTIONS = ("topology", "workload")


class Case(NamedTuple):
    """One run of a scenario."""

    design: str
    topology: str
    workload: str
    load: float | None
    seed: int
    #: The values of swept keys, in words.
    swept: dict[str, str]


class Scenario:
    """What is run: designs, a network, a workload, loads and seeds.

    Every key has a default, but ``designs``; all are in docs/scenario.md. A scenario does not
    change: :meth:`with_` gives another one.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._native = recipe.make()

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario from a file, from a text, or by the name of one that is built in.

        A text with a line break or an equals sign is the scenario itself; any other is a path.
        Paths in a file start at the file's own directory, paths in a text where Python runs.

        Raises:
            ScenarioError: at the first thing that is wrong, with its line.
            FileNotFoundError: where there is no such file.
        """
        if isinstance(source, str) and ("\n" in source or "=" in source):
            return cls(_of_text(source))
        path = Path(source)
        if not path.exists() and _native.Scenario.built_in(os.fspath(source)) is not None:
            return cls(Recipe(None, os.fspath(source), "", {}, False, ()))
        return cls(Recipe(path.read_bytes(), str(path), str(path.parent), {}, False, ()))

    @classmethod
    def from_dict(cls, scenario: Mapping[str, Any]) -> Scenario:
        """Reads a scenario from a dictionary of the shape of the file.

        ``{"designs": ["tcp"], "tcp": {"min_rto": "5ms"}, "workload": [{"sizes": "websearch"}]}``

        Raises:
            ScenarioError: at the first thing that is wrong; its place is a line
                of the dictionary as a text.
        """
        values = dict(scenario)
        workload = values.get("workload")
        if isinstance(workload, Workload):
            del values["workload"]
        read = cls(_of_text(toml(values)))
        return read.with_(workload=workload) if isinstance(workload, Workload) else read

    def with_(self, **values: Any) -> Scenario:
        """The same scenario with other values.

        Keys are written ``tcp__min_rto="5ms"``, or ``**{"tcp.min_rto": "5ms"}``. A text may be that
        of any value, as on the command line: ``"0.1..0.5:0.1"``. ``topology="fat-tree:k=4"`` and
        ``workload="websearch"`` (or what :func:`tailcut.flows` gives) replace the whole section;
        ``load``, ``matrix`` and ``arrivals`` are short for ``loads``, ``workload.matrix`` and
        ``workload.arrivals``. In a repeated section a key is that of the first table.

        Raises:
            ScenarioError: for an unknown key, or for a value that it does not allow.
        """
        named = {_path(key): value for key, value in values.items() if value is not None}
        first = {key: named.pop(key) for key in _SECTIONS if key in named}
        files, workload = self._recipe.files, first.get("workload")
        if isinstance(workload, Workload):
            files = {**files, workload.name: workload.trace}
            first["workload"] = f"trace:{workload.name}"
        changes = (*self._recipe.changes, {**first, **named})
        return Scenario(self._recipe._replace(files=files, changes=changes))

    def to_toml(self) -> str:
        """The scenario as one text. With :attr:`files` it gives the same runs anywhere.

        Raises:
            ScenarioError: where there is something in it that cannot be run, or that sweeps keys: a
                sweep has no such text yet.
        """
        return self._native.resolved()

    @property
    def files(self) -> dict[str, bytes]:
        """The files that it names, such as traces and tables of sizes."""
        return self._native.files()

    @property
    def name(self) -> str:
        """The study's name."""
        return self._native.name

    @property
    def config(self) -> dict[str, Any]:
        """Every key with its value, by sections: as given, or its default."""
        config: dict[str, Any] = json.loads(self._native.config())
        return config

    def cases(self) -> list[Case]:
        """The runs that follow from it.

        Raises:
            ScenarioError: where there is something in it that cannot be run.
        """
        return [Case(*case) for case in self._native.cases()]

    def run(
        self,
        threads: int | None = None,
        progress: bool = True,
        executor: Executor | HyperQueue | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Study:
        """Runs all of it. Results depend neither on threads nor on an executor.

        Args:
            threads: runs at the same time; one a core without.
            progress: whether to show how far it is, once half a second has passed.
            executor: where to run cases, such as a ``ProcessPoolExecutor`` or that of a cluster;
                each case is sent as text and comes back as bytes.
            directory: where to keep cases that are done, as ``tailcut study plan`` does: whatever
                ends a study, the same call goes on from there. Workers of an executor see it under
                the same path, and what they run does not come back but stays there. A run that
                fails does not end the others.

        Raises:
            ScenarioError: where there is something in it that cannot be run.
            RunError: where a run fails.
            StudyError: where the directory is not a study's, cannot be written, or has cases of
                another build of tailcut or of other code of parts in Python.
            KeyboardInterrupt: at Ctrl-C, which ends all runs.
        """
        if executor is not None and threads is not None:
            raise ValueError("threads: found a number beside an executor; allowed: one of the two")
        if isinstance(executor, HyperQueue) and directory is None:
            raise ValueError(
                "directory: found none beside HyperQueue; allowed: one that all workers see"
            )
        shown = Progress(len(self.cases())) if progress else None
        if directory is not None:
            study = _cases.run(self._recipe, directory, executor, threads, shown)
        elif executor is None:
            study = self._native.run(threads, shown)
        else:
            assert isinstance(executor, Executor)
            study = _executor.run(self._recipe, executor, shown)
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
    """Compares designs, as ``tailcut compare`` does: with the built-in scenario of that name.

    Args:
        designs: their names, ``[replication+]transport[@routing]``; the others are compared with
            the first one.
        load: the loads, as a share of the hosts' links: a number, a list or ``"0.1..0.7:0.2"``.
        topology: the network in short, such as ``"fat-tree:k=4,rate=25Gbps"``.
        workload: sizes by name, ``"requests:SIZES"``, ``"trace:FILE"``, or what
            :func:`tailcut.flows` gives.
        seeds: how many seeds; confidence intervals need several.
        flows: how many flows a run starts at most.
        threads, progress, executor, directory: as for :meth:`Scenario.run`.
        values: any other key, as for :meth:`Scenario.with_`.

    Raises:
        ScenarioError, RunError, StudyError, KeyboardInterrupt: as for :meth:`Scenario.run`.
    """
    names = [designs] if isinstance(designs, str) else list(designs)
    scenario = Scenario(Recipe(None, "compare", "", {}, True, ())).with_(
        topology=topology,
        workload=workload,
        load=load,
        seeds=seeds,
        flows=flows,
        **values,
    )
    return scenario.with_(designs=names).run(threads, progress, executor, directory)


def _of_text(text: str) -> Recipe:
    return Recipe(text.encode(), "scenario", "", {}, False, ())


def _path(key: str) -> str:
    path = key.replace("__", ".", 1)
    return _SHORT.get(path, path)
