"""Tests that the examples in the documents run, and that the types of the package are correct."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import REPOSITORY
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs/python.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_import_compare_data_frame_and_plot_are_ten_lines(tmp_path: Path) -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(lines) <= 10
    ran = subprocess.run([sys.executable, "-c", BLOCKS[0]], cwd=tmp_path, check=False)
    assert ran.returncode == 0
    assert (tmp_path / "mice.png").stat().st_size > 5_000


def test_the_other_examples_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    # The code is in a file, so that the processes of a pool can import its definitions.
    script = tmp_path / "page.py"
    body = "".join(f"    {line}" for block in BLOCKS[1:] for line in block.splitlines(True))
    script.write_text(f"if __name__ == '__main__':\n{body}")
    assert len(BLOCKS) > 5
    assert subprocess.run([sys.executable, script], cwd=tmp_path, check=False).returncode == 0


@pytest.mark.parametrize("notebook", sorted(HERE.glob("notebooks/*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_run(notebook: Path, tmp_path: Path) -> None:
    book = nbformat.read(notebook, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(book, timeout=300, resources=resources).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/png" in kinds or "text/html" in kinds


def test_types_hold_in_the_package_and_in_its_tests() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "tailcut", "tests"],
        cwd=HERE,
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout


def test_stubs_say_what_the_native_module_has(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "tailcut._native"]
    # The command runs outside the source folder. Inside, Python would import the sources.
    ran = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
