"""`oodometer renditions`: an ImageNet-R for one's own classes, from candidates to a set that can be evaluated."""

from __future__ import annotations

import csv
import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

__all__ = ["renditions"]


@click.group()
def renditions() -> None:
    """Build a set of renditions in ImageNet-R's layout: collect, screen, review, export.

    DIR is the folder of a collection: its tables are CSV files that people can read, and nothing is ever deleted.
    """


@renditions.command()
@click.argument("source", required=False)
@click.option("-o", "--out", metavar="DIR", help="The collection's folder.")
@click.option(
    "--classes",
    default="imagenet-r",
    show_default=True,
    metavar="NAME",
    help="imagenet-r, imagenet-1k, or a text file with one class of your own a line.",
)
@click.option("--query-only", is_flag=True, help="Print what to search for, by class and style; nothing is fetched.")
def collect(source: str | None, out: str | None, classes: str, query_only: bool) -> None:
    """List the candidates of SOURCE in one table, DIR/candidates.csv.

    SOURCE is a CSV file with the columns path, label (or wnid), style, source, licence and, if known, author, in the
    folder of the pictures; or a folder <label>/<style>/<file>, whose sources and licences you add to the table.
    """
    from oodometer.renditions import vocabulary

    if query_only:
        _print_phrases(vocabulary(classes))
        return
    if source is None or out is None:
        raise click.UsageError("Give SOURCE and -o DIR, or --query-only.")
    from oodometer.renditions import CANDIDATES, REASONS
    from oodometer.renditions import collect as collect_candidates
    from oodometer.report.words import count

    collection = collect_candidates(source, out, classes)
    problems = Counter(candidate.problem for candidate in collection.candidates)
    usable = problems[""] + problems["conflicting_rows"]
    click.echo(f"{collection.path / CANDIDATES}: {count(usable, 'candidate')}.")
    for reason in REASONS:
        if problems[reason] and reason != "not_an_image":
            click.echo(f"  {count(problems[reason], 'row')}: {REASONS[reason][1]}.")
    click.echo(f"Next: oodometer renditions screen {collection.path}")


def _print_phrases(classes: Any) -> None:  # noqa: ANN401 - imported when used
    from oodometer.renditions import phrases

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["label", "style", "phrase"])
    writer.writerows(phrases(classes))


@renditions.command()
@click.argument("folder", metavar="DIR")
@click.option("--clean", multiple=True, metavar="FOLDER", help="Clean or training images; can be given again.")
@click.option("--smallest", default=16, show_default=True, help="The shorter side that a picture needs, in pixels.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
def screen(folder: str, clean: Sequence[str], smallest: int, workers: int | None) -> None:
    """Decide about every candidate what can be decided without a person; write DIR/screening.csv.

    Each row has the decision and its reasons. Doubtful pictures are for people: see `review`.
    """
    from oodometer.progress import ProgressBar
    from oodometer.renditions import SCREENING, balance, open_collection, write_balance
    from oodometer.renditions import screen as screen_candidates

    collection = open_collection(folder)
    with ProgressBar() as bar:
        screened = screen_candidates(collection, clean, smallest=smallest, workers=workers, observer=bar)
    counts = balance(collection, screened)
    write_balance(collection, counts)
    _print_decisions(screened)
    _print_balance(counts)
    click.echo(f"Every decision with its reasons: {collection.path / SCREENING}")
    click.echo(f"Next: oodometer renditions review {collection.path}")


def _print_decisions(screened: Sequence[Any]) -> None:
    from oodometer.renditions import REASONS

    for decision in ("keep", "convert", "review", "drop", "report", "ignore"):
        reasons = Counter(row.reason for row in screened if row.decision == decision)
        click.secho(f"{decision:<8} {sum(reasons.values()):>7,}", bold=True)
        for reason in REASONS:
            if reasons[reason]:
                click.echo(f"{'':8} {reasons[reason]:>7,}  {reason}: {REASONS[reason][1]}")


def _print_balance(counts: Sequence[Any]) -> None:
    by_class, by_style = Counter[str](), Counter[str]()
    for row in counts:
        by_class[row.label] += row.kept + row.review
        by_style[row.style] += row.kept + row.review
    empty = sum(not count for count in by_class.values())
    fewest, most = min(by_class.values()), max(by_class.values())
    click.echo(
        f"Kept or for review: {len(by_class) - empty:,} of {len(by_class):,} classes have pictures, "
        f"{fewest:,} to {most:,} each (ImageNet-R: 51 to 430)."
    )
    click.echo("By style: " + ", ".join(f"{style} {count:,}" for style, count in by_style.most_common() if count))


@renditions.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--decisions",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read what people saved, instead: files or folders of them; can be given again.",
)
@click.option("--workers", type=int, help="Threads; default: one per processor.")
def review(folder: str, decisions: Sequence[Path], workers: int | None) -> None:
    """Write a contact sheet for each class into DIR/review, or read back what people decided on them.

    The sheets are pages that need no network; keys note the decisions. With the files of two people, --decisions
    prints how far they agree (Cohen's kappa).
    """
    from oodometer.progress import ProgressBar
    from oodometer.renditions import open_collection, read_decisions, read_screening, write_sheets

    collection = open_collection(folder)
    screened = read_screening(collection)
    if decisions:
        _print_review(read_decisions(decisions, screened), screened)
        return
    with ProgressBar() as bar:
        index = write_sheets(collection, screened, workers=workers, observer=bar)
    click.echo(f"Contact sheets: {index}")
    click.echo(f"Then: oodometer renditions review {collection.path} --decisions FILE")


def _print_review(reviewers: Sequence[Any], screened: Sequence[Any]) -> None:
    from oodometer.renditions import VERDICTS, agreement, described

    shown = {row.path: row.decision for row in screened if row.shown}
    for reviewer in reviewers:
        counts = Counter(reviewer.verdicts.values())
        said = ", ".join(f"{verdict} {counts[verdict]:,}" for verdict in VERDICTS if counts[verdict])
        waiting = [path for path, decision in shown.items() if decision == "review" and path not in reviewer.verdicts]
        click.echo(f"{reviewer.name}: {len(reviewer.verdicts):,} of {len(shown):,} judged: {said or 'nothing'}.")
        if waiting:
            click.echo(f"  {len(waiting):,} that wait for a person are not judged yet, the first is {waiting[0]}")
        if reviewer.outdated:
            click.echo(f"  {len(reviewer.outdated):,} no longer count: class or style has changed since. Review again.")
    for one, other in itertools.combinations(reviewers, 2):
        if one.verdicts.keys() & other.verdicts.keys():
            found = agreement(one.verdicts, other.verdicts)
            click.echo(f"{one.name} and {other.name}: {described(found)}")
            for path in found.differing:
                click.echo(f"  {path}: {one.verdicts[path]} / {other.verdicts[path]}")


@renditions.command()
@click.argument("folder", metavar="DIR")
@click.argument("out")
@click.option(
    "--decisions",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What people saved: files or folders of them; can be given again.",
)
@click.option("--workers", type=int, help="Threads; default: one per processor.")
def export(folder: str, out: str, decisions: Sequence[Path], workers: int | None) -> None:
    """Write the finished set into the folder OUT, in ImageNet-R's layout.

    With it go manifest.csv (digests, origin), LICENSES.md, DATASHEET.md, classes.txt and labels.csv. The same
    candidates and decisions give the same bytes.
    """
    from oodometer.progress import ProgressBar
    from oodometer.renditions import evaluation, open_collection, read_decisions, read_screening
    from oodometer.renditions import export as export_set
    from oodometer.report.words import count

    collection = open_collection(folder)
    screened = read_screening(collection)
    reviewers = read_decisions(decisions, screened) if decisions else []
    with ProgressBar() as bar:
        made = export_set(collection, screened, reviewers, out, workers=workers, observer=bar)
    unseen = sum(not part.judged_by for part in made.parts)
    click.echo(f"{made.path}: {count(len(made.parts), 'picture')}, {unseen:,} of them kept without a person's look.")
    for why, pictures in Counter(one.why for one in made.left_out).most_common():
        click.echo(f"  left out {pictures:,}: {why}")
    click.echo(f"Next: {evaluation(collection.classes, str(made.path))}")


@renditions.command()
@click.argument("source", metavar="SRC")
@click.argument("out")
@click.option(
    "--filters", default="renditions", show_default="all eight", help="Names with commas, such as pencil,oil."
)
@click.option("-s", "--strengths", default="1,2,3,4,5", show_default=True, help="Above 0 and up to 5, also 2.5.")
@click.option("--format", default="jpeg", show_default=True, help="As for oodometer corrupt.")
@click.option(
    "--preprocess", default="imagenet224", show_default=True, help="As for oodometer corrupt; none: as it is."
)
@click.option("--seed", default=0, show_default=True, help="Of what is drawn at random.")
@click.option("--limit", type=int, help="Only so many images, the first of the seeded order.")
@click.option("--labels", metavar="FILE", help="CSV (name,label) or JSON: the class index or wnid of a folder or file.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
def synthesize(source: str, out: str, filters: str, strengths: str, workers: int | None, **chosen: Any) -> None:  # noqa: ANN401
    """Redraw the photographs in SRC by classic filters, for classes that have no art.

    The filters are pencil, ink, cartoon, watercolour, oil, mosaic, halftone and silhouette, in five strengths. They are
    corruptions of a family of their own: OUT is a data set as `oodometer corrupt` makes it, continued by the same
    command, and no mean counts them. They tell less than renditions by people do.
    """
    from oodometer.building import Options, settle
    from oodometer.cli.corrupt import make
    from oodometer.errors import unknown_name
    from oodometer.families import RENDITIONS

    for name in filters.split(","):
        if name.strip() not in (*RENDITIONS, "renditions"):
            raise unknown_name("filter", name.strip(), RENDITIONS)
    recipe = settle(source, out, Options(corruptions=filters, severities=strengths, **chosen))
    make(recipe, out, workers, dry_run=False)
