"""Write the JSON Schemas of what Oodometer writes for programs, from the dataclasses that it is written from.

``python tools/schemas.py`` writes ``docs/schemas/*.json``. The schemas are strict in what they promise and open to
what may come: every key that is named is always there, and later versions may add others. A key that goes or changes
its meaning makes a new format, which the schema names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from oodometer.comparison import Comparison
from oodometer.comparison.result import FORMAT as COMPARISON
from oodometer.doctor import Diagnosis
from oodometer.doctor.diagnosis import FORMAT as DIAGNOSIS
from oodometer.leaderboard import FORMAT as EXPORTED
from oodometer.leaderboard import Entry
from oodometer.paper_tables import FORMAT as TABLE
from oodometer.paper_tables import TableResults
from oodometer.report import Summary
from oodometer.report.results import FORMAT as RESULTS
from oodometer.sequences.run import FORMAT as SEQUENCES
from oodometer.sequences.summary import SequenceSummary

__all__ = ["FOLDER", "SCHEMAS", "schema"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schemas"

LABEL = {"Protocol": {"label": {"type": "string", "description": "The protocol in a few words."}}}


@dataclass(frozen=True)
class Written:
    """A kind of file: the dataclass behind it, and what it has more or less than that, by the dataclass."""

    title: str
    content: type
    format: int
    more: dict[str, dict[str, Any]] = field(default_factory=dict)
    less: dict[str, tuple[str, ...]] = field(default_factory=dict)


SCHEMAS = {
    "results": Written(
        "results.json of a run",
        Summary,
        RESULTS,
        LABEL,
        {"Summary": ("corruption_strips", "rendition_strips"), "Shifted": ("strips",)},
    ),
    "table": Written("a table for papers", TableResults, TABLE, LABEL),
    "comparison": Written("a comparison of runs", Comparison, COMPARISON, LABEL),
    "exported-result": Written("a result for a leaderboard", Entry, EXPORTED),
    "sequences": Written("sequences.json of a run over sequences", SequenceSummary, SEQUENCES, LABEL),
    "diagnosis": Written(
        "what the data doctor found", Diagnosis, DIAGNOSIS, {"Diagnosis": {"ok": {"type": "boolean"}}}
    ),
}


def schema(name: str) -> dict[str, Any]:
    """Make the schema of one kind of file."""
    kind = SCHEMAS[name]
    _, parts = msgspec.json.schema_components((kind.content,), ref_template="#/$defs/{name}")
    root = kind.content.__name__
    for part, definition in parts.items():
        properties = definition.get("properties")
        if properties is None:
            continue
        for gone in kind.less.get(part, ()):
            del properties[gone]
        properties |= kind.more.get(part, {})
        if part == root:
            properties = definition["properties"] = {"format": {}} | properties
            properties["format"] = {"const": kind.format}
        for said in properties.values():
            said.pop("default", None)  # what is written has every key
        definition["required"] = list(properties)
    top = parts.pop(root)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:oodometer:schema:{name}:{kind.format}",
        **top,
        "title": f"Oodometer: {kind.title}, format {kind.format}",
        "$defs": {part: parts[part] for part in sorted(_named(top, parts))},
    }


def _named(definition: object, parts: dict[str, Any]) -> set[str]:
    """Find the parts that a definition leads to."""
    found: set[str] = set()
    left = [definition]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            part = str(one.get("$ref", "")).removeprefix("#/$defs/")
            if part and part not in found:
                found.add(part)
                left.append(parts[part])
            left += one.values()
        elif isinstance(one, list):
            left += one
    return found


def text(name: str) -> str:
    """Write the schema of one kind of file as it is stored."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / f"{name}.json").write_text(text(name), encoding="utf-8")
