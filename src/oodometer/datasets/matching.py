"""Which of some clean images belongs to each image of another set: by path and class, else by name within the class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from oodometer.datasets.layout import some
from oodometer.datasets.scan import is_image_name
from oodometer.errors import DatasetError
from oodometer.types import Dataset, Sample

__all__ = ["match"]


def match(samples: Sequence[Sample], clean: Dataset) -> dict[str, Sample]:
    """Find the clean image of each sample; clean images of no sample are left out.

    Parameters
    ----------
    samples
        The images of the set, labelled in the classes of ``clean``.
    clean
        The clean images. One belongs to a sample if its path is the same but for the extension, and its class too; or,
        where paths are of another layout, if it is the only one of its class with the same name. In names a dot counts
        as ``_``, since WebDataset's keys have none. Of several with the same path but for the extension, the one with
        the sample's own extension counts if the set has them all too; otherwise nobody can tell.

    Returns
    -------
    dict
        The clean image by the id of the sample.

    Raises
    ------
    DatasetError
        If a sample has none, shares its own with another, or could have any of several; the message names them. If an
        image of the same path has another class.
    """
    by_id, by_path = _by_path(samples, clean)
    counts = Counter(map(_name, clean.samples))
    by_name = {_name(sample): sample for sample in clean.samples if counts[_name(sample)] == 1}
    found, missing = {}, []
    for sample in samples:
        same = by_id.get(sample.id) or by_path.get(_path(sample))
        if same is not None and same.label != sample.label:
            raise DatasetError(
                f"{clean.name} has {same.id!r} in the class {clean.label_space.classes[same.label]}, and in the set of "
                f"corrupted pictures {sample.id!r} is of {clean.label_space.classes[sample.label]}. Give the clean "
                "images that the set was made of."
            )
        if (own := same or by_name.get(_name(sample))) is None:
            missing.append(sample.id)
        else:
            found[sample.id] = own
    if missing:
        raise DatasetError(
            f"{clean.name} lacks the clean image of {len(missing)} of the {len(samples)} corrupted ones: "
            f"{some(missing)}. Images belong together by class and name; give those that the set was made of, or "
            "evaluate it without clean images."
        )
    _check_apart(found, clean)
    return found


def _by_path(samples: Sequence[Sample], clean: Dataset) -> tuple[dict[str, Sample], dict[str, Sample]]:
    """Return by id the clean images that only extensions tell apart, and by path all others.

    Raises
    ------
    DatasetError
        If several could belong to a sample.
    """
    alike = defaultdict(list)
    for sample in clean.samples:
        alike[_path(sample)].append(sample)
    ids = defaultdict(set)
    for sample in samples:
        ids[_path(sample)].add(sample.id)
    for path, same in alike.items():
        names = sorted(sample.id for sample in same)
        if len(same) > 1 and path in ids and not ids[path] >= {*names}:
            raise DatasetError(
                f"{clean.name} has {some(names)}, and any of them may be the clean image of {min(ids[path])!r}: "
                "extensions do not tell them apart. Leave only that which the set was made of."
            )
    by_id = {sample.id: sample for same in alike.values() if len(same) > 1 for sample in same}
    return by_id, {path: same[0] for path, same in alike.items() if len(same) == 1}


def _check_apart(found: Mapping[str, Sample], clean: Dataset) -> None:
    """Refuse one clean image for two of the set, of which one at least is of another."""
    whose: dict[str, str] = {}
    for id_, own in found.items():
        if whose.setdefault(own.id, id_) != id_:
            raise DatasetError(
                f"{clean.name} has {own.id!r} alone for both {whose[own.id]!r} and {id_!r}. Give the clean images that "
                "the set was made of."
            )


def _path(sample: Sample) -> str:
    return sample.id.rpartition(".")[0] if is_image_name(sample.id) else sample.id


def _name(sample: Sample) -> tuple[int, str]:
    return sample.label, _path(sample).rpartition("/")[2].replace(".", "_")
