"""Tests of a study's answer, plots, report and files."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from conftest import Command, hashes

import tailcut as tc

TABLES = ["flows", "ports", "nodes", "topology", "queues", "links"]


def test_a_saved_study_is_the_same_when_it_is_opened(study: tc.Study, tmp_path: Path) -> None:
    there = tc.Study.open(study.save(tmp_path / "study"))
    assert (there.answer, there.summary) == (study.answer, study.summary)
    assert there.pictures == study.pictures
    assert hashes(there) == hashes(study)
    for table in TABLES:
        assert getattr(there, table).to_polars().equals(getattr(study, table).to_polars())
    copied = tc.Study.open(there.save(tmp_path / "copy"))
    assert hashes(copied) == hashes(study)


def test_the_command_reports_what_was_saved(
    study: tc.Study, tmp_path: Path, command: Command
) -> None:
    saved = study.save(tmp_path / "study")
    ours = (saved / "report.html").read_text()
    assert command("report", saved).startswith(study.answer)
    assert (saved / "report.html").read_text() == ours
    (tmp_path / "elsewhere").mkdir()
    report = tc.Study.open(saved).report(tmp_path / "elsewhere" / "r.html")
    assert report.read_text() == ours


def test_runs_that_are_there_are_kept(study: tc.Study, tmp_path: Path) -> None:
    def written(directory: Path) -> dict[str, int]:
        return {str(run): run.stat().st_mtime_ns for run in directory.glob("runs/*/run.json")}

    saved = study.save(tmp_path / "study")
    before = written(saved)
    assert len(before) == 8
    study.save(saved)
    assert written(saved) == before


def test_a_directory_that_is_no_study_is_refused(study: tc.Study, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(tc.StudyError, match="is not empty and has no manifest.json"):
        study.save(tmp_path)
    with pytest.raises(tc.StudyError, match="manifest.json"):
        tc.Study.open(tmp_path)


def test_a_notebook_shows_the_answer_and_pictures_without_scripts(study: tc.Study) -> None:
    shown = study._repr_html_()
    assert "script" not in shown
    first = study.answer.splitlines()[0]
    assert re.sub(r"\W", "", first) in re.sub(r"\W", "", shown)
    pictures = re.findall(r"base64,([^\"]+)", shown)
    assert len(pictures) >= 3
    for picture in pictures:
        assert xml.fromstring(base64.b64decode(picture)).tag.endswith("svg")


def test_a_study_in_a_terminal_is_its_answer_and_its_table(study: tc.Study) -> None:
    assert study.answer in repr(study)
    assert "repflow+dctcp" in repr(study)
    assert len(study) == 8
    assert study.figures["baseline"] == "tcp"
