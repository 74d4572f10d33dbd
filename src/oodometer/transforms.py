"""Corruptions as steps of an input pipeline: PyTorch, torchvision, timm, Albumentations, ``datasets`` and ``tf.data``.

``Corrupt`` draws anew at every call, for training and augmentation; ``corrupt_batch`` draws by the names of the images,
for data sets that must come out the same every time. Both take what pipelines hand around and give the same back.

No framework is imported here. A tensor can only come from a program that has imported PyTorch, so it is looked for
among the imported modules.
"""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import os
import secrets
import struct
import sys
import typing
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from oodometer import corruptions
from oodometer.arguments import choice, whole
from oodometer.corruptions import registry
from oodometer.corruptions.severity import STRONGEST
from oodometer.errors import ArgumentError

__all__ = ["Corrupt", "corrupt_batch"]

_Pixels: typing.TypeAlias = typing.Any
"""A PIL image, an array or a tensor."""


class Corrupt:
    """A callable that corrupts each image that it is called with, with new chance every time.

    Parameters
    ----------
    corruption
        A corruption (``"fog"``), a group of them (``"imagenet-c"``, ``"extra"``, ``"all"``, ``"noise"``, ``"blur"``,
        ``"weather"``, ``"digital"``), or a sequence of corruptions. Of several, each call draws one.
    severity
        A number; a tuple ``(low, high)``, from which each call draws a real number, all equally likely; or another
        sequence, such as a list or ``range(1, 6)``, of which each call draws one. 1 to 5 are the published strengths.
    p
        The probability, 0 to 1, that an image is corrupted at all.
    seed
        ``None``: fresh chance, see the notes. An integer: a sequence that repeats.
    edition
        The published set of constants, as for ``oodometer.corrupt``; ``"cifar32"`` and ``"tiny64"`` for small images.

    Raises
    ------
    ArgumentError
        If a name is unknown or a number out of range; when called, if the image is not one of the following.

    Notes
    -----
    **Images.** A PIL image gives a PIL image; an array, H x W x 3 or N x H x W x 3, an array; a tensor, 3 x H x W or
    N x 3 x H x W, a tensor of the same class on the same device. uint8 (0..255) stays uint8, and floats (0..1) stay
    floats: so it comes before ``Normalize``. Of a batch, each image draws for itself. Gray images become RGB, whether
    corrupted or not, so that what comes out does not depend on chance. Inputs are never changed. Called by keyword,
    as Albumentations does, it returns a dict: ``Corrupt("snow")(image=image, mask=mask)`` replaces the image alone.

    **Chance.** No two calls share noise, in whichever worker, epoch or batch they are:

    - With ``seed=None`` and PyTorch imported, each call draws from PyTorch's generator, which a ``DataLoader`` seeds
      differently in each worker and epoch, and ``torch.manual_seed`` makes repeatable. Where PyTorch is not imported,
      or in a forked process that is no worker of a ``DataLoader`` and so has a copy of its parent's generator, each
      call draws from the operating system.
    - With a seed, the chance of a call depends on the seed, the process and the number of calls before. A process is
      known by its place among those that the program has started, by ``multiprocessing`` or by forking. So workers
      differ, and so do those of the next epoch; and a program that starts the same processes in the same order repeats
      itself, whatever PyTorch's generator does. A copy, pickled or not, has a sequence of its own; but a transform made
      with the same arguments repeats the first, so give each step of a pipeline its own seed.

    Processes that neither ``multiprocessing`` nor a fork has started (``torchrun``, Ray) are not told apart: give each
    its own seed, or its own ``torch.manual_seed``.

    Examples
    --------
    >>> augment = Corrupt("imagenet-c", severity=(0, 3), p=0.5)
    >>> augment(np.zeros((64, 64, 3), np.uint8)).shape
    (64, 64, 3)
    """

    def __init__(
        self,
        corruption: str | Sequence[str],
        severity: float | tuple[float, float] | Sequence[float] = 1,
        *,
        p: float = 1.0,
        seed: int | None = None,
        edition: str = "imagenet224",
    ) -> None:
        if not isinstance(p, int | float | np.number) or not 0 <= p <= 1:  # NaN fails, too
            raise ArgumentError(f"The probability p must be a number from 0 to 1, not {p!r}.")
        if seed is not None:
            whole("seed", seed)
        choice("edition", edition, corruptions.EDITIONS)
        self.corruption = corruption
        self.severity = severity
        self.p = p
        self.seed = seed
        self.edition = edition
        self._names = _names(corruption)
        self._severities = _Severities(severity)
        for name, strength in itertools.product(self._names, self._severities.numbers):
            registry.find(name).constants(edition, strength)  # refuses what is too strong
        self._copy = 0
        self._calls = itertools.count()

    def __call__(self, pixels: _Pixels = None, /, *, image: _Pixels = None, **others: object) -> _Pixels:
        """Corrupt an image or a batch; or, by keyword, the ``image`` among other things, which stay as they are."""
        if pixels is not None and image is None and not others:
            return self._apply(pixels)
        if pixels is not None or image is None:
            raise ArgumentError("Give one image, or the keyword image among other keywords.")
        return {**others, "image": self._apply(image)}

    def __repr__(self) -> str:
        return (
            f"Corrupt({self.corruption!r}, severity={self.severity!r}, p={self.p!r}, seed={self.seed!r}, "
            f"edition={self.edition!r})"
        )

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_calls"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        # Or a pool of processes, which pickles its function with every task, would begin anew with each.
        self._copy = next(_copies)
        self._calls = itertools.count()

    def _apply(self, pixels: _Pixels) -> _Pixels:
        if getattr(pixels, "ndim", 3) == 4:
            return _stack([_through(image, self._corrupt) for image in pixels], pixels)
        return _through(pixels, self._corrupt)

    def _corrupt(self, image: _Pixels) -> _Pixels:
        whether, which, strength, seed = self._chance()
        severity = self._severities.draw(strength) if whether < self.p * 2**64 else 0  # 0 leaves an image as it is
        name = self._names[which * len(self._names) >> 64]
        return corruptions.corrupt(image, name, severity, seed=seed, edition=self.edition)

    def _chance(self) -> tuple[int, ...]:
        """Return four numbers from 0 to 2**64 - 1 for one image, which no other image has."""
        origin = str(_fresh() if self.seed is None else self._place())
        return struct.unpack("<4Q", hashlib.blake2b(origin.encode(), digest_size=32).digest())

    def _place(self) -> tuple[object, ...]:
        # next() of a count is one step for threads, so that no two get the same number.
        return str(self.seed), _process(), _forks.path, self._copy, next(self._calls)


def corrupt_batch(
    images: _Pixels,
    corruption: str,
    severity: float = 1,
    *,
    image_ids: Iterable[str | bytes | int],
    seed: int = 0,
    edition: str = "imagenet224",
) -> _Pixels:
    """Corrupt a batch of images, each by its name: the same again at any order, batch size and number of processes.

    Parameters
    ----------
    images
        A list of PIL images, arrays or tensors, of any sizes; or one array, N x H x W x 3, or tensor, N x 3 x H x W,
        uint8 or float, as for ``Corrupt``.
    corruption, severity, seed, edition
        As for ``oodometer.corrupt``.
    image_ids
        A name for each image, such as its file or its position in the data set. Images of one name get the same noise.

    Returns
    -------
    list, numpy.ndarray or torch.Tensor
        What ``images`` is. Each image is that of ``oodometer.corrupt(image, ..., image_id=str(id))``.

    Raises
    ------
    ArgumentError
        If there is not one name for each image, or an argument is none of the above.

    Examples
    --------
    With ``datasets``, whose ``map`` gives a dict of lists::

        def foggy(batch, positions):
            return {"image": corrupt_batch(batch["image"], "fog", 3, image_ids=positions)}

        dataset.map(foggy, batched=True, with_indices=True)

    With ``tf.data``, whose strings arrive as bytes::

        def foggy(images, names):
            corrupt = functools.partial(corrupt_batch, corruption="fog", severity=3)
            return tf.numpy_function(lambda i, n: corrupt(i, image_ids=n), [images, names], images.dtype)

        dataset.batch(64).map(foggy)
    """
    registry.find(corruption)  # also where there is no image
    if not isinstance(image_ids, Iterable) or not hasattr(images, "__len__"):
        raise ArgumentError("images must be a list or an array, and image_ids hold a name for each of them.")
    names = [_text(name) for name in image_ids]
    if len(names) != len(images):
        raise ArgumentError(f"There must be one image id for each image, not {len(names)} for {len(images)} images.")

    def named(image: _Pixels, name: str) -> _Pixels:
        def corrupt(pixels: _Pixels) -> _Pixels:
            return corruptions.corrupt(pixels, corruption, severity, seed=seed, image_id=name, edition=edition)

        return _through(image, corrupt)

    return _stack([named(image, name) for image, name in zip(images, names, strict=True)], images)


def _names(corruption: str | Sequence[str]) -> tuple[str, ...]:
    """Return the corruptions to draw from."""
    if isinstance(corruption, str):
        return registry.groups().get(corruption) or (registry.find(corruption).name,)
    if not isinstance(corruption, Sequence) or not all(isinstance(name, str) for name in corruption):
        raise ArgumentError(f"The corruption must be a name, a group or a sequence of names, not {corruption!r}.")
    names = tuple(registry.find(name).name for name in corruption)
    if not names:
        raise ArgumentError("There must be at least one corruption to draw from.")
    return names


class _Severities:
    """The severities to draw from: some numbers, or all between two."""

    def __init__(self, severity: float | Sequence[float]) -> None:
        self.numbers: tuple[float, ...] = tuple(severity) if isinstance(severity, Iterable) else (severity,)
        self.between = isinstance(severity, tuple) and len(severity) == 2
        real = [isinstance(n, int | float | np.integer | np.floating) and not isinstance(n, bool) for n in self.numbers]
        if not real or not all(real) or not all(0 <= n <= STRONGEST for n in self.numbers):  # NaN fails, too
            raise ArgumentError(
                f"The severity must be a number from 0 (unchanged) to {STRONGEST}, a range (low, high) or a sequence "
                f"of those, not {severity!r}."
            )
        if self.between and self.numbers[0] > self.numbers[1]:
            raise ArgumentError(f"A range of severities is (low, high), not {severity!r}.")

    def draw(self, chance: int) -> float:
        """Return the severity that a number from 0 to 2**64 - 1 stands for."""
        if self.between:
            low, high = self.numbers
            return low + (high - low) * (chance / 2**64)
        return self.numbers[chance * len(self.numbers) >> 64]


def _through(image: _Pixels, corrupt: Callable[[_Pixels], _Pixels]) -> _Pixels:
    """Apply a function of one PIL image or array, H x W x 3, to those and to tensors, 3 x H x W."""
    torch = _torch()
    if torch is None or not isinstance(image, torch.Tensor):
        return corrupt(image)
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ArgumentError(
            "A tensor must have the shape 3 x height x width (RGB), 1 x height x width (gray), or a batch of those, "
            f"not {' x '.join(map(str, image.shape))}."
        )
    pixels = image.detach().cpu()
    pixels = pixels.float() if image.dtype == torch.bfloat16 else pixels  # NumPy does not know it
    result = torch.from_numpy(corrupt(pixels.movedim(0, -1).numpy()))
    result = result.movedim(-1, 0).contiguous().to(device=image.device, dtype=image.dtype)
    return result.as_subclass(type(image))


def _stack(results: list[_Pixels], like: _Pixels) -> _Pixels:
    """Join images to what they were taken from: a tensor, an array or a list."""
    torch = _torch()
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.stack(results).as_subclass(type(like)) if results else like
    if isinstance(like, np.ndarray):
        return np.stack(results) if results else like
    return results


def _torch() -> typing.Any:  # noqa: ANN401  # the module, or None
    """Return PyTorch if the program has imported it, and done so to the end."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") else None


def _text(name: str | bytes | int) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")
    if not isinstance(name, str | int | np.integer):
        raise ArgumentError(f"An image id must be a string or an integer, not {name!r}.")
    return str(name)


def _fresh() -> int:
    """Draw a number that no other call, in this process or another, draws."""
    torch = _torch()
    if torch is None or (_forks.path and torch.utils.data.get_worker_info() is None):
        return secrets.randbits(63)
    return int(torch.randint(2**63 - 1, ()))


def _process() -> tuple[int, ...]:
    """Return the place of this process among those of ``multiprocessing``: (1, 2) is the second child of the first."""
    return multiprocessing.current_process()._identity  # its public form, the name, may have been given twice


class _Forks:
    """The place of this process among those that were forked, in whichever way: the numbers of the forks, from 1.

    Children that ``os.fork`` or the package ``multiprocess`` make have no place in ``multiprocessing``.
    """

    def __init__(self) -> None:
        self.path: tuple[int, ...] = ()
        self.children = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._count, after_in_child=self._descend)

    def _count(self) -> None:
        self.children += 1

    def _descend(self) -> None:
        self.path, self.children = (*self.path, self.children), 0


_forks = _Forks()
_copies = itertools.count(1)  # of this process
