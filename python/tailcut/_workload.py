"""Workloads that are given flow by flow."""

from __future__ import annotations

from typing import Any

from tailcut import _native


class Workload:
    """Flows with their starts, ends and sizes; made by :func:`flows`."""

    def __init__(self, name: str, trace: bytes, count: int) -> None:
        self.name = name
        #: The flows as a trace in CSV, as the command reads it.
        self.trace = trace
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"Workload({self.name!r}, {self._count} flows)"


def flows(start_ns: Any, src: Any, dst: Any, bytes: Any, *, name: str = "flows") -> Workload:
    """A workload of exactly these flows.

    Each column is a list, a numpy array, a series of pandas or polars, or an array of Arrow; all
    have the same length.

    Args:
        start_ns: when each flow starts, in nanoseconds from the start of the run; fractions count
            down to a picosecond.
        src: the sending hosts, numbered from 0 in the order of the topology.
        dst: the receiving hosts.
        bytes: the flows' sizes in bytes, without headers.
        name: what results call the workload, behind ``trace:``.

    Raises:
        ScenarioError: for columns of different lengths, or for a value that is none; hosts that a
            topology does not have are refused when the workload meets it.
    """
    columns = [_values(column) for column in (start_ns, src, dst, bytes)]
    return Workload(name, _native.trace_of(*columns), len(columns[0]))


def _values(column: Any) -> list[Any]:
    """The values of a column as numbers of Python."""
    # numpy and pandas; polars; pyarrow.
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if hasattr(column, "__arrow_c_array__"):
        return list(_pyarrow().array(column).to_pylist())
    if hasattr(column, "__arrow_c_stream__"):
        return list(_pyarrow().chunked_array(column).to_pylist())
    return [value.item() if hasattr(value, "item") else value for value in column]


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("this column needs the package pyarrow: pip install pyarrow") from error
    return pyarrow
