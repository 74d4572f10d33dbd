"""Asking a model without leaving a trace in its training."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator

import numpy as np

__all__ = ["bare", "undisturbed"]


def bare(model: object) -> object:
    """Return what a model is without its wrapper for several processes, whose calls would wait for all of these."""
    torch = sys.modules.get("torch")
    wrapped = torch is not None and isinstance(model, torch.nn.parallel.DistributedDataParallel)
    return model.module if wrapped else model  # type: ignore[attr-defined]  # DDP has one


@contextlib.contextmanager
def undisturbed(model: object) -> Iterator[None]:
    """Put back, whatever happens, the mode of each part of a PyTorch model and the state of every global generator.

    These are Python's, NumPy's, and PyTorch's on the CPU and on each device that is in use.
    """
    with contextlib.ExitStack() as after:
        after.callback(random.setstate, random.getstate())
        after.callback(np.random.set_state, np.random.get_state())
        torch = sys.modules.get("torch")
        if torch is not None:
            after.enter_context(_generators())
            if isinstance(model, torch.nn.Module):
                after.callback(_set_modes, [(part, part.training) for part in model.modules()])
        yield


@contextlib.contextmanager
def _generators() -> Iterator[None]:
    import torch

    used = torch.cuda.is_available() and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(range(torch.cuda.device_count()) if used else ()):
        if not torch.backends.mps.is_available():
            yield
            return
        state = torch.mps.get_rng_state()
        try:
            yield
        finally:
            torch.mps.set_rng_state(state)


def _set_modes(modes: list[tuple[object, bool]]) -> None:
    """Set the mode of each part by itself: ``train`` would set that of all parts below, which may differ."""
    for part, training in modes:
        part.training = training  # type: ignore[attr-defined]  # it is a module
