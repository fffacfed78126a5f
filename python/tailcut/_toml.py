"""Conversion of a dictionary to the text of a scenario."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any


def toml(scenario: Mapping[str, Any]) -> str:
    """Returns the text of a scenario. Keys of the top level come before sections."""
    top, sections = [], []
    for name, value in scenario.items():
        if isinstance(value, Mapping):
            sections.append(_section(f"[{name}]", value))
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
            sections.extend(_section(f"[[{name}]]", table) for table in value)
        else:
            top.append(_line(name, value))
    return "\n".join([*top, *sections]) + "\n"


def _section(header: str, table: Mapping[str, Any]) -> str:
    return "\n".join([header, *(_line(name, value) for name, value in table.items())])


def _line(name: str, value: Any) -> str:
    return f"{json.dumps(str(name))} = {_value(name, value)}"


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        # TOML has the same escapes as JSON. Only one character (DEL) needs an escape in TOML and not in JSON.
        return json.dumps(os.fspath(value)).replace("\x7f", "\\u007f")
    if hasattr(value, "tolist"):
        return _value(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(name, item) for item in value) + "]"
    raise TypeError(
        f"{name}: found a value of type {type(value).__name__}; "
        "allowed: bool, int, float, str, list, tuple, and dict for a section"
    )
