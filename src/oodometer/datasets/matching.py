"""Which of some clean images belongs to each image of another set: by path and class, else by name within the class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
        as ``_``, since WebDataset's keys have none.

    Returns
    -------
    dict
        The clean image by the id of the sample.

    Raises
    ------
    DatasetError
        If a sample has none; the message names it. If an image of the same path has another class.
    """
    by_path = {_path(sample): sample for sample in clean.samples}
    counts = Counter(map(_name, clean.samples))
    by_name = {_name(sample): sample for sample in clean.samples if counts[_name(sample)] == 1}
    found, missing = {}, []
    for sample in samples:
        same = by_path.get(_path(sample))
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
    return found


def _path(sample: Sample) -> str:
    return sample.id.rpartition(".")[0] if is_image_name(sample.id) else sample.id


def _name(sample: Sample) -> tuple[int, str]:
    return sample.label, _path(sample).rpartition("/")[2].replace(".", "_")
