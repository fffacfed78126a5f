"""Shared parts of the tests: a small scenario, and the command ``tailcut``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import tailcut as tc

REPOSITORY = Path(__file__).resolve().parents[2]

SMALL = """
designs = ["tcp", "repflow+dctcp"]
loads = [0.3, 0.6]
seeds = 2
flows = 60
sample_every = "500us"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 4
[[workload]]
sizes = "websearch"
"""

#: Scenario with at least ten seconds of work, for tests that stop a study.
LONG = """
designs = ["dctcp"]
flows = 500000
duration = "1000s"
[topology]
kind = "fat-tree"
k = 4
"""


@pytest.fixture(scope="session")
def small() -> tc.Scenario:
    return tc.Scenario.from_toml(SMALL)


@pytest.fixture(scope="session")
def study(small: tc.Scenario) -> tc.Study:
    return small.run(progress=False)


class Command:
    """The program `tailcut`, which `make build` builds."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def __call__(self, *arguments: str | Path) -> str:
        # Some test runners set COLUMNS, and the command would break its lines.
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        ran = subprocess.run(
            [self._program, *arguments], capture_output=True, text=True, check=False, env=environment
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


@pytest.fixture(scope="session")
def command() -> Command:
    program = Path(os.environ.get("TAILCUT", REPOSITORY / "target/release/tailcut"))
    assert program.exists(), f"{program} does not exist: run `make build`, or set TAILCUT"
    return Command(program)


def hashes(study: tc.Study) -> list[str]:
    """Returns the record hashes of a study's runs, in order."""
    found: list[str] = study.runs.to_polars()["record_hash"].to_list()
    return found
