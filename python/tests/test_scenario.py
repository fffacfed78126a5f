"""Tests of scenarios: their sources, and their errors."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
from conftest import REPOSITORY, SMALL, hashes

import tailcut as tc
from tailcut._executor import ScenarioSource

SCENARIOS = sorted((REPOSITORY / "scenarios").rglob("*.toml"))


def test_a_dictionary_and_a_text_and_a_file_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    of_dict = tc.Scenario.from_dict(
        {
            "designs": ["tcp", "repflow+dctcp"],
            "loads": numpy.array([0.3, 0.6]),
            "seeds": 2,
            "flows": numpy.int64(60),
            "sample_every": "500us",
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 4},
            "workload": [{"sizes": "websearch"}],
        }
    )
    of_text = tc.Scenario.from_toml(SMALL)
    of_file = tc.Scenario.from_toml(tmp_path / "small.toml")
    assert of_dict.config == of_text.config == of_file.config
    assert of_file.name == "small"
    assert [case.load for case in of_dict.cases()] == [0.3, 0.3, 0.6, 0.6] * 2


def test_a_scenario_that_is_built_in_is_known_by_its_name() -> None:
    assert tc.Scenario.from_toml("incast").name == "incast"
    with pytest.raises(FileNotFoundError):
        tc.Scenario.from_toml("no-such-file.toml")


def test_a_value_that_is_set_makes_another_scenario(small: tc.Scenario) -> None:
    quick = small.with_(tcp__min_rto="1ms", load="0.1..0.3:0.1", **{"queue.limit": "50 packets"})
    assert quick.config["tcp"]["min_rto"] == "1 ms"
    assert quick.config["study"]["loads"] == [0.1, 0.2, 0.3]
    assert small.config["tcp"]["min_rto"] != "1 ms"
    assert len(quick.with_(topology="single-switch:hosts=5").cases()) == 12


def test_an_error_names_the_place_and_what_is_allowed(small: tc.Scenario) -> None:
    with pytest.raises(tc.ScenarioError) as caught:
        tc.Scenario.from_toml("loads = 0.3\nflow = 50\n")
    error = caught.value
    assert (error.place, error.meant) == ("scenario:2", "flows")
    assert "designs" in error.allowed
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

    with pytest.raises(tc.ScenarioError, match="tcp.min_rto: found 3; allowed: a time"):
        small.with_(tcp__min_rto=3)
    with pytest.raises(tc.ScenarioError, match="topology:? .*did you mean 'fat-tree'"):
        small.with_(topology="fat-tre")
    with pytest.raises(tc.ScenarioError, match="threads: found 0; allowed: a whole number from 1"):
        small.run(threads=0)
    with pytest.raises(TypeError, match="flows: found a value of type object"):
        small.with_(flows=object())


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_text_of_a_scenario_describes_the_same_runs(path: Path) -> None:
    scenario = tc.Scenario.from_toml(path)
    if any(case.swept for case in scenario.cases()):
        with pytest.raises(tc.ScenarioError, match="found a sweep"):
            scenario.to_toml()
        return
    again = tc.Scenario.from_toml(scenario.to_toml())
    assert [case._replace(topology="") for case in again.cases()] == [
        case._replace(topology="") for case in scenario.cases()
    ]
    config, config_again = scenario.config, again.config
    # If a study or a network has no name, the text contains the name that tailcut derives.
    for section in ("study", "topology"):
        config[section]["name"] = config_again[section]["name"]
    assert config_again == config


def test_what_a_start_says_and_nothing_reads_is_not_in_the_text() -> None:
    # The starting scenario of `compare` samples queues, but stations have none.
    start = tc.Scenario(ScenarioSource(None, "compare", "", {}, True, ())).with_(
        designs=["stations"], workload="requests:fixed:10KB"
    )
    assert start.config["study"]["sample_every"] == "500 us"
    assert "sample_every" not in start.to_toml()
    assert len(tc.Scenario.from_toml(start.to_toml()).cases()) == len(start.cases())


def test_swept_keys_are_columns_and_cross_to_workers() -> None:
    text = SMALL.replace("[[workload]]", '[sweep]\nqueue.limit = [20, 100]\n[[workload]]')
    scenario = tc.Scenario.from_toml(text).with_(loads=0.6, seeds=1)
    assert [case.swept for case in scenario.cases()][0] == {"queue.limit": "20 packets"}
    study = scenario.run(progress=False)
    limits = study.flows.to_polars()["queue.limit_packets"].unique(maintain_order=True)
    assert limits.to_list() == [20, 100]
    with ThreadPoolExecutor(1) as pool:
        assert hashes(scenario.run(progress=False, executor=pool)) == hashes(study)


def test_threads_change_no_result(small: tc.Scenario, study: tc.Study) -> None:
    assert hashes(small.run(threads=3, progress=False)) == hashes(study)
