"""Cases of a study as tasks of HyperQueue."""

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

from tailcut import _custom_parts, _native
from tailcut._errors import RunError
from tailcut._study_dir import StudyDir

#: Time between two checks whether the result of a task is still wanted, in seconds.
_CHECK_INTERVAL = 1.0
#: First and longest pause between two queries of a job's state, in seconds.
_FIRST_LOOK, _LATER_LOOKS = 0.05, 1.0
#: Number of lines of a failed task's standard error that an error message contains.
_LAST_LINES = 20
#: Program that a task runs. Installed packages come before files in the working directory.
_PROGRAM = (
    "import sys; sys.path.append(sys.path.pop(0)); from tailcut._hyperqueue import work; work()"
)


class HyperQueue:
    """A HyperQueue server whose workers run the cases of a study.

    The server is an ``executor`` of :meth:`tailcut.Scenario.run` and :func:`tailcut.compare`.
    The run needs a ``directory`` that the workers see under the same path.
    Start server and workers separately, with program ``hq`` or ``hyperqueue.LocalCluster``.
    If the server ends, the same call runs only the missing cases, on any cluster.

    Args:
        server_dir: the server's directory; HyperQueue's default directory if ``None``.
        python: Python on the workers, with this version of tailcut.
            ``None`` means the Python of this process.
        chunk: the least expected CPU time of a task's cases, in seconds.

    Raises:
        ImportError: if the package hyperqueue is not installed.
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
        self, cases: _native.Cases, study_dir: StudyDir
    ) -> Callable[[list[int], Callable[[float], None]], str | None]:
        """Returns a function that runs cases as one job. Each task runs a chunk of cases.

        After an error, the function runs each case as a separate task.
        The function returns the error of the first task that failed.
        """
        failed = False

        def run(waiting: list[int], tick: Callable[[float], None]) -> str | None:
            nonlocal failed
            chunks = [[case] for case in waiting] if failed else cases.chunks(self.chunk)
            if not chunks:
                # Another process has started all waiting cases.
                return None
            before = cases.tally()
            over = before[0] + len(before[1])
            job = _Job(self, cases.jobs(), study_dir, chunks)

            def check() -> None:
                done, failures, _running, _waiting = cases.tally()
                tick(done + len(failures) - over)

            try:
                wrong = job.wait(check)
            finally:
                job.end()
            failed = wrong is not None
            return wrong

        return run


class _Task(NamedTuple):
    """Input of a task, which it reads from its standard input."""

    study_dir: StudyDir
    cases: list[int]
    #: File that exists while a process waits for the job. When the file is removed, the tasks end.
    #: The file is needed because HyperQueue's Python interface cannot cancel a job.
    wanted: str


class _JobState(Exception):
    """State of a job, raised to leave a HyperQueue call.

    The call would wait for the job's end while it holds Python's lock.
    """


class _Job:
    """Job whose tasks were submitted to HyperQueue."""

    def __init__(
        self, queue: HyperQueue, jobs: Path, study_dir: StudyDir, chunks: list[list[int]]
    ) -> None:
        from hyperqueue import Client, Job
        from hyperqueue.output import StdioDef

        self._server = f"HyperQueue at {queue.server_dir or 'its usual directory'}"
        mark = f"hq-{uuid.uuid4().hex[:12]}"
        self._wanted = jobs / f"{mark}.wanted"
        self._chunks = chunks
        job = Job(default_workdir=os.getcwd(), max_fails=None, name=Path(study_dir.directory).name)
        # Each task has its own file. The file is removed if the task ends without an error.
        printed = StdioDef.remove_if_finished(f"{jobs}/{mark}-%{{TASK_ID}}.err")
        tasks = [_Task(study_dir, chunk, str(self._wanted)) for chunk in chunks]
        for task in _pickled(tasks, study_dir):
            program = [queue.python, "-c", _PROGRAM]
            job.program(program, stdin=task, stdout=None, stderr=printed)
        self._wanted.touch()
        try:
            self._client: Any = self._call_server(lambda: Client(queue.server_dir))
            self._id: int = self._call_server(lambda: self._client.submit(job)).id
        except BaseException:
            self._wanted.unlink(missing_ok=True)
            raise

    def wait(self, tick: Callable[[], None]) -> str | None:
        """Waits until all tasks have ended. Returns the error of the first task that failed."""
        pause = _FIRST_LOOK
        while not self._has_ended():
            tick()
            time.sleep(pause)
            pause = min(1.2 * pause, _LATER_LOOKS)
        failed = self._call_server(lambda: self._client.connection.get_failed_tasks([self._id]))
        tasks: dict[int, Any] = failed.get(self._id, {})
        if not tasks:
            return None
        task, context = min(tasks.items())
        wrong = f"{self._server}: job {self._id}, task {task}: {context.error}{_printed(context)}"
        if not self._wanted.exists():
            # The first failed task has ended all other tasks, because they would raise the same error.
            raise RunError(wrong)
        return wrong

    def end(self) -> None:
        """Ends the remaining tasks."""
        self._wanted.unlink(missing_ok=True)

    def _has_ended(self) -> bool:
        def check(states: dict[int, dict[str, Any]]) -> None:
            raise _JobState(states)

        try:
            self._call_server(lambda: self._client.connection.wait_for_jobs([self._id], check))
        except _JobState as reached:
            states: dict[int, dict[str, Any]] = reached.args[0]
            if self._id not in states:
                why = "the server has lost the job"
                raise RunError(f"{self._server}: job {self._id}: {why}") from None
            return bool(states[self._id]["completed"])
        return True

    def _call_server(self, call: Callable[[], Any]) -> Any:
        """Calls the HyperQueue server and returns its answer.

        Raises:
            RunError: if the server does not answer.
        """
        try:
            return call()
        except _JobState:
            raise
        except Exception as error:
            # Only the first line is useful. All later lines are a trace of calls within HyperQueue.
            said = str(error).partition("\n")[0]
            raise RunError(
                f"{self._server}: {said}; cases that are done stay done, and the same call with "
                "a server that answers runs the others"
            ) from None


def _pickled(tasks: list[_Task], study_dir: StudyDir) -> list[bytes]:
    """Returns tasks as bytes that contain the code of their classes.

    With the code in the tasks, workers need no source files.
    """
    import cloudpickle

    classes = {each for part in study_dir.parts for each in part.__mro__}
    names = {each.__module__ for each in classes} - {"__main__", _custom_parts.__name__, "builtins"}
    modules = [sys.modules[name] for name in sorted(names)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return [cloudpickle.dumps(task) for task in tasks]
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _printed(context: Any) -> str:
    """Returns the last lines that a failed task printed."""
    try:
        lines = Path(context.stderr).read_text(errors="replace").splitlines()
    except (OSError, TypeError):
        return ""
    return "".join(f"\n{line}" for line in lines[-_LAST_LINES:])


def work() -> None:
    """Runs the cases of a task, as long as their results are wanted."""
    # HyperQueue sends SIGTERM when a worker is killed. After the signal, the case waits again.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    task: _Task = pickle.load(sys.stdin.buffer)
    wanted, worker = Path(task.wanted), os.getppid()
    next_check = 0.0

    def check(_done: float) -> None:
        nonlocal next_check
        # On some systems, a process gets no signal when its worker is killed, so the parent is checked.
        if os.getppid() != worker:
            raise SystemExit
        if time.monotonic() >= next_check:
            next_check = time.monotonic() + _CHECK_INTERVAL
            if not wanted.exists():
                raise SystemExit

    try:
        cases = task.study_dir.open()
        check(0.0)
        cases.run(task.cases, 1, check)
    except Exception:
        traceback.print_exc()
        wanted.unlink(missing_ok=True)
        raise SystemExit(1) from None
