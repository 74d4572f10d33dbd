"""A build in parts that any process can make: a part is a block of images under all conditions.

A part is made in a folder of its own, by the engine, the layout and the encodings of every build, and its files are
then brought to where the build lies, those of the pictures first and its list last: a part whose list is there is
whole. So it does not matter which process makes a part, nor whether one that was given up makes it once more: the files
are the same.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oodometer.arguments import is_url
from oodometer.building.cells import Item, Place
from oodometer.building.engine import Outcome, drive, shared
from oodometer.building.layout import changed
from oodometer.building.manifest import BuildFolder, File, Manifest, Picture
from oodometer.building.occupied import alone
from oodometer.building.recipe import Recipe
from oodometer.building.shards import Shards
from oodometer.building.targets import FolderTarget, StoreTarget, Target
from oodometer.errors import ArgumentError, DatasetError, ImageError, StoreError
from oodometer.outfolder import mapped_errors
from oodometer.progress import Observer, Silent
from oodometer.storage import Storage, of_one_process
from oodometer.store import Skipped
from oodometer.threads import threads

__all__ = ["Crew", "Part", "Work", "construct_in_parts", "finished", "make_part"]

Part: typing.TypeAlias = tuple[int, Sequence[Item]]
"""The number of a block, and its images."""


@dataclass(frozen=True, slots=True)
class Work:
    """What parts are made of, and where they are brought to."""

    recipe: Recipe
    target: Target


class Crew(typing.Protocol):
    """Who makes parts elsewhere; see ``oodometer.scaling.Cluster``."""

    def make(self, work: Work, parts: Sequence[Part], workers: int | None) -> Iterator[tuple[int, Outcome]]:
        """Make parts, in any order, each on so many threads or on what a node has; yield their numbers and outcomes."""
        ...


def make_part(work: Work, part: Part, workers: int) -> Outcome:
    """Make one part, or find that it is there.

    Raises
    ------
    OodometerError
        As ``engine.drive``.
    """
    recipe, (number, _) = work.recipe, part
    with work.target.workspace() as made:
        folder = recipe.folder_type(made)
        folder.write_manifest(recipe.planned)
        before = _listed(work.target, folder, number)
        there = None if before is None else _found(work, folder, part, before)
        if there is not None:
            return there
        layout = recipe.format.layout(_place(recipe, folder))
        outcome = drive(recipe, layout, [part], workers, Silent())
        rows = folder.read_block(number)
        _check_none_lost(work, folder, part, before or (), rows)
        work.target.bring(made, dict.fromkeys(row.path for row in rows))
        work.target.bring(made, [_block(folder, number)])
    return outcome


def _listed(target: Target, folder: BuildFolder, number: int) -> list[Picture] | None:
    """Return the rows of a part that was made before; ``None`` if there are none that can be read."""
    content = target.read(_block(folder, number))
    if content is None:
        return None
    path = folder.block_path(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        return folder.read_block(number)
    except StoreError:
        return None  # damaged: it is made again
    finally:
        path.unlink()


def _block(folder: BuildFolder, number: int) -> str:
    return folder.block_path(number).relative_to(folder.path).as_posix()


def _found(work: Work, folder: BuildFolder, part: Part, rows: Sequence[Picture]) -> Outcome | None:
    """Return what came of a part that is there whole; ``None`` if it must be made again.

    Images that are not listed could not be read then, and are tried again.
    """
    images, recipe = {row.image for row in rows}, work.recipe
    files = dict.fromkeys(File(row.path, row.sha256, row.bytes) for row in rows)
    if len(rows) != len(images) * len(recipe.cells) or not all(map(work.target.holds, files)):
        return None
    skipped = []
    for item in part[1]:
        if item.sample.id not in images:
            try:
                recipe.source_image(item)
            except ImageError as error:
                skipped.append(Skipped(item.sample.id, str(error)))
            else:
                if issubclass(recipe.format.layout, Shards):
                    how = "can be read now, and could not when its block was made"
                    raise _changed(work, folder, part[0], item, how)
                return None
    return Outcome(images=len(images), pictures=len(rows), skipped=skipped)


def _check_none_lost(
    work: Work, folder: BuildFolder, part: Part, before: Sequence[Picture], rows: Sequence[Picture]
) -> None:
    """Refuse to replace a part by one that lacks an image of it."""
    lost = {row.image for row in before} - {row.image for row in rows}
    for item in part[1]:
        if item.sample.id in lost:
            raise _changed(work, folder, part[0], item, "could be read when its block was made, and cannot now")


def _changed(work: Work, folder: BuildFolder, number: int, item: Item, how: str) -> StoreError:
    """Return the error of ``layout.changed``, which then names the place of the build and not that of the part."""
    return StoreError(str(changed(folder, number, item, how)).replace(str(folder.path), work.target.where))


def _place(recipe: Recipe, folder: BuildFolder) -> Place:
    return Place(folder, recipe.planned.source, recipe.cells, recipe.format.encoding, recipe.shape)


def construct_in_parts(
    recipe: Recipe, out: str | os.PathLike[str], crew: Crew | None, workers: int | None, observer: Observer
) -> tuple[Path | str, Outcome]:
    """Make what a recipe says in a folder or in a store, by other processes or by this one; see ``construct``.

    Returns
    -------
    tuple
        Where it is, and what came of it.
    """
    if isinstance(out, str) and is_url(out):
        return out.rstrip("/"), _into_store(recipe, out.rstrip("/"), crew, workers, observer)
    folder = recipe.folder_type(out)
    return folder.path, _into_folder(recipe, folder, crew, workers, observer)


def _into_folder(
    recipe: Recipe, folder: BuildFolder, crew: Crew | None, workers: int | None, observer: Observer
) -> Outcome:
    with alone(folder, recipe.planned):
        outcome = _made(Work(recipe, FolderTarget(folder.path)), crew, workers, observer)
        if not outcome.images:
            folder.clear()
            raise _none_readable(recipe, outcome)
        files = recipe.format.layout(_place(recipe, folder)).finish()
        folder.write_manifest(finished(recipe.planned, outcome, files))
        with mapped_errors(f"clearing {folder.unfinished}"):
            shutil.rmtree(folder.unfinished, ignore_errors=True)
    return outcome


def _into_store(recipe: Recipe, url: str, crew: Crew | None, workers: int | None, observer: Observer) -> Outcome:
    """Build into a store. Nothing locks it: two processes that build the same write the same files."""
    if crew is not None and of_one_process(url):
        raise ArgumentError(f"{url}: other processes find nothing there. Choose a store that all nodes reach.")
    if recipe.format.layout.one_size:
        raise ArgumentError(
            f"{url}: arrays ({recipe.planned.layout}) are put together on a disk. Build into a folder, and copy that."
        )
    target = StoreTarget(Storage(url))
    with tempfile.TemporaryDirectory(prefix="oodometer-") as mirror, _named(mirror, url):
        folder = recipe.folder_type(mirror)
        manifest = folder.manifest_path.name
        there = target.read(manifest)
        if there is not None:
            folder.manifest_path.write_bytes(there)
            folder.check_same_plan(recipe.planned)
        elif target.storage.sizes():
            raise StoreError(f"{url} is not empty and holds no built data set. Choose a new folder.")
        else:
            folder.write_manifest(recipe.planned)
            target.bring(folder.path, [manifest])
        outcome = _made(Work(recipe, target), crew, workers, observer)
        if not outcome.images:
            raise _none_readable(recipe, outcome)
        folder.write_manifest(finished(recipe.planned, outcome, ()))
        target.bring(folder.path, [manifest])
    return outcome


@contextlib.contextmanager
def _named(mirror: str, url: str) -> Iterator[None]:
    """Let errors name the store, and not the folder that mirrors what it says of itself."""
    try:
        yield
    except StoreError as error:
        raise StoreError(str(error).replace(mirror, url)) from error


def _made(work: Work, crew: Crew | None, workers: int | None, observer: Observer) -> Outcome:
    """Make all parts, and add up what came of them."""
    recipe = work.recipe
    parts = shared(recipe.items, recipe.format.layout.images, None)
    observer.begin(f"{recipe.noun}s", len(recipe.items) * len(recipe.cells), 0)
    sizes, outcomes = {number: len(items) for number, items in parts}, dict[int, Outcome]()
    for number, outcome in _here(work, parts, workers) if crew is None else crew.make(work, parts, workers):
        outcomes[number] = outcome
        observer.advance(sizes[number] * len(recipe.cells))
    return _sum(outcomes[number] for number, _ in parts)


def _here(work: Work, parts: Sequence[Part], workers: int | None) -> Iterator[tuple[int, Outcome]]:
    for part in parts:
        yield part[0], make_part(work, part, threads(workers))


def _sum(outcomes: Iterable[Outcome]) -> Outcome:
    total = Outcome()
    for one in outcomes:
        total.images += one.images
        total.pictures += one.pictures
        total.made += one.made
        total.bytes += one.bytes
        total.skipped += one.skipped
    return total


def _none_readable(recipe: Recipe, outcome: Outcome) -> DatasetError:
    return DatasetError(f"None of the {len(recipe.items)} images can be read: {outcome.skipped[0].reason}")


def finished(planned: Manifest, outcome: Outcome, files: tuple[File, ...]) -> Manifest:
    """Return the manifest of a build that is done."""
    return replace(
        planned,
        complete=True,
        images=outcome.images,
        pictures=outcome.pictures,
        files=files,
        skipped=tuple(outcome.skipped),
    )
