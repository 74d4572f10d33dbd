"""The live line says what the finished run will say of the same images."""

import numpy as np
from probes import FAST

import oodometer
from oodometer.metrics import load_baseline
from oodometer.running import RunningResult
from oodometer.scoring import score
from oodometer.store import Block
from oodometer.types import Condition


def _line(run, baseline, halves):
    """Build the line from blocks, the first of which came from an earlier process if there are two."""
    table = run.store.table("imagenet-c", "imagenet-1k")
    rows = np.arange(len(table.images))
    space = oodometer.datasets.imagenet1k()
    blocks = []
    for part in np.array_split(rows, halves):
        logits = {c: np.eye(1000)[table.top[part, i, 0]] for i, c in enumerate(table.conditions)}
        scores = tuple((c, "imagenet-1k", score(logits[c], table.labels[part], space), None) for c in table.conditions)
        blocks.append(Block(tuple(table.images[i] for i in part), table.labels[part], scores))
    empty = type(table)((), table.labels[:0], (), table.top[:0, :0], *[table.nll[:0, :0]] * 3)
    earlier = empty
    if halves == 2:
        first = slice(0, len(blocks[0].images))
        earlier = type(table)(
            table.images[first],
            table.labels[first],
            table.conditions,
            table.top[first],
            table.confidence[first],
            table.nll[first],
            table.brier[first],
        )
        blocks = blocks[1:]
    line = RunningResult(table.conditions, "imagenet-1k", baseline, earlier)
    for block in blocks:
        line.add(block)
    return str(line)


def test_it_equals_the_result_also_after_a_resumption(photographs):
    run = oodometer.evaluate("fake", photographs(6), **FAST)
    alexnet = load_baseline("alexnet")
    assert _line(run, alexnet, 1) == f"mCE {run.mce().percent()} on 6 images"
    assert _line(run, alexnet, 2) == _line(run, alexnet, 1)
    assert _line(run, None, 2) == f"mean error {run.summary().corruptions.mean_error.percent()} on 6 images"


def test_without_the_fifteen_it_is_the_clean_accuracy(photographs):
    run = oodometer.evaluate("fake", photographs(6), corruptions="fog", **FAST)
    assert Condition("fog", 5) in run.store.table("imagenet-c", "imagenet-1k").conditions
    assert _line(run, load_baseline("alexnet"), 2).startswith("accuracy ")
