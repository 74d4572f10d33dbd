"""`oodometer corrupt`: corrupted data sets, and single images, as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from oodometer.arguments import path
from oodometer.cli import corrupt_sequence
from oodometer.cli.cluster_options import with_cluster
from oodometer.cli.config import config_option
from oodometer.errors import ArgumentError

__all__ = ["corrupt", "make"]

EXIT_SKIPPED = 1

OF_SETS = ("format", "clean", "limit", "labels", "classes", "label_space", "workers", "dry_run", "shard", "ray")
"""The options that make no sense for a single image."""


@click.command()
@click.argument("source", metavar="SRC")
@click.argument("out")
@click.option("-c", "--corruptions", default="imagenet-c", show_default=True, help="A group, a family, or names.")
@click.option("-s", "--severities", default="1,2,3,4,5", show_default=True, help="Above 0 and up to 10, also 2.5.")
@click.option("--seed", default=0, show_default=True, help="Of the corruptions, and of the order for --limit.")
@click.option("--edition", default="imagenet224", show_default=True, help="Which published table of strengths.")
@click.option("--method", default="fast", show_default=True, help="fast or reference.")
@click.option(
    "--preprocess", default="imagenet224", show_default=True, help="imagenet224, inception299, tiny64, or none."
)
@click.option(
    "--format",
    default="jpeg",
    show_default=True,
    help="jpeg (quality 85, as published), png, webp: a tree of files; webdataset, parquet: shards of JPEGs, or with "
    "-png or -webp appended without loss; npy: arrays as in CIFAR-10-C.",
)
@click.option("--clean", is_flag=True, help="Add the images without a corruption, under the same names.")
@click.option("--limit", type=int, help="Only so many images, the first of the seeded order.")
@click.option("--labels", metavar="FILE", help="CSV (name,label) or JSON: the class index or wnid of a folder or file.")
@click.option("--classes", type=int, help="How many classes there are, if --labels names only some.")
@click.option("--label-space", metavar="NAME", help="What indices in --labels mean, such as imagenet-1k.")
@click.option(
    "--orientation", default="ignore", show_default=True, help="ignore the tags of turned photographs, or apply them."
)
@click.option("--sequence", is_flag=True, help="Make videos as in ImageNet-P instead: OUT/NAME/CLASS/IMAGE/FRAME.")
@click.option("--frames", type=int, help="Of videos: the first so many; default: all, 41 of translate, else 31.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
@click.option(
    "--shard",
    metavar="I/N",
    help="Only every N-th block of images, from I on (0 to N - 1), into the OUT of all; auto: as torchrun or srun say. "
    "The command without it finishes the build.",
)
@with_cluster(gpus=False)
@click.option("--dry-run", is_flag=True, help="Say how many files, bytes and minutes it takes; write nothing.")
@config_option
@click.pass_context
def corrupt(
    context: click.Context,
    /,
    source: str,
    out: str,
    workers: int | None,
    shard: str | None,
    cluster: Any,  # noqa: ANN401 - imported when used
    dry_run: bool,
    sequence: bool,
    frames: int | None,
    **chosen: Any,  # noqa: ANN401
) -> None:
    """Make a corrupted data set in the folder OUT from the images in SRC.

    SRC is a folder of class folders or of images, tar or WebDataset shards, Parquet files, or KIND:PATH as for
    oodometer.open_dataset. SRC and OUT may also be URLs of folders in a store, such as s3://BUCKET/val. Labels are
    needed only to sort flat images into class folders. The same command continues a build that was stopped, and mends
    one that was damaged.

    One image goes into one file, at its own size: oodometer corrupt photo.jpg foggy.png -c fog -s 3

    With --sequence, -c takes perturbations: imagenet-p (the ten, the default), validation, all, or names, those of
    noises with their difficulty, such as gaussian_noise_2. A video is a folder of frames, in --format jpeg, png or
    webp, or a file, in mp4.

    Exit status: 0 done; 1 done, but some images could not be read and were left out of every condition; 2 a mistake in
    the input, or a folder or disk that cannot be written; 130 stopped by Ctrl-C.
    """
    from oodometer.arguments import is_url
    from oodometer.building import Options, settle
    from oodometer.building.one_image import corrupt_file, is_one_image
    from oodometer.datasets.cloud import cloud_url

    given = {name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if sequence:
        make(
            corrupt_sequence.settle(source, out, given, {**chosen, "frames": frames}),
            out,
            workers,
            shard,
            dry_run,
            cluster,
        )
    elif "frames" in given:
        raise ArgumentError("frames: goes with --sequence, not with pictures.")
    elif not is_url(out) and cloud_url(source) is None and is_one_image(*(places := _paths(source, out))):
        if unfit := [name for name in OF_SETS if name in given]:
            raise ArgumentError(f"{', '.join(unfit)}: goes with a data set, not with one image in one file.")
        if "preprocess" not in given:
            chosen["preprocess"] = "none"
        corrupt_file(*places, Options(**chosen))
    else:
        make(settle(source, out, Options(**chosen)), out, workers, shard, dry_run, cluster)


def _paths(source: str, out: str) -> tuple[Path, Path]:
    return path("The source", source), path("The output", out)


def make(
    recipe: Any,  # noqa: ANN401 - imported when used
    out: str,
    workers: int | None,
    shard: str | None = None,
    dry_run: bool = False,
    cluster: Any = None,  # noqa: ANN401 - likewise
) -> None:
    """Say what the source was taken for, and make what was settled or say what it would take."""
    if dry_run and shard is not None:
        raise ArgumentError("shard: --dry-run says what the whole build takes. Leave one of them out.")
    if dry_run and cluster is not None:
        raise ArgumentError("ray: --dry-run says what this machine takes. Leave one of them out.")
    for note in getattr(recipe.dataset, "notes", ()):
        click.echo(note, err=True)
    if dry_run:
        _estimate(recipe, out, workers)
    else:
        _build(recipe, out, workers, shard, cluster)


def _estimate(recipe: Any, out: str, workers: int | None) -> None:  # noqa: ANN401 - imported when used
    from rich.filesize import decimal

    from oodometer.building import estimate
    from oodometer.report.words import count

    found = estimate(recipe, out, workers)
    minutes = f"{found.seconds / 60:,.0f}" if found.seconds >= 600 else f"{found.seconds / 60:.1f}"
    click.echo(
        f"{count(found.images, 'image')} under {count(found.conditions, 'condition')}: {count(found.files, 'file')} of "
        f"about {decimal(found.bytes)} together; {decimal(found.free)} are free.\n"
        f"About {minutes} minutes, and what the disk takes. Nothing was written."
    )


def _build(recipe: Any, out: str, workers: int | None, shard: str | None, cluster: Any) -> None:  # noqa: ANN401
    from oodometer.building import construct
    from oodometer.report.words import count
    from oodometer.sharding import Shard

    part = None if shard is None else Shard.of(shard)
    try:
        built = construct(recipe, out, workers, part, cluster, progress=True)
    except KeyboardInterrupt:
        click.echo("What was finished is safe; the same command continues.", err=True)
        raise
    there = f"{count(built.pictures, recipe.noun)} of {count(built.images, 'image')}"
    where = str(built.path) if part is None else f"{built.path}, shard {part}"
    click.echo(f"{where}: {there}; {built.made:,} made now.")
    if part is not None:
        click.echo("When all shards are through, the same command without --shard finishes the build.")
    if built.skipped:
        click.echo(
            f"Images that could not be read and were left out of every condition: {len(built.skipped)}", err=True
        )
        for skipped in built.skipped:
            click.echo(f"  {skipped.reason}", err=True)
        if part is None:  # of shards a launcher would end the others; the command that finishes the build tells again
            sys.exit(EXIT_SKIPPED)
