"""``results.json`` holds every number, and nothing that is not JSON."""

import json
import math

from oodometer.report import results, summarize, write_report
from oodometer.store import Skipped
from oodometer.types import CLEAN


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


def strict(content):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(content, parse_constant=refuse)


def test_the_file_is_the_summary(make_run):
    store = make_run(images=120, masked=30, renditions=110, skipped=(Skipped("a.jpg", "cut"),), pictures=(CLEAN,))
    summary = summarize(store)
    write_report(store)
    written = strict((store.path / "results.json").read_bytes())
    assert written == strict(json.dumps(results(summary)))
    part = written["corruptions"]
    mce = summary.corruptions.mce
    assert part["mce"] == {"value": mce.value, "low": mce.low, "high": mce.high, "se": mce.se, "n": 120}
    assert part["baseline"]["name"] == "alexnet"
    assert part["protocol"]["label"] == "256->224, memory"
    assert part["counts"] == {
        "planned": 121,
        "measured": 120,
        "classes": 120,
        "skipped": [{"image": "a.jpg", "reason": "cut"}],
    }
    assert [row["name"] for row in part["rows"]] == [row.name for row in summary.corruptions.rows]
    assert written["renditions"]["gap"]["n"] == 140
    assert all(math.isfinite(leaf) for leaf in leaves(written) if isinstance(leaf, float))


def test_what_does_not_exist_is_null(make_run):
    written = results(summarize(make_run(images=1, baseline=None)))
    assert written["renditions"] is None
    assert written["corruptions"]["mce"] is None
    assert written["corruptions"]["mce_unavailable"]
    json.dumps(written, allow_nan=False)
