"""Cases as tasks of HyperQueue."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tailcut import _native, _parts
from tailcut._errors import RunError
from tailcut._place import Place

#: How often a task looks whether it is still wanted, in seconds.
_LOOK_UP_EVERY = 1.0
#: How long the first look at a job comes after the one before, and later ones at most, in seconds.
_FIRST_LOOK, _LATER_LOOKS = 0.05, 1.0
#: Lines of a failed task's standard error that are told.
_LAST_LINES = 20
#: What a task runs. What is installed goes before what happens to be in the working directory.
_PROGRAM = (
    "import sys; sys.path.append(sys.path.pop(0)); from tailcut._hyperqueue import work; work()"
)


class HyperQueue:
    """A HyperQueue server, on whose workers the cases of a study run.

    Give it to :meth:`tailcut.Scenario.run` or :func:`tailcut.compare` as ``executor``, with a
    ``directory`` that the workers see under the same path. Server and workers are started apart
    from it, with the program ``hq`` or with ``hyperqueue.LocalCluster``. Whatever becomes of them,
    the cases that are done stay done: the same call runs what is missing, on any other cluster.

    Args:
        server_dir: the server's directory; that of HyperQueue itself without.
        python: Python on the workers, with this version of tailcut; that of this process without.
        chunk: the CPU time that the cases of a task are expected to take at least, in seconds.

    Raises:
        ImportError: where the package hyperqueue is not installed.
        ValueError: for a ``chunk`` below 0.
    """

    def __init__(
        self,
        server_dir: str | os.PathLike[str] | None = None,
        *,
        python: str | os.PathLike[str] | None = None,
        chunk: float = 10.0,
    ) -> None:
        if find_spec("hyperqueue") is None:
            raise ImportError(
                "HyperQueue: found no package hyperqueue; allowed: "
                "pip install './python[hyperqueue]', or pip install hyperqueue",
                name="hyperqueue",
            )
        if not chunk >= 0:
            raise ValueError(f"chunk: found {chunk}; allowed: seconds, 0 or more")
        self.server_dir = None if server_dir is None else os.path.abspath(server_dir)
        self.python = sys.executable if python is None else os.fspath(python)
        self.chunk = float(chunk)

    def __repr__(self) -> str:
        return f"HyperQueue({self.server_dir!r})"

    def engine(
        self, cases: _native.Cases, place: Place
    ) -> Callable[[list[int], Callable[[float], None]], str | None]:
        """What runs cases of a study as a job: once in chunks; after something went wrong, one each.

        It gives what went wrong with the first task that failed.
        """
        failed = False

        def run(waiting: list[int], tick: Callable[[float], None]) -> str | None:
            nonlocal failed
            chunks = [[case] for case in waiting] if failed else cases.chunks(self.chunk)
            if not chunks:
                # Somebody else has taken them meanwhile.
                return None
            before = cases.tally()
            over = before[0] + len(before[1])
            job = _Job(self, cases.jobs(), place, chunks)

            def look() -> None:
                done, failures, _running, _waiting = cases.tally()
                tick(done + len(failures) - over)

            try:
                wrong = job.wait(look)
            finally:
                job.end()
            failed = wrong is not None
            return wrong

        return run


class _Task(NamedTuple):
    """What a task gets on its standard input."""

    place: Place
    cases: list[int]
    #: There for as long as somebody waits for the job: HyperQueue's Python cannot cancel one.
    wanted: str


class _Looked(Exception):
    """The state of a job, from within a call that would wait for its end with Python's lock."""


class _Job:
    """Tasks that were handed in."""

    def __init__(
        self, queue: HyperQueue, jobs: Path, place: Place, chunks: list[list[int]]
    ) -> None:
        from hyperqueue import Client, Job
        from hyperqueue.output import StdioDef

        self._server = f"HyperQueue at {queue.server_dir or 'its usual directory'}"
        mark = f"hq-{uuid.uuid4().hex[:12]}"
        self._wanted = jobs / f"{mark}.wanted"
        self._chunks = chunks
        job = Job(default_workdir=os.getcwd(), max_fails=None, name=Path(place.directory).name)
        # A file a task, which goes away when the task ends well.
        printed = StdioDef.remove_if_finished(f"{jobs}/{mark}-%{{TASK_ID}}.err")
        tasks = [_Task(place, chunk, str(self._wanted)) for chunk in chunks]
        for task in _pickled(tasks, place):
            program = [queue.python, "-c", _PROGRAM]
            job.program(program, stdin=task, stdout=None, stderr=printed)
        self._wanted.touch()
        try:
            self._client: Any = self._told(lambda: Client(queue.server_dir))
            self._id: int = self._told(lambda: self._client.submit(job)).id
        except BaseException:
            self._wanted.unlink(missing_ok=True)
            raise

    def wait(self, tick: Callable[[], None]) -> str | None:
        """Waits until all tasks have ended; gives what went wrong with the first that failed."""
        pause = _FIRST_LOOK
        while not self._has_ended():
            tick()
            time.sleep(pause)
            pause = min(1.2 * pause, _LATER_LOOKS)
        failed = self._told(lambda: self._client.connection.get_failed_tasks([self._id]))
        tasks: dict[int, Any] = failed.get(self._id, {})
        if not tasks:
            return None
        task, context = min(tasks.items())
        wrong = f"{self._server}: job {self._id}, task {task}: {context.error}{_printed(context)}"
        if not self._wanted.exists():
            # The task has ended the others, as all would raise the same.
            raise RunError(wrong)
        return wrong

    def end(self) -> None:
        """Ends tasks that are still there."""
        self._wanted.unlink(missing_ok=True)

    def _has_ended(self) -> bool:
        def look(states: dict[int, dict[str, Any]]) -> None:
            raise _Looked(states)

        try:
            self._told(lambda: self._client.connection.wait_for_jobs([self._id], look))
        except _Looked as looked:
            states: dict[int, dict[str, Any]] = looked.args[0]
            if self._id not in states:
                why = "it no longer knows the job"
                raise RunError(f"{self._server}: job {self._id}: {why}") from None
            return bool(states[self._id]["completed"])
        return True

    def _told(self, ask: Callable[[], Any]) -> Any:
        """What the server says.

        Raises:
            RunError: where it says nothing.
        """
        try:
            return ask()
        except _Looked:
            raise
        except Exception as error:
            # Behind the first line come a trace of calls within HyperQueue and more.
            said = str(error).partition("\n")[0]
            raise RunError(
                f"{self._server}: {said}; cases that are done stay done, and the same call with "
                "a server that answers runs the others"
            ) from None


def _pickled(tasks: list[_Task], place: Place) -> list[bytes]:
    """Tasks as bytes, with the classes of the place: workers need not have their files."""
    import cloudpickle

    classes = {each for part in place.parts for each in part.__mro__}
    names = {each.__module__ for each in classes} - {"__main__", _parts.__name__, "builtins"}
    modules = [sys.modules[name] for name in sorted(names)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return [cloudpickle.dumps(task) for task in tasks]
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _printed(context: Any) -> str:
    """The last lines that a failed task printed."""
    try:
        lines = Path(context.stderr).read_text(errors="replace").splitlines()
    except (OSError, TypeError):
        return ""
    return "".join(f"\n{line}" for line in lines[-_LAST_LINES:])


def work() -> None:
    """Runs the cases of a task, until nobody wants them any more."""
    # What HyperQueue sends where a worker is killed: the case under way is given back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    task: _Task = pickle.load(sys.stdin.buffer)
    wanted, worker = Path(task.wanted), os.getppid()
    next_look = 0.0

    def look(_done: float) -> None:
        nonlocal next_look
        # Not every system tells a process that its worker was killed.
        if os.getppid() != worker:
            raise SystemExit
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + _LOOK_UP_EVERY
            if not wanted.exists():
                raise SystemExit

    try:
        cases = task.place.open()
        look(0.0)
        cases.run(task.cases, 1, look)
    except Exception:
        traceback.print_exc()
        wanted.unlink(missing_ok=True)
        raise SystemExit(1) from None
