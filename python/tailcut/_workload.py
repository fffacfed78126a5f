"""Workloads that are lists of flows."""

from __future__ import annotations

from typing import Any

from tailcut import _native


class Workload:
    """Flows with their starts, hosts and sizes, created by :func:`flows`."""

    def __init__(self, name: str, trace: bytes, count: int) -> None:
        self.name = name
        #: Flows as a trace in CSV, in the format of the command.
        self.trace = trace
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"Workload({self.name!r}, {self._count} flows)"


def flows(start_ns: Any, src: Any, dst: Any, bytes: Any, *, name: str = "flows") -> Workload:
    """Returns a workload of exactly the given flows.

    Each column is a list, a numpy array, a series of pandas or polars, or an array of Arrow.
    All columns have equal lengths.

    Args:
        start_ns: start of each flow, in nanoseconds after the start of the run.
            Fractions of a nanosecond count, down to a picosecond.
        src: the sending hosts, numbered from 0 in the order of the topology.
        dst: the receiving hosts.
        bytes: the flows' sizes in bytes, without headers.
        name: name of the workload in results, after ``trace:``.

    Raises:
        ScenarioError: columns of different lengths, or an invalid value.
            Hosts that a topology lacks are refused when the workload is used with the topology.
    """
    columns = [_values(column) for column in (start_ns, src, dst, bytes)]
    return Workload(name, _native.trace_of(*columns), len(columns[0]))


def _values(column: Any) -> list[Any]:
    """Returns the values of a column as Python numbers."""
    # ``tolist`` is a method of numpy and pandas, ``to_list`` of polars, and ``to_pylist`` of pyarrow.
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
