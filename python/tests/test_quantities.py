"""Tests of spellings of quantities. The tests of the command use the same table."""

from __future__ import annotations

import pytest
from conftest import REPOSITORY

import tailcut as tc

TABLE = REPOSITORY / "crates" / "units" / "tests" / "quantities.txt"
#: Key for each kind of quantity, and the unit of the table's values.
KEYS = {
    "bytes": ("tcp.max_cwnd", ""),
    "rate": ("topology.rate", "bps"),
    "time": ("tcp.min_rto", "ps"),
    "share": ("hull.phantom_drain", ""),
    "count": ("flows", ""),
}


def rows() -> list[tuple[str, str, str]]:
    lines = TABLE.read_text("utf-8").splitlines()
    columns = (line.split("|") for line in lines if not line.startswith("#"))
    return [(kind.strip(), text.strip(), value.strip()) for kind, text, value in columns]


def base() -> tc.Scenario:
    return tc.Scenario.from_dict({"designs": ["tcp", "hull"], "workload": [{"sizes": "websearch"}]})


def read(kind: str, text: str) -> str | None:
    key, _ = KEYS[kind]
    try:
        return base().with_(**{key: text}).to_toml()
    except tc.ScenarioError as error:
        assert "allowed" in str(error)
        return None


@pytest.mark.parametrize(("kind", "text", "value"), rows())
def test_a_spelling_has_the_value_of_the_table_or_is_refused(
    kind: str, text: str, value: str
) -> None:
    found = read(kind, text)
    if value == "refused":
        assert found is None
    else:
        assert found == read(kind, value + KEYS[kind][1])


def test_different_values_of_the_table_differ_as_scenarios() -> None:
    for kind in KEYS:
        values = {value for of, _, value in rows() if of == kind and value != "refused"}
        scenarios = {read(kind, value + KEYS[kind][1]) for value in values} - {None}
        assert len(scenarios) >= 2
