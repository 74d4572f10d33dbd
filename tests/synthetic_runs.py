"""Synthetic runs with known hits, written through the store like real ones; for the tests of what only reads stores."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import PIL.Image

from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.scoring import Scores
from oodometer.store import FORMAT, BenchmarkRecord, Block, Example, Manifest, ModelRecord, RunStore, Skipped
from oodometer.types import CLEAN, Condition, Preprocess, Protocol

CELLS = (CLEAN, *(Condition(name, severity) for name in IMAGENET_C for severity in SEVERITIES))


IMAGENET224 = Preprocess("imagenet224", "256->224", 256, 224)


@dataclass
class Plan:
    """What a synthetic run holds; ``hits`` are by condition, and drawn at random where not given.

    ``first`` is the number of the first image; ``confidence`` is of every image under every condition.
    """

    images: int = 40
    planned: int | None = None
    conditions: tuple[Condition, ...] = CELLS
    hits: dict[Condition, Any] = field(default_factory=dict)
    error: float = 0.5
    classes: tuple[str, ...] = tuple(f"n{k:08d}" for k in range(1000))
    names: tuple[str, ...] = tuple(f"class {k}" for k in range(1000))
    space: str = "imagenet-1k"
    baseline: Any = "alexnet"
    model: str = "a model"
    encoding: str = "memory"
    unavailable: dict[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    masked: int = 0
    renditions: int = 0
    pictures: tuple[Condition, ...] = ()
    prefix: str = "n00000000/"
    first: int = 0
    digest: str = "0"
    seed: int = 3
    preprocess: Preprocess = IMAGENET224
    confidence: Any = None

    def drawn(self, condition: Condition) -> np.ndarray:
        rng = np.random.default_rng([condition.severity, *condition.corruption.encode()])
        return np.asarray(self.hits.get(condition, rng.random(self.images) >= self.error))


def scores(labels, hits, classes, confidence=None):
    """Score predictions that are right where ``hits`` says so."""
    best = np.where(hits, labels, (labels + 1) % classes)
    return Scores(
        top=((best[:, None] + [0, 2, 3, 4, 5]) % classes).astype(np.int32),
        confidence=np.linspace(0.1, 0.9, len(labels), dtype=np.float32)
        if confidence is None
        else np.asarray(confidence, dtype=np.float32),
        nll=np.ones(len(labels), dtype=np.float32),
        brier=np.full(len(labels), 0.5, dtype=np.float32),
    )


def jpeg(shade: int) -> bytes:
    sink = io.BytesIO()
    PIL.Image.new("RGB", (32, 32), (shade, 120, 160)).save(sink, "JPEG")
    return sink.getvalue()


def _protocol(plan: Plan, corruptions: tuple[str, ...]) -> Protocol:
    return Protocol(
        preprocess=plan.preprocess,
        encoding=plan.encoding,
        edition="imagenet224",
        method="fast",
        corruptions=corruptions,
        seed=plan.seed,
    )


def _record(plan: Plan, name: str, images: int, spaces: tuple[str, ...], conditions) -> BenchmarkRecord:
    return BenchmarkRecord(
        name=name,
        dataset=f"the {name} set",
        digest=plan.digest,
        images=images,
        classes=plan.classes,
        class_names=plan.names,
        label_spaces=spaces,
        protocol=_protocol(plan, tuple(dict.fromkeys(c.corruption for c in conditions if c != CLEAN))),
        unavailable=plan.unavailable if name == "imagenet-c" else {},
    )


def _corrupted_block(plan: Plan) -> Block:
    width = len(plan.classes)
    numbers = np.arange(plan.first, plan.first + plan.images)
    labels = (numbers % width).astype(np.int32)
    entries = [(c, plan.space, scores(labels, plan.drawn(c), width, plan.confidence), None) for c in plan.conditions]
    rows = np.arange(plan.masked)
    if plan.masked:
        entries.append((CLEAN, "imagenet-r", scores(labels[rows], plan.drawn(CLEAN)[rows], width), rows))
    images = tuple(f"{plan.prefix}{k:04d}.jpg" for k in numbers)
    return Block(images, labels, tuple(entries), plan.skipped)


def _rendition_block(plan: Plan) -> Block:
    width = len(plan.classes)
    labels = (np.arange(plan.renditions) % 50).astype(np.int32)
    right = np.arange(plan.renditions) % 4 == 0
    entries = (
        (CLEAN, "imagenet-r", scores(labels, right, width), None),
        (CLEAN, "imagenet-1k", scores(labels, right & (labels % 8 == 0), width), None),
    )
    return Block(tuple(f"r/{k:04d}.png" for k in range(plan.renditions)), labels, entries)


def _examples(plan: Plan, block: Block) -> list[Example]:
    label = int(block.labels[0])
    return [
        Example(block.images[0], label, c, label + k % 2, 0.5, jpeg(9 * k % 256)) for k, c in enumerate(plan.pictures)
    ]


def write_run(path, **wishes) -> RunStore:
    """Write a run; the arguments are the fields of ``Plan``."""
    plan = Plan(**wishes)
    store = RunStore(path)
    records, blocks = [], {}
    if plan.conditions:
        planned = plan.planned or plan.images + len(plan.skipped)
        spaces = (plan.space, "imagenet-r") if plan.masked else (plan.space,)
        records.append(_record(plan, "imagenet-c", planned, spaces, plan.conditions))
        blocks["imagenet-c"] = _corrupted_block(plan)
    if plan.renditions:
        records.append(_record(plan, "imagenet-r", plan.renditions, ("imagenet-r", "imagenet-1k"), ()))
        blocks["imagenet-r"] = _rendition_block(plan)
    model = ModelRecord(plan.model, "abc", {"mean": [0.498], "std": [0.502]})
    command, environment = "oodometer evaluate demo --data val", {"oodometer": "0.1.0"}
    created = "2026-01-01T00:00:00+00:00"
    store.write_manifest(Manifest(FORMAT, model, tuple(records), plan.baseline, created, command, environment))
    for name, block in blocks.items():
        if block.images:
            store.write_block(name, 0, block)
            store.write_examples(name, _examples(plan, block))
    return store
