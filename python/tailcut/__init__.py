"""tailcut: a simulator of data-centre transports.

Compare designs, read the results as data frames, and write your own parts in Python::

    import tailcut as tc

    st = tc.compare(["tcp", "dctcp"], load=0.5, seeds=6, flows=500)
    print(st.answer)
    st.flows.to_polars()
"""

from tailcut._custom_parts import DROP, DROP_FRONT, MARK, QUEUE, Balancer, Controller, Queue
from tailcut._errors import RunError, ScenarioError, StudyError
from tailcut._hyperqueue import HyperQueue
from tailcut._native import Ack, Congested, Table, Window, __version__
from tailcut._scenario import Case, Scenario, compare
from tailcut._study import Study
from tailcut._workload import Workload, flows

__all__ = [
    "DROP",
    "DROP_FRONT",
    "MARK",
    "QUEUE",
    "Ack",
    "Balancer",
    "Case",
    "Congested",
    "Controller",
    "HyperQueue",
    "Queue",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Study",
    "StudyError",
    "Table",
    "Window",
    "Workload",
    "__version__",
    "compare",
    "flows",
]
