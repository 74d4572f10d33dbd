"""Compare the reference kernels with the golden images, print a Markdown table, and freeze digests.

    python tools/exactness.py GOLDEN_FOLDER [--freeze tests/corruptions/digests.json]

The folder is described by its own README: outputs of the published code for fixed inputs and seeds. Exits with 1 if
any value is off, and then freezes nothing. The frozen digests are of outputs on a picture drawn here, so that a
machine without the folder notices a changed pixel, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
import PIL.Image

from oodometer.corruptions import EDITIONS, registry
from oodometer.families import SEVERITIES

# Where a golden image depends on the age of a library, ours is the newer form.
VARIANTS = ("libjpeg_turbo", "scipy_1_6_or_newer", "pillow_7_or_newer")


@dataclass(frozen=True)
class Case:
    """One golden image: how it was made, where it is, and what two further draws gave."""

    edition: str
    photo: int
    corruption: str
    severity: int
    seed: int
    picture: Path
    variant: str
    next_draws: tuple[float, ...]


@dataclass(frozen=True)
class Difference:
    """How many of the values of an output are off its golden image, and whether its stream ends where it should."""

    values: int
    of: int
    largest: int
    same_draws: bool


@dataclass(frozen=True)
class Row:
    """One line of the table: the images of one corruption in one edition."""

    corruption: str
    edition: str
    variant: str
    images: int
    equal_values: str
    values_off: int
    largest_difference: int
    images_with_other_draws: int


def cases(golden: Path) -> list[Case]:
    """Read the manifest; a file under ``variants/`` takes the place of the plain one."""
    manifest = json.loads((golden / "manifest.json").read_text(encoding="utf-8"))
    return [_case(golden, entry) for entry in manifest["cases"]]


def _case(golden: Path, entry: dict) -> Case:
    variant = next((v for v in VARIANTS if (golden / "variants" / v / entry["png"]).exists()), "")
    return Case(
        edition=entry["set"],
        photo=entry["photo"],
        corruption=entry["corruption"],
        severity=entry["severity"],
        seed=entry["seed"],
        picture=(golden / "variants" / variant if variant else golden) / entry["png"],
        variant=variant,
        next_draws=tuple(entry["next_two_random_samples"]),
    )


def compare(golden: Path, case: Case) -> Difference:
    """Run the reference kernel of one case and compare pixels and draws."""
    image = _read(golden / case.edition / f"photo{case.photo}" / "input.png")
    rng = np.random.RandomState(case.seed)
    output = _reference(image, rng, case.corruption, case.edition, case.severity)
    off = np.abs(output.astype(int) - _read(case.picture))
    return Difference(
        values=int(np.count_nonzero(off)),
        of=off.size,
        largest=int(off.max()),
        same_draws=tuple(rng.random_sample(2)) == case.next_draws,
    )


def _read(path: Path) -> np.ndarray:
    with PIL.Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def _reference(image: np.ndarray, rng: np.random.RandomState, name: str, edition: str, severity: int) -> np.ndarray:
    corruption = registry.find(name)
    return corruption.reference(image, rng, *corruption.table.row(edition, severity))


def summarize(golden: Path, chosen: list[Case]) -> Row:
    """Compare the cases of one corruption in one edition."""
    differences = [compare(golden, case) for case in chosen]
    off, values = sum(d.values for d in differences), sum(d.of for d in differences)
    return Row(
        corruption=chosen[0].corruption,
        edition=chosen[0].edition,
        variant=", ".join(sorted({case.variant for case in chosen} - {""})),
        images=len(chosen),
        equal_values=f"{100 * (values - off) / values:.6g} %",
        values_off=off,
        largest_difference=max(difference.largest for difference in differences),
        images_with_other_draws=sum(not difference.same_draws for difference in differences),
    )


def synthetic_image() -> np.ndarray:
    """Draw a picture of blocks, slopes and grain in whole numbers; not square, and the same everywhere."""
    blocks = np.random.RandomState(0).randint(40, 180, size=(6, 9, 3)).repeat(12, axis=0).repeat(12, axis=1)
    rows, columns = np.mgrid[: blocks.shape[0], : blocks.shape[1]]
    slope = ((rows + 2 * columns) // 8)[..., np.newaxis]
    grain = np.random.RandomState(1).randint(-12, 13, size=blocks.shape)
    return (blocks + slope + grain).astype(np.uint8)


def digests(corruption: str, edition: str) -> list[str]:
    """Return one short hash of the output on the synthetic image for each severity."""
    image = synthetic_image()
    outputs = [_reference(image, np.random.RandomState(s), corruption, edition, s) for s in SEVERITIES]
    return [hashlib.blake2b(output.tobytes(), digest_size=8).hexdigest() for output in outputs]


def main() -> int:
    """Print the table, freeze the digests if asked to; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description="Compare the reference kernels with the golden images.")
    parser.add_argument("golden", type=Path, help="the folder of the golden images, with its manifest.json")
    parser.add_argument("--freeze", type=Path, metavar="FILE", help="write digests of a synthetic image, if all match")
    arguments = parser.parse_args()

    all_cases = cases(arguments.golden)
    order = [(name, edition) for name in registry.REGISTRY for edition in EDITIONS]
    keys = sorted({(case.corruption, case.edition) for case in all_cases}, key=order.index)
    rows = [
        summarize(arguments.golden, [case for case in all_cases if (case.corruption, case.edition) == key])
        for key in keys
    ]
    titles = [field.name.replace("_", " ") for field in fields(Row)]
    lines = [titles, ["---"] * len(titles), *map(astuple, rows)]
    sys.stdout.writelines(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    if any(row.values_off or row.images_with_other_draws for row in rows):
        sys.stderr.write(
            "Some values are off, so nothing is frozen.\n" if arguments.freeze else "Some values are off.\n"
        )
        return 1
    if arguments.freeze:
        frozen = {edition: {name: digests(name, edition) for name in registry.REGISTRY} for edition in EDITIONS}
        arguments.freeze.write_text(json.dumps(frozen, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
